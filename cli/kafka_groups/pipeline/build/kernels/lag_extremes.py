"""The worst values of a day: the longest time lag of a key, and how close its commit came to the log start.

The retention margin is the committed offset minus the log start offset: how many records retention can still delete
before it deletes one that the group has not read. A margin below 0 means that records were lost.

The time left until the log start passes the commit follows from the margins at the day's first and last observation,
if these are an hour or more apart:

    time left = last margin * (time between them) / (first margin - last margin)

Five samples of one partition, an hour apart: the log start rises by 20 an hour, and the commit stays at 100. The margin
falls from 90 to 10 within four hours, so the remaining 10 last for half an hour (times in ms):

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
    >>> from kafka_groups.pipeline.build.kernels.lag import measure_lag
    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> ends = new_log_ends(
    ...     partition=np.zeros(5, np.int64),
    ...     at_us=np.arange(1, 6) * 3_600_000_000,
    ...     log_end=np.full(5, 200),
    ...     log_start=np.array([10, 30, 50, 70, 90]),
    ... )
    >>> commits = new_commits(
    ...     key=np.array([0]),
    ...     at_us=np.array([0]),
    ...     committed_offset=np.array([100]),
    ...     source_offset=np.array([7]),
    ... )
    >>> rows = measure_lag(ends, commits, partition_of_key=np.array([0]))
    >>> rows.retention_margin
    array([90, 70, 50, 30, 10])
    >>> extremes = find_lag_extremes(rows, np.array([4_000, 5_000, 9_000, 8_000, 7_000]), key_count=1)
    >>> extremes.max_time_lag_ms, extremes.min_retention_margin, extremes.retention_left_ms
    (array([9000]), array([10]), array([1800000]))
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LagExtremes, LagRows
from kafka_groups.pipeline.build.kernels.segments import is_segment_end, is_segment_start, reduce_segments
from kafka_groups.pipeline.frames.arrays import NULL, Ints

_HOUR_MS: Final = 3_600_000
# A float of this size converts to an integer of 64 bits.
_LONGEST_MS: Final = 2.0**62


def find_lag_extremes(lag_rows: LagRows, time_lag_ms: Ints, key_count: int) -> LagExtremes:
    """Return the worst values of each of `key_count` keys on a day: row i is key i.

    `lag_rows` are the lag rows of a day by key and time; `time_lag_ms` is the time lag at each of them (ms, NULL:
    unknown).
    """
    extremes = LagExtremes(
        max_time_lag_ms=np.full(key_count, NULL),
        min_retention_margin=np.full(key_count, NULL),
        last_retention_margin_at_ms=np.full(key_count, NULL),
        last_retention_margin=np.full(key_count, NULL),
        retention_left_ms=np.full(key_count, NULL),
    )
    is_start = is_segment_start(lag_rows.key)
    extremes.max_time_lag_ms[lag_rows.key[is_start]] = reduce_segments(np.maximum, time_lag_ms, is_start)
    rows_with_margin = lag_rows.take(lag_rows.retention_margin != NULL)
    is_margin_start = is_segment_start(rows_with_margin.key)
    first_rows = rows_with_margin.take(is_margin_start)
    last_rows = rows_with_margin.take(is_segment_end(rows_with_margin.key))
    extremes.min_retention_margin[last_rows.key] = reduce_segments(
        np.minimum, rows_with_margin.retention_margin, is_margin_start
    )
    extremes.last_retention_margin_at_ms[last_rows.key] = last_rows.at_us // 1_000
    extremes.last_retention_margin[last_rows.key] = last_rows.retention_margin
    extremes.retention_left_ms[last_rows.key] = _measure_time_left(first_rows, last_rows)
    return extremes


def _measure_time_left(first_rows: LagRows, last_rows: LagRows) -> Ints:
    """Return the time in ms until the log start passes each commit, from the first and the last row of each key.

    The time is 0 if the log start has passed a commit with lag. It is NULL if there is no lag, if the margin does not
    shrink, or if the rows are less than an hour apart. Only the movement of the log start counts: a commit that was set
    back also shrinks the margin, and that part is subtracted.
    """
    span_ms = last_rows.at_us // 1_000 - first_rows.at_us // 1_000
    rewound_records = np.minimum(0, last_rows.committed_offset - first_rows.committed_offset)
    shrinkage = first_rows.retention_margin - last_rows.retention_margin + rewound_records
    is_shrinking = (last_rows.lag > 0) & (span_ms >= _HOUR_MS) & (shrinkage > 0)
    exact_left_ms = last_rows.retention_margin.astype(np.float64) * span_ms / np.where(shrinkage > 0, shrinkage, 1)
    left_ms = np.clip(np.floor(exact_left_ms), -_LONGEST_MS, _LONGEST_MS).astype(np.int64)
    has_passed = (last_rows.lag > 0) & (last_rows.retention_margin < 0)
    return np.where(has_passed, 0, np.where(is_shrinking, left_ms, NULL))
