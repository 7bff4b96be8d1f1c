"""The evidence at each lag row: the windows of commits, log ends and lag points that a verdict judges.

Records are the evidence where there are any. Samples are the evidence otherwise, or where records are behind: a sample
shows an offset that no record has. The matrices have a row for each lag row, and the newest commit or point in the last
column.

Five records of one key, ten seconds apart, and log ends after the second and after the last one. With windows of three
slots, the window of the first lag row is not filled (times in ms):

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
    >>> from kafka_groups.pipeline.build.kernels.lag import measure_lag
    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> from kafka_groups.pipeline.frames.arrays import NULL
    >>> commits = WindowCommits(
    ...     key=np.zeros(5, np.int64),
    ...     is_sample=np.zeros(5, np.bool_),
    ...     incarnation=np.zeros(5, np.int64),
    ...     slot_ms=np.arange(5) * 10_000,
    ...     at_us=np.arange(5) * 10_000_000,
    ...     committed_offset=np.array([100, 110, 120, 130, 140]),
    ...     lag=np.array([NULL, NULL, 30, 20, 10]),
    ... )
    >>> ends = new_log_ends(
    ...     partition=np.zeros(2, np.int64),
    ...     at_us=np.array([15_000_000, 45_000_000]),
    ...     log_end=np.array([150, 160]),
    ... )
    >>> records = new_commits(
    ...     key=commits.key,
    ...     at_us=commits.at_us,
    ...     committed_offset=commits.committed_offset,
    ...     source_offset=np.arange(5),
    ... )
    >>> rows = measure_lag(ends, records, partition_of_key=np.array([0]))
    >>> evidence = collect_evidence(rows, ends, commits, LagPoints.empty(), intervals=3)
    >>> evidence.current_lag, evidence.min_end
    (array([40, 20]), array([150, 150]))
    >>> np.where(evidence.slot_ms == NULL, -1, evidence.slot_ms)
    array([[   -1,     0, 10000],
           [20000, 30000, 40000]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups import verdicts
from kafka_groups.pipeline.build.frames import LagPoints, LagRows, LogEnds, WindowCommits
from kafka_groups.pipeline.build.kernels.segments import (
    last_index_at,
    previous_indices,
    segment_starts,
    take,
    trace_back,
)
from kafka_groups.pipeline.build.kernels.verdict_evidence import stream_numbers
from kafka_groups.pipeline.frames.arrays import LARGEST, Flags, Ints

# No two clocks of a cluster should differ by more than this.
_CLOCK_TOLERANCE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence at each lag row. Matrices have a row for each lag row; their last column is the newest one.

    - `at_ms` is the time of the lag row, and `min_end` the lowest of the last log ends. `is_sampled` is true if the
      evidence comes from samples.
    - Matrices of the window's slots: `slot_ms` is the time of the first commit of a slot, NULL where the window is not
      filled. `committed_offset` is the commit of the slot, and `commit_lag` the lag after it, NULL if it is unknown.
    - Matrices of the last points: `point_end` is the log end, and `point_lag` the lag there; NULL without a point.
    """

    at_ms: Ints
    current_lag: Ints
    min_end: Ints
    is_sampled: Flags
    slot_ms: Ints
    committed_offset: Ints
    commit_lag: Ints
    point_end: Ints
    point_lag: Ints


def collect_evidence(
    rows: LagRows, ends: LogEnds, commits: WindowCommits, points: LagPoints, intervals: int
) -> Evidence:
    """Return the evidence at each lag row: the commits of the last `intervals` slots, log ends and points.

    `rows.observation` is an index in `ends`. All frames are sorted as their docstrings say. Only evidence of the row's
    incarnation counts, until the time of the row.
    """
    is_sampled, last_commit = _choose_streams(rows, commits)
    first_of_slot = segment_starts(stream_numbers(commits), commits.incarnation, commits.slot_ms)
    previous_slot = previous_indices(stream_numbers(commits), commits.incarnation)[first_of_slot]
    window = trace_back(last_commit, previous_slot, intervals)

    # Incarnations and logs only rise within a stream, so points are in the order of their times.
    last_point = _find_last(stream_numbers(points), points.at_us, points.incarnation, rows, is_sampled)
    is_of_log = take(points.log_number, last_point, -1) == rows.log_number
    previous_point = previous_indices(stream_numbers(points), points.incarnation, points.log_number)
    last_points = trace_back(np.where(is_of_log, last_point, -1), previous_point, verdicts.SAMPLE_POINTS)

    last_ends = trace_back(np.arange(len(ends)), previous_indices(ends.partition, ends.log_number), intervals)
    min_end = take(ends.log_end, last_ends, LARGEST).min(axis=1)
    return Evidence(
        at_ms=rows.at_us // 1_000,
        current_lag=rows.lag,
        min_end=min_end[rows.observation],
        is_sampled=is_sampled,
        slot_ms=take(commits.slot_ms, window),
        committed_offset=take(commits.committed_offset, window),
        commit_lag=take(commits.lag, window),
        point_end=take(points.log_end, last_points),
        point_lag=take(points.lag, last_points),
    )


def _choose_streams(rows: LagRows, commits: WindowCommits) -> tuple[Flags, Ints]:
    """Return whether samples are the evidence at each lag row, and the index of the last commit of that stream.

    Use samples if the key has no record, or if a later sample shows a higher offset that no record has: ingest may lag.
    A fast clock cannot raise an offset, so a lower offset counts only beyond the clock tolerance.
    """
    is_record = np.zeros(len(rows), np.bool_)
    record = _find_last(stream_numbers(commits), commits.at_us, commits.incarnation, rows, is_record)
    sample = _find_last(stream_numbers(commits), commits.at_us, commits.incarnation, rows, ~is_record)
    later_ms = take(commits.slot_ms, sample, 0) - take(commits.slot_ms, record, 0)
    sampled_offset = take(commits.committed_offset, sample)
    read_offset = take(commits.committed_offset, record)
    is_ahead = (sampled_offset > read_offset) & (later_ms > 0)
    is_different = (sampled_offset != read_offset) & (later_ms > _CLOCK_TOLERANCE_MS)
    is_behind = (is_ahead | is_different) & ~_is_read(rows, commits, sampled_offset)
    is_sampled: Flags = (sample >= 0) & ((record < 0) | is_behind)
    return is_sampled, np.where(is_sampled, sample, record)


def _is_read(rows: LagRows, commits: WindowCommits, sampled_offset: Ints) -> Flags:
    """Return for each lag row whether a record with the sampled offset or a later one was read.

    A coordinator whose clock is ahead dates it after the lag row, by at most the clock tolerance.
    """
    until_us = rows.at_us + _CLOCK_TOLERANCE_MS * 1_000
    index = last_index_at((stream_numbers(commits), commits.at_us), (rows.key * 2, until_us))
    is_same = take(commits.incarnation, index, -1) == rows.incarnation
    is_read: Flags = is_same & (take(commits.committed_offset, index) >= sampled_offset)
    return is_read


def _find_last(stream: Ints, at_us: Ints, incarnation: Ints, rows: LagRows, is_sample: Flags) -> Ints:
    """Return the index of the last evidence of a stream until each lag row; -1 if it belongs to another incarnation."""
    index = last_index_at((stream, at_us), (rows.key * 2 + is_sample, rows.at_us))
    return np.where(take(incarnation, index, -1) == rows.incarnation, index, -1)
