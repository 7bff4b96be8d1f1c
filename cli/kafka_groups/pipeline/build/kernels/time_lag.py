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


def measure_time_lag(lag_rows: LagRows, log_ends: LogEnds, points: TimePoints) -> TimeLags:
    """Return the time lag at each lag row.

    `log_ends` are the log ends that the rows refer to (`LagRows.observation`); each of their logs has points.
    """
    now_ms = lag_rows.at_us // 1_000
    neighbours = _find_neighbours(lag_rows, log_ends, points)
    write_times = find_write_times(points, neighbours.previous, neighbours.following, lag_rows.committed_offset)
    min_time_lag_ms = _measure_lower_bound(points, neighbours, now_ms)
    log_start = log_ends.log_start[lag_rows.observation]
    last_stable = log_ends.last_stable[lag_rows.observation]
    is_in_present_log = (log_ends.topic_id[lag_rows.observation] != NULL) | (
        write_times.written_ms > lag_rows.deleted_us // 1_000
    )
    is_written = (write_times.written_ms != NULL) & (write_times.written_ms <= now_ms) & is_in_present_log
    record_age_ms = now_ms - write_times.written_ms
    # The first condition that holds decides.
    conditions = [
        lag_rows.committed_offset >= lag_rows.log_end,
        (last_stable != NULL) & (lag_rows.committed_offset == last_stable),
        (log_start != NULL) & (lag_rows.committed_offset < log_start),
        is_written & write_times.is_record_time,
        is_written,
        (min_time_lag_ms != NULL) & ((write_times.written_ms == NULL) | is_in_present_log),
    ]
    return TimeLags(
        time_lag_ms=np.select(conditions, [0, 0, min_time_lag_ms, record_age_ms, record_age_ms, min_time_lag_ms], NULL),
        quality=np.select(conditions, [EXACT, LOWER_BOUND, DATA_LOSS, EXACT, INTERPOLATED, LOWER_BOUND], UNKNOWN),
    )


def find_write_times(points: TimePoints, previous_point: Ints, next_point: Ints, committed_offset: Ints) -> WriteTimes:
    """Return when the record at each committed offset was written, from the points around it.

    `previous_point` and `next_point` are indices of points, -1 where there is none. Nothing is interpolated if the
    following point has an earlier time than the previous one, because producers' clocks differ.
    """
    previous_offset = points.offset[previous_point]
    record_ms = points.record_ms[previous_point]
    previous_ms = np.where(record_ms == LARGEST, points.latest_ms[previous_point], record_ms)
    is_at_point = (previous_point >= 0) & (previous_offset == committed_offset)
    gap_ms = points.earliest_ms[next_point] - previous_ms
    is_between = (previous_point >= 0) & (next_point >= 0) & (gap_ms >= 0)
    share_of_gap = (committed_offset - previous_offset) / np.where(
        is_between, points.offset[next_point] - previous_offset, 1
    )
    interpolated_ms = previous_ms + np.floor(np.where(is_between, gap_ms, 0) * share_of_gap + 0.5).astype(np.int64)
    return WriteTimes(
        written_ms=np.where(is_at_point, previous_ms, np.where(is_between, interpolated_ms, NULL)),
        is_record_time=is_at_point & (record_ms != LARGEST),
    )


def _measure_lower_bound(points: TimePoints, neighbours: _Neighbours, now_ms: Ints) -> Ints:
    """Return a lower bound of each time lag in ms, NULL if unknown: the record was written before the next point.

    For every time before the oldest record, a backfill finds the record at the log start. It cannot distinguish "never
    written" from "deleted". So at the log start, only the record's timestamp or a sample's time is a bound.
    """
    next_point = neighbours.following
    certain_time_ms = np.minimum(points.record_ms, points.first_sample_ms)[next_point]
    is_behind_start = points.offset[next_point] > neighbours.log_start
    is_bound = np.where(neighbours.log_start != NULL, is_behind_start, certain_time_ms == LARGEST)
    latest_write_ms = np.where(is_bound, points.earliest_ms[next_point], certain_time_ms)
    return np.where((next_point >= 0) & (latest_write_ms < now_ms), now_ms - latest_write_ms, NULL)


def _find_neighbours(lag_rows: LagRows, log_ends: LogEnds, points: TimePoints) -> _Neighbours:
    """Return the points around the commit of each lag row, in the log of its observation.

    Each log in `log_ends` has at least one point; `points` have the order of TimePoints.
    """
    is_start = is_segment_start(points.partition, points.log_number)
    first_of_log = np.flatnonzero(is_start)
    logs_of_points = (points.partition[is_start] << 32) | points.log_number[is_start]
    logs_of_ends = (log_ends.partition << 32) | log_ends.log_number
    log_of_row = np.searchsorted(logs_of_points, logs_of_ends)[lag_rows.observation]
    # An offset needs all 64 bits of a search key, and leaves none for the log. The rank of an offset needs fewer.
    known_offsets = np.unique(points.offset)
    rank_of_point = np.searchsorted(known_offsets, points.offset)
    rank_of_commit = np.searchsorted(known_offsets, lag_rows.committed_offset, "right") - 1
    log_of_point = np.cumsum(is_start) - 1
    next_point = np.searchsorted(
        log_of_point * len(known_offsets) + rank_of_point,
        log_of_row * len(known_offsets) + rank_of_commit,
        "right",
    )
    end_of_log = np.append(first_of_log, len(points))[log_of_row + 1]
    return _Neighbours(
        previous=np.where(next_point > first_of_log[log_of_row], next_point - 1, -1),
        following=np.where(next_point < end_of_log, next_point, -1),
        log_start=reduce_segments(np.maximum, points.log_start, is_start)[log_of_row],
    )
