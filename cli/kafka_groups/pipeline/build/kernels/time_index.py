"""The time index of a log: points from which the time of a record is interpolated.

An observed log end is a point: the records before that offset were written earlier, and the record at it was written
later. A record that a backfill found is a point with the record's own timestamp.

The index is carried from day to day. Points older than an hour are thinned: 32 are kept for each doubling of the age,
so neighbours differ by 2 % of their age. The first point after a longer pause is kept, too.

Five sampled log ends of one partition, two of them equal, are four points (times in ms):

    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> ends = new_log_ends(
    ...     partition=np.zeros(5, np.int64),
    ...     at_us=np.arange(5) * 1_000_000,
    ...     log_end=np.array([10, 20, 20, 30, 40]),
    ... )
    >>> points = index_points(ends, TimePoints.empty())
    >>> points.offset, points.earliest_ms, points.latest_ms
    (array([10, 20, 30, 40]), array([   0, 1000, 3000, 4000]), array([   0, 2000, 3000, 4000]))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LogEnds, TimePoints
from kafka_groups.pipeline.build.kernels.segments import (
    is_segment_end,
    is_segment_start,
    reduce_segments,
    segment_maximum,
)
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Flags, Ints

_HOUR_MS: Final = 3_600_000
_POINTS_PER_DOUBLING: Final = 32


def index_points(day_ends: LogEnds, carried_points: TimePoints) -> TimePoints:
    """Return the points of earlier days and of a day's rows, one for each offset of a log.

    `day_ends` has the rows that `number_logs` marked as used, without carried ones; `carried_points` is what
    `thin_points` returned for the day before. Several points at one offset become one, with their earliest `record_ms`,
    `earliest_ms` and `first_sample_ms`, their latest `latest_ms`, and their highest `log_start`.
    """
    all_points = TimePoints.join(carried_points, _make_log_end_points(day_ends), _make_record_points(day_ends))
    sorted_points = all_points.sort_by("partition", "log_number", "offset")
    is_start = is_segment_start(sorted_points.partition, sorted_points.log_number, sorted_points.offset)
    return replace(
        sorted_points.take(is_start),
        record_ms=reduce_segments(np.minimum, sorted_points.record_ms, is_start),
        earliest_ms=reduce_segments(np.minimum, sorted_points.earliest_ms, is_start),
        first_sample_ms=reduce_segments(np.minimum, sorted_points.first_sample_ms, is_start),
        latest_ms=reduce_segments(np.maximum, sorted_points.latest_ms, is_start),
        log_start=reduce_segments(np.maximum, sorted_points.log_start, is_start),
    )


def _make_log_end_points(day_ends: LogEnds) -> TimePoints:
    """Return a point for each row with a log end, in the order of the rows; times are ms since 1970.

    LARGEST stands for an unknown time, because `index_points` takes the earliest one.
    """
    known_ends = day_ends.take(day_ends.log_end != NULL)
    at_ms = known_ends.at_us // 1_000
    return TimePoints(
        partition=known_ends.partition,
        log_number=known_ends.log_number,
        offset=known_ends.log_end,
        record_ms=np.full(len(known_ends), LARGEST),
        latest_ms=at_ms,
        earliest_ms=at_ms,
        first_sample_ms=np.where(known_ends.is_sample, at_ms, LARGEST),
        log_start=known_ends.log_start,
    )


def _make_record_points(day_ends: LogEnds) -> TimePoints:
    """Return a point for each backfilled row that names a record and its timestamp (ms since 1970), in their order.

    No sample has shown these points (LARGEST), and their log starts are unknown (NULL).
    """
    record_lookups = day_ends.take((day_ends.lookup_offset != NULL) & (day_ends.lookup_timestamp_ms != NULL))
    return TimePoints(
        partition=record_lookups.partition,
        log_number=record_lookups.log_number,
        offset=record_lookups.lookup_offset,
        record_ms=record_lookups.lookup_timestamp_ms,
        latest_ms=record_lookups.lookup_timestamp_ms,
        earliest_ms=record_lookups.lookup_timestamp_ms,
        first_sample_ms=np.full(len(record_lookups), LARGEST),
        log_start=np.full(len(record_lookups), NULL),
    )


def thin_points(points: TimePoints, last_log_number: Ints, *, now_ms: int, oldest_ms: int) -> TimePoints:
    """Return the points of each partition's present log that the next day needs.

    `last_log_number[p]` is the number of the present log of partition p (`last_log_numbers`). `now_ms` is the end of
    the day, in ms since 1970. Of the points whose last time is before `oldest_ms`, only the newest is kept. Each point
    gets the highest log start of its partition.
    """
    present_points = points.take(points.log_number == last_log_number[points.partition])
    age_ms = now_ms - present_points.latest_ms
    is_too_old = present_points.latest_ms < oldest_ms
    doublings = np.log2(np.maximum(age_ms, _HOUR_MS) / _HOUR_MS)
    age_bucket = np.where(is_too_old, LARGEST, np.floor(_POINTS_PER_DOUBLING * doublings).astype(np.int64))
    is_last_of_bucket = is_segment_end(present_points.partition, age_bucket)
    # The oldest point is kept: times up to the next point are interpolated from it. The newest of the points that are
    # too old is kept as the last one of its bucket.
    is_first = is_segment_start(present_points.partition)
    is_oldest: Flags = is_first & ~is_too_old
    # The first point after a pause in sampling is kept: the records after it were not written during the pause.
    previous_bucket = np.concatenate((age_bucket[:1], age_bucket[:-1]))
    is_after_pause = ~is_first & (previous_bucket != LARGEST) & (previous_bucket - age_bucket > 1)
    highest_log_start = segment_maximum(present_points.log_start, present_points.partition)
    is_kept = (age_ms <= _HOUR_MS) | is_last_of_bucket | is_oldest | is_after_pause
    return replace(present_points, log_start=highest_log_start).take(is_kept)
