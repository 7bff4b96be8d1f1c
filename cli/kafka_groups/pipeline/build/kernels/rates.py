"""Rates: how fast a group reads a partition, how fast producers write it, and when the group will have caught up.

A rate is the difference between the offset at a time and the first offset observed in the ten minutes before, divided
by the seconds between the two. A rate is unknown if there is only one observation, if the offset fell in between, or if
the commit was deleted or the log replaced in between.

    catch-up time = lag / (consume rate - produce rate)

Five observations of one key, a minute apart (times in µs); each minute, 120 records are produced and 60 consumed:

    >>> rows = RateRows(
    ...     key=np.zeros(5, np.int64),
    ...     at_us=np.arange(5) * 60_000_000,
    ...     committed_offset=np.arange(5) * 60,
    ...     log_end=np.arange(5) * 120,
    ...     incarnation=np.zeros(5, np.int64),
    ...     log_number=np.zeros(5, np.int64),
    ... )
    >>> measure_rates(rows).consume_rate
    array([nan,  1.,  1.,  1.,  1.])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LagRows, RateRows
from kafka_groups.pipeline.build.kernels.segments import (
    first_index_at,
    is_segment_start,
    running_count,
    segment_starts,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Floats, Ints

# The window of rates, in ms. A partition's last verdict counts for its group for the same time.
RATE_WINDOW_MS: Final = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The rates at each row, in records per second (NaN: unknown), and the catch-up time in ms (NULL: none)."""

    consume_rate: Floats
    produce_rate: Floats
    catch_up_ms: Ints

    def take(self, selection: Flags | Ints) -> Rates:
        """Return the rates of the rows that a mask or an array of indices selects."""
        return Rates(
            consume_rate=self.consume_rate[selection],
            produce_rate=self.produce_rate[selection],
            catch_up_ms=self.catch_up_ms[selection],
        )


def measure_rates(rate_rows: RateRows) -> Rates:
    """Return the rates at each row.

    Rows are sorted by key and time. The catch-up time is NULL if there is no lag, if the lag does not fall, or if the
    time is too long for 64 bits.
    """
    at_ms = rate_rows.at_us // 1_000
    first_in_window = first_index_at((rate_rows.key, at_ms), (rate_rows.key, at_ms - RATE_WINDOW_MS))
    seconds = (at_ms - at_ms[first_in_window]) / 1_000
    consume_rate = _measure_rate(rate_rows, rate_rows.committed_offset, rate_rows.incarnation, first_in_window, seconds)
    produce_rate = _measure_rate(rate_rows, rate_rows.log_end, rate_rows.log_number, first_in_window, seconds)
    lag = rate_rows.log_end - rate_rows.committed_offset
    rate_difference = consume_rate - produce_rate
    is_lag_falling = (rate_difference > 0) & (lag > 0)
    catch_up_ms = np.ceil(lag / np.where(is_lag_falling, rate_difference, 1.0) * 1_000)
    is_representable = is_lag_falling & (catch_up_ms < -float(NULL))
    return Rates(
        consume_rate=consume_rate,
        produce_rate=produce_rate,
        catch_up_ms=np.where(is_representable, catch_up_ms, NULL).astype(np.int64),
    )


def _measure_rate(
    rate_rows: RateRows, offsets: Ints, series_number: Ints, first_in_window: Ints, seconds: Floats
) -> Floats:
    """Return the rate of an offset at each row, NaN where it is unknown.

    `first_in_window` is the index of the row that each row is compared with, `seconds` the time between the two.
    `series_number` is the number of the log or of the incarnation that each offset belongs to.
    """
    has_fallen = ~is_segment_start(rate_rows.key)
    has_fallen[1:] &= offsets[1:] < offsets[:-1]
    fall_count = running_count(has_fallen, segment_starts(rate_rows.key))
    is_known = (
        (seconds > 0) & (fall_count == fall_count[first_in_window]) & (series_number == series_number[first_in_window])
    )
    return np.where(is_known, (offsets - offsets[first_in_window]) / np.where(seconds > 0, seconds, 1.0), np.nan)


def measure_rates_of_day(carried_rows: RateRows, lag_rows: LagRows) -> tuple[RateRows, Rates]:
    """Return the rows of the day and the carried ones, by key and time, and the rates at each lag row.

    `carried_rows` are the rows of the ten minutes before the day.
    """
    day_rows = RateRows(**{name: getattr(lag_rows, name) for name in RateRows.names()})
    all_rows = RateRows.join(carried_rows, day_rows)
    order = np.lexsort((all_rows.at_us, all_rows.key))
    rate_rows = all_rows.take(order)
    # Lag rows are sorted, too, so the day's rows stay in their order.
    is_on_day = order >= len(carried_rows)
    return rate_rows, measure_rates(rate_rows).take(is_on_day)
