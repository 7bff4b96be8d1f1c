"""How fast a group reads, how fast its partition is written, and when the group will have caught up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Floats,
    Ints,
    first_rows,
    running_count,
    starts_of,
)

SPAN_MS: Final = 600_000
_TIME_BITS: Final = 38
# The least that 64 bits cannot hold.
_TOO_LARGE: Final = 2.0**63


@dataclass(frozen=True, slots=True)
class Recent(Rows):
    """Lag rows of the last ten minutes, by key and time: of the day, after those that the day before handed on."""

    key: Ints
    at_ms: Ints
    committed: Ints
    log_end: Ints
    removals: Ints
    log: Ints


@dataclass(frozen=True, slots=True)
class Rates:
    """Records a second over the last ten minutes (NaN: not known), and milliseconds until lag is 0 (NULL: never)."""

    consume: Floats
    produce: Floats
    catch_up_ms: Ints


def measure_rates(rows: Recent) -> Rates:
    """Return the rates at each row.

    A rate is not known with a single observation in that time, and if the offset fell in it, or is another one now: of
    a commit that was removed, of another log. `catch_up_ms` is NULL if there is no lag, if it does not fall, or if it
    falls so slowly that 64 bits do not hold the time.
    """
    size = len(rows.key)
    begins = first_rows(rows.key)
    starts = starts_of(begins)
    first = _first_of_span(rows, starts)
    seconds = (rows.at_ms - rows.at_ms[first]) / 1_000 if size else np.zeros(0)

    def rate(offset: Ints, era: Ints) -> Floats:
        fell: Flags = np.zeros(size, np.bool_)
        fell[1:] = (offset[1:] < offset[:-1]) & ~begins[1:]
        falls = running_count(fell, starts)
        is_steady = (seconds > 0) & (falls == falls[first]) & (era == era[first])
        return np.where(is_steady, (offset - offset[first]) / np.where(seconds > 0, seconds, 1.0), np.nan)

    if not size:
        return Rates(np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
    consume, produce = rate(rows.committed, rows.removals), rate(rows.log_end, rows.log)
    lag, gain = rows.log_end - rows.committed, consume - produce
    is_falling = (gain > 0) & (lag > 0)
    left = np.ceil(lag / np.where(is_falling, gain, 1.0) * 1_000)
    is_known = is_falling & (left < _TOO_LARGE)
    return Rates(consume, produce, np.where(is_known, np.where(is_known, left, 0).astype(np.int64), NULL))


def _first_of_span(rows: Recent, starts: Ints) -> Ints:
    """Return the place of the first row of the same key within the ten minutes before each row."""
    base = int(rows.at_ms.min()) - SPAN_MS if len(rows.at_ms) else 0
    order = (rows.key << _TIME_BITS) | (rows.at_ms - base)
    found = np.searchsorted(order, order - SPAN_MS, "left")
    return np.maximum(found, starts)
