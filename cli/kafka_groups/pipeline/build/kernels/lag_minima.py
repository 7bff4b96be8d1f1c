"""Growth of the lag over hours: the lowest lags of the three thirds of a window, at each observation.

A *minimum* is the lowest lag of a period of five minutes or of an hour; `kafka_groups.verdicts` calls it a floor. The
last third ends with the current period, so its minimum is known only until the observation; the thirds before it have
whole periods. `kafka_groups.verdicts.Growth` defines what follows from three minima.

Observations of one key, ten minutes apart; each time, 100 records are produced and the lag grows by 10:

    >>> size = 7
    >>> rows = LagMinima(
    ...     key=np.zeros(size, np.int64),
    ...     incarnation=np.zeros(size, np.int64),
    ...     log_number=np.zeros(size, np.int64),
    ...     at_ms=np.arange(size) * 600_000,
    ...     lag=np.arange(size) * 10,
    ...     log_end=np.arange(size) * 100,
    ... )
    >>> minute = np.full(size, 60_000.0)
    >>> growth = measure_growths(rows, np.ones(size, np.bool_), wait_ms=minute, interval_ms=minute)[600_000]
    >>> growth["grown"], growth["produced"]
    (array([nan, nan, nan, 20., 20., 20., 20.]), array([ nan,  nan,  nan, 200., 200., 200., 200.]))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LagMinima
from kafka_groups.pipeline.build.kernels.segments import (
    is_segment_end,
    is_segment_start,
    segment_starts,
)
from kafka_groups.pipeline.frames.arrays import Array, Flags, Floats, Ints
from kafka_groups.verdicts import LONG_PERIOD_MS, LONG_THIRDS_MS, SHORT_PERIOD_MS, SHORT_THIRDS_MS

_THIRDS_BY_PERIOD: Final = ((SHORT_PERIOD_MS, SHORT_THIRDS_MS), (LONG_PERIOD_MS, LONG_THIRDS_MS))
# Numbers of periods since 1970 have fewer bits than this.
_PERIOD_BITS: Final = 34
# The number of periods in a window has at most this number of bits.
_WINDOW_BITS: Final = 5


def measure_growths(
    observed_lags: LagMinima, is_wanted: Flags, wait_ms: Floats, interval_ms: Floats
) -> dict[int, Mapping[str, Floats]]:
    """Measure how much the lag has grown over the three thirds of each window, at each wanted row.

    `observed_lags` are observations with a known lag and carried minima, by key, incarnation, log number and time.
    `wait_ms` is the usual wait at each row, `interval_ms` the usual interval between observations. Return the columns
    of `verdicts.Growth` by the length of a third in ms. A row that is not wanted, or without one of its minima, is NaN.
    """
    segment_of_row = segment_starts(observed_lags.key, observed_lags.incarnation, observed_lags.log_number)
    growths: dict[int, Mapping[str, Floats]] = {}
    for period_ms, thirds_ms in _THIRDS_BY_PERIOD:
        minima = _PeriodMinima.of(observed_lags, segment_of_row, period_ms)
        wanted_rows = np.flatnonzero(is_wanted)
        for third_ms in thirds_ms:
            thirds = minima.of_thirds(wanted_rows, third_ms // period_ms)
            known_rows = wanted_rows[thirds.is_known()]
            known_thirds = thirds.take(thirds.is_known())
            fields = _measure_columns(
                observed_lags, known_thirds, wait_ms[known_rows], np.minimum(wait_ms, interval_ms)[known_rows], third_ms
            )
            growths[third_ms] = {
                name: _place_at_rows(values, known_rows, len(observed_lags)) for name, values in fields.items()
            }
    return growths


def carry_minima(observed_lags: LagMinima) -> LagMinima:
    """Return the minima that the next day needs, in the order of `observed_lags`.

    These belong to the last incarnation and log of each key, and are recent enough for a window of the next day.
    """
    last_rows = np.flatnonzero(is_segment_end(observed_lags.key))
    key_index = np.searchsorted(observed_lags.key[last_rows], observed_lags.key)
    is_present = (observed_lags.incarnation == observed_lags.incarnation[last_rows][key_index]) & (
        observed_lags.log_number == observed_lags.log_number[last_rows][key_index]
    )
    present_lags = observed_lags.take(is_present)
    carried_rows = []
    for period_ms, thirds_ms in _THIRDS_BY_PERIOD:
        segment_of_row = present_lags.key
        minima = _PeriodMinima.of(present_lags, segment_of_row, period_ms)
        newest_period = present_lags.at_ms[np.searchsorted(segment_of_row, segment_of_row, "right") - 1] // period_ms
        lowest_rows = minima.lowest
        is_recent = (
            present_lags.at_ms[lowest_rows] // period_ms >= newest_period[lowest_rows] - 3 * thirds_ms[-1] // period_ms
        )
        carried_rows.append(lowest_rows[is_recent])
    return present_lags.take(np.unique(np.concatenate(carried_rows)))


@dataclass(frozen=True, slots=True)
class _Thirds:
    """The minima of the window of each row, as indices of rows; -1 where a third has no observation.

    `first`, `second` and `third` are the minima of the thirds before the row's period. `current` is the minimum of that
    period until the row.
    """

    first: Ints
    second: Ints
    third: Ints
    current: Ints

    def is_known(self) -> Flags:
        """Return for each row whether all three minima are known."""
        known: Flags = (self.first >= 0) & (self.second >= 0) & (self.third >= 0)
        return known

    def take(self, is_selected: Flags) -> _Thirds:
        """Return the minima of the rows that a mask selects."""
        return _Thirds(
            self.first[is_selected], self.second[is_selected], self.third[is_selected], self.current[is_selected]
        )


@dataclass(frozen=True, slots=True)
class _PeriodMinima:
    """The minimum of each period with a row, by segment and period.

    A minimum is stored as the index of the first row with the period's lowest lag.

    - `minimum_of_row` has for each row the minimum of its period until the row, and `period_index` the index of that
      period.
    - `codes` are ascending numbers of the periods, and `lowest` are their minima.
    - `tables` is a sparse table: `tables[i][p]` is the lowest rank among the 2^i periods starting at p.
      `minimum_of_rank` maps a rank to its minimum. Lower lags rank lower; on ties, the earlier row does.
    """

    minimum_of_row: Ints
    period_index: Ints
    segment: Ints
    period: Ints
    codes: Ints
    lowest: Ints
    tables: tuple[Ints, ...]
    minimum_of_rank: Ints

    @classmethod
    def of(cls, observed_lags: LagMinima, segment_of_row: Ints, period_ms: int) -> _PeriodMinima:
        """Find the minima of lags that are sorted by segment and time; `period_ms` is the length of a period."""
        period_of_row = observed_lags.at_ms // period_ms
        minimum_of_row = (
            _find_running_lowest(observed_lags.lag, segment_starts(segment_of_row, period_of_row))
            if len(observed_lags)
            else segment_of_row
        )
        period_ends = (
            np.flatnonzero(is_segment_end(segment_of_row, period_of_row)) if len(observed_lags) else segment_of_row
        )
        lowest = minimum_of_row[period_ends]
        minimum_of_rank = np.lexsort((lowest, observed_lags.lag[lowest]))
        rank_of_minimum = np.empty(len(lowest), np.int64)
        rank_of_minimum[minimum_of_rank] = np.arange(len(lowest))
        return cls(
            minimum_of_row=minimum_of_row,
            period_index=np.cumsum(is_segment_start(segment_of_row, period_of_row)) - 1
            if len(observed_lags)
            else segment_of_row,
            segment=segment_of_row,
            period=period_of_row,
            codes=(segment_of_row[period_ends] << _PERIOD_BITS) + period_of_row[period_ends],
            lowest=lowest,
            tables=_tabulate_minima(rank_of_minimum),
            minimum_of_rank=lowest[minimum_of_rank],
        )

    def of_thirds(self, wanted_rows: Ints, periods_per_third: int) -> _Thirds:
        """Return the minima of the window of each wanted row; a third has `periods_per_third` periods.

        `wanted_rows` are indices of rows.
        """
        period_indices, period_of_wanted_row = np.unique(self.period_index[wanted_rows], return_inverse=True)
        first, second, third = (
            self._find_lowest(period_indices, periods_per_third * thirds_back, periods_per_third)[period_of_wanted_row]
            for thirds_back in (3, 2, 1)
        )
        return _Thirds(first, second, third, self.minimum_of_row[wanted_rows])

    def _find_lowest(self, period_indices: Ints, periods_back: int, periods_per_third: int) -> Ints:
        """Return the minimum of one third before each period, as the index of a row; -1 if it has no observation.

        The third begins `periods_back` periods before the period, and has `periods_per_third` periods. `period_indices`
        are the periods.
        """
        first_minimum = np.searchsorted(self.codes, self.codes[period_indices] - periods_back)
        end_minimum = np.searchsorted(self.codes, self.codes[period_indices] - periods_back + periods_per_third)
        minimum_count = end_minimum - first_minimum
        lowest = np.full(len(period_indices), -1)
        for level, minima in enumerate(self.tables):
            is_chosen = (minimum_count >= 1 << level) & (minimum_count < 2 << level)
            lowest_rank = np.minimum(minima[first_minimum[is_chosen]], minima[end_minimum[is_chosen] - (1 << level)])
            lowest[is_chosen] = self.minimum_of_rank[lowest_rank]
        return lowest


def _find_running_lowest(lags: Ints, start_index: Ints) -> Ints:
    """Return for each row the index of the lowest lag from the start of its segment to itself; on ties, the first."""
    indices = np.arange(len(lags))
    lowest = indices.copy()
    longest = int((indices - start_index).max()) + 1
    distance = 1
    while distance < longest:
        earlier = np.concatenate([np.zeros(distance, np.int64), lowest[:-distance]])
        is_lower = (indices - distance >= start_index) & (lags[earlier] <= lags[lowest])
        lowest = np.where(is_lower, earlier, lowest)
        distance *= 2
    return lowest


def _tabulate_minima(ranks: Ints) -> tuple[Ints, ...]:
    """Return a sparse table of `ranks`: element p of table i is the lowest of the 2^i ranks from p on."""
    tables = [ranks]
    for level in range(_WINDOW_BITS):
        minima = tables[-1]
        width = 1 << level
        next_minima = minima.copy()
        if len(minima) > width:
            next_minima[:-width] = np.minimum(minima[:-width], minima[width:])
        tables.append(next_minima)
    return tuple(tables)


def _measure_columns(
    observed_lags: LagMinima, thirds: _Thirds, wait_ms: Floats, interval_ms: Floats, third_ms: int
) -> dict[str, Array]:
    """Return the columns of Growth for rows whose minima are all known; the last third includes the current period."""
    first_minimum = thirds.first
    second_minimum = thirds.second
    third_minimum = thirds.third
    last_minimum = np.where(
        observed_lags.lag[thirds.current] < observed_lags.lag[third_minimum], thirds.current, third_minimum
    )
    produced = (observed_lags.log_end[last_minimum] - observed_lags.log_end[first_minimum]).astype(np.float64)
    records_per_poll = (
        interval_ms
        * produced
        / (observed_lags.at_ms[last_minimum] - observed_lags.at_ms[first_minimum]).astype(np.float64)
    )
    return {
        "grown": observed_lags.lag[last_minimum] - observed_lags.lag[first_minimum],
        "grown_early": observed_lags.lag[second_minimum] - observed_lags.lag[first_minimum],
        "grown_late": observed_lags.lag[last_minimum] - observed_lags.lag[second_minimum],
        "produced": produced,
        "records_per_poll": records_per_poll,
        "records_per_poll_share": records_per_poll * wait_ms / float(third_ms),
        "chance_records": np.sqrt(np.maximum(0.0, produced)),
        "previous_floor": observed_lags.lag[third_minimum],
        "third_ms": np.full(len(produced), float(third_ms)),
    }


def _place_at_rows(values: Array, row_indices: Ints, row_count: int) -> Floats:
    """Return an array of `row_count` numbers that has each value at its index, and NaN elsewhere."""
    column = np.full(row_count, np.nan)
    column[row_indices] = values
    return column
