"""Time lag: the age of the record at a group's committed offset, the oldest one that the group has yet to process.

The time index of a log (`time_index.py`) has points: offsets whose time is known. The time of the record at the commit
is interpolated between the two points around it, and never extrapolated. A quality shows how certain a time lag is:

- exact: nothing is left to process (0), or the record's own timestamp is known.
- interpolated: the record was written between two points.
- lower_bound: the record was written before the oldest point; or the commit is at the last stable offset, before the
  log end.
- data_loss: the commit is below the log start, so the record was deleted; the time lag is a lower bound, too.
- unknown: no point bounds the record's time; or the record was written before the commit was last deleted, and no topic
  id shows that it is on the present log.

Two points: offset 50 at second 30, log end 100 at second 60. A commit at 75 falls halfway between them; a commit at 20
precedes both, so its time is unknown (ms):

    >>> points = TimePoints(
    ...     partition=np.zeros(2, np.int64),
    ...     log_number=np.zeros(2, np.int64),
    ...     offset=np.array([50, 100]),
    ...     record_ms=np.array([LARGEST, LARGEST]),
    ...     latest_ms=np.array([30_000, 60_000]),
    ...     earliest_ms=np.array([30_000, 60_000]),
    ...     first_sample_ms=np.array([30_000, 60_000]),
    ...     log_start=np.array([NULL, NULL]),
    ... )
    >>> find_write_times(points, np.array([0, -1]), np.array([1, 0]), np.array([75, 20])).written_ms
    array([               45000, -9223372036854775808])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafka_groups.pipeline.build.frames import LagRows, LogEnds, TimePoints
from kafka_groups.pipeline.build.kernels.segments import is_segment_start, reduce_segments
from kafka_groups.pipeline.build.qualities import QUALITIES
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Flags, Ints

EXACT, INTERPOLATED, LOWER_BOUND, DATA_LOSS, UNKNOWN = range(len(QUALITIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLags:
    """The time lag at each lag row in ms, NULL where unknown; and its quality, as an index in QUALITIES."""

    time_lag_ms: Ints
    quality: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTimes:
    """The times at which the record at each commit was written, in ms since 1970; NULL if unknown.

    `is_record_time` is true if the time is the record's own timestamp.
    """

    written_ms: Ints
    is_record_time: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Neighbours:
    """The indices of the points around each commit, -1 where there is none.

    `previous` is the last point at or before the committed offset, `following` the first one after it. `log_start` is
    the highest log start of the commit's log, NULL if it is unknown.
    """

    previous: Ints
    following: Ints
    log_start: Ints


def measure_time_lag(rows: LagRows, ends: LogEnds, points: TimePoints) -> TimeLags:
    """Return the time lag at each lag row.

    `ends` are the log ends that the rows refer to (`LagRows.observation`); each of their logs has points.
    """
    now_ms = rows.at_us // 1_000
    neighbours = _find_neighbours(rows, ends, points)
    write_times = find_write_times(points, neighbours.previous, neighbours.following, rows.committed_offset)
    min_ms = _measure_lower_bound(points, neighbours, now_ms)
    log_start = ends.log_start[rows.observation]
    last_stable = ends.last_stable[rows.observation]
    is_of_present_log = (ends.topic_id[rows.observation] != NULL) | (write_times.written_ms > rows.deleted_us // 1_000)
    is_written = (write_times.written_ms != NULL) & (write_times.written_ms <= now_ms) & is_of_present_log
    age_ms = now_ms - write_times.written_ms
    # The first condition that holds decides.
    conditions = [
        rows.committed_offset >= rows.log_end,
        (last_stable != NULL) & (rows.committed_offset == last_stable),
        (log_start != NULL) & (rows.committed_offset < log_start),
        is_written & write_times.is_record_time,
        is_written,
        (min_ms != NULL) & ((write_times.written_ms == NULL) | is_of_present_log),
    ]
    return TimeLags(
        time_lag_ms=np.select(conditions, [0, 0, min_ms, age_ms, age_ms, min_ms], NULL),
        quality=np.select(conditions, [EXACT, LOWER_BOUND, DATA_LOSS, EXACT, INTERPOLATED, LOWER_BOUND], UNKNOWN),
    )


def find_write_times(points: TimePoints, previous: Ints, following: Ints, committed_offset: Ints) -> WriteTimes:
    """Return when the record at each committed offset was written, from the points around it.

    `previous` and `following` are indices of points, -1 where there is none. Nothing is interpolated if the following
    point has an earlier time than the previous one, because producers' clocks differ.
    """
    offset = points.offset[previous]
    record_ms = points.record_ms[previous]
    previous_ms = np.where(record_ms == LARGEST, points.latest_ms[previous], record_ms)
    is_at_point = (previous >= 0) & (offset == committed_offset)
    passed_ms = points.earliest_ms[following] - previous_ms
    is_between = (previous >= 0) & (following >= 0) & (passed_ms >= 0)
    share = (committed_offset - offset) / np.where(is_between, points.offset[following] - offset, 1)
    between_ms = previous_ms + np.floor(np.where(is_between, passed_ms, 0) * share + 0.5).astype(np.int64)
    return WriteTimes(
        written_ms=np.where(is_at_point, previous_ms, np.where(is_between, between_ms, NULL)),
        is_record_time=is_at_point & (record_ms != LARGEST),
    )


def _measure_lower_bound(points: TimePoints, neighbours: _Neighbours, now_ms: Ints) -> Ints:
    """Return a lower bound of each time lag in ms, NULL if unknown: the record was written before the next point.

    For every time before the oldest record, a backfill finds the record at the log start. It cannot distinguish "never
    written" from "deleted". So at the log start, only the record's timestamp or a sample's time is a bound.
    """
    following = neighbours.following
    certain_ms = np.minimum(points.record_ms, points.first_sample_ms)[following]
    is_behind_start = points.offset[following] > neighbours.log_start
    is_bound = np.where(neighbours.log_start != NULL, is_behind_start, certain_ms == LARGEST)
    before_ms = np.where(is_bound, points.earliest_ms[following], certain_ms)
    return np.where((following >= 0) & (before_ms < now_ms), now_ms - before_ms, NULL)


def _find_neighbours(rows: LagRows, ends: LogEnds, points: TimePoints) -> _Neighbours:
    """Return the points around the commit of each lag row, in the log of its observation.

    Each log in `ends` has at least one point; `points` have the order of TimePoints.
    """
    is_start = is_segment_start(points.partition, points.log_number)
    first_of_log = np.flatnonzero(is_start)
    logs_of_points = (points.partition[is_start] << 32) | points.log_number[is_start]
    logs_of_ends = (ends.partition << 32) | ends.log_number
    log = np.searchsorted(logs_of_points, logs_of_ends)[rows.observation]
    # An offset needs all 64 bits of a search key, and leaves none for the log. The rank of an offset needs fewer.
    known_offsets = np.unique(points.offset)
    rank_of_point = np.searchsorted(known_offsets, points.offset)
    rank_of_commit = np.searchsorted(known_offsets, rows.committed_offset, "right") - 1
    log_of_point = np.cumsum(is_start) - 1
    after = np.searchsorted(
        log_of_point * len(known_offsets) + rank_of_point,
        log * len(known_offsets) + rank_of_commit,
        "right",
    )
    end_of_log = np.append(first_of_log, len(points))[log + 1]
    return _Neighbours(
        previous=np.where(after > first_of_log[log], after - 1, -1),
        following=np.where(after < end_of_log, after, -1),
        log_start=reduce_segments(np.maximum, points.log_start, is_start)[log],
    )
