"""How far a commit is from losing records to retention, and when it will."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.segments import NULL, Ints, first_rows, last_rows, reduce

# The log start advances by whole segments: over less than this one of them would look like a flood.
_LEAST_MS: Final = 3_600_000
_MOST: Final = 2.0**62


@dataclass(frozen=True, slots=True)
class Worst:
    """Of each key's lag rows of a day: the longest time lag, the least margin, and how it was at the last of them.

    `left_ms`: the time until the log start passes a commit that has lag, if both go on as on that day: the margin over
    the difference of how fast they moved between the day's first and last observation, at least an hour apart. 0 where
    the log start has passed already, NULL where it does not come closer.
    """

    time_lag_ms: Ints
    margin: Ints
    last_ms: Ints
    last_margin: Ints
    left_ms: Ints


def find_worst(rows: LagRows, log_start: Ints, time_lag_ms: Ints, keys: int) -> Worst:
    """Return a row for each of `keys` keys; `log_start` and `time_lag_ms` are of each lag row."""
    columns = [np.full(keys, NULL) for _ in range(5)]
    if len(rows):
        begins = first_rows(rows.key)
        key = rows.key[begins]
        columns[0][key] = reduce(np.maximum, time_lag_ms, begins)
        known = np.flatnonzero(log_start != NULL)
        if len(known):
            _fill(columns, rows.where(known), log_start[known])
    return Worst(*columns)


def _fill(columns: list[Ints], rows: LagRows, log_start: Ints) -> None:
    begins = first_rows(rows.key)
    key, first, last = rows.key[begins], np.flatnonzero(begins), np.flatnonzero(last_rows(rows.key))
    at_ms = rows.at_us // 1_000
    margin = rows.committed[last] - log_start[last]
    span = at_ms[last] - at_ms[first]
    closer = log_start[last] - log_start[first] - np.maximum(0, rows.committed[last] - rows.committed[first])
    is_behind = rows.lag[last] > 0
    is_closing = is_behind & (span >= _LEAST_MS) & (closer > 0)
    share = margin.astype(np.float64) * span / np.where(closer > 0, closer, 1)
    left = np.where(is_closing, np.clip(np.floor(share), -_MOST, _MOST).astype(np.int64), NULL)
    columns[1][key] = reduce(np.minimum, rows.margin, begins)
    columns[2][key] = at_ms[last]
    columns[3][key] = margin
    columns[4][key] = np.where(is_behind & (margin < 0), 0, left)
