"""Growth of the lag over hours: the lowest lags of the three thirds of a window, at each observation.

A *floor* is the lowest lag of a period of five minutes or of an hour. The last third ends with the current period, so
its floor is known only until the observation; the thirds before it have whole periods. `kafka_groups.verdicts.Growth`
defines what follows from three floors.

Observations of one key, ten minutes apart; each time, 100 records are produced and the lag grows by 10:

    >>> size = 7
    >>> rows = LagFloors(
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

from kafka_groups.pipeline.build.frames import LagFloors
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
    rows: LagFloors, is_wanted: Flags, wait_ms: Floats, interval_ms: Floats
) -> dict[int, Mapping[str, Floats]]:
    """Measure how much the lag has grown over the three thirds of each window, at each wanted row.

    `rows` are observations with a known lag and carried floors, by key, incarnation, log number and time. `wait_ms` is
    the usual wait at each row, `interval_ms` the usual interval between observations. Return the columns of
    `verdicts.Growth` by the length of a third in ms. A row that is not wanted, or without one of its floors, is NaN.
    """
    segment = segment_starts(rows.key, rows.incarnation, rows.log_number)
    growths: dict[int, Mapping[str, Floats]] = {}
    for period_ms, thirds_ms in _THIRDS_BY_PERIOD:
        floors = _Floors.of(rows, segment, period_ms)
        wanted = np.flatnonzero(is_wanted)
        for third_ms in thirds_ms:
            thirds = floors.of_thirds(wanted, third_ms // period_ms)
            index = wanted[thirds.is_known()]
            known_thirds = thirds.take(thirds.is_known())
            fields = _measure(rows, known_thirds, wait_ms[index], np.minimum(wait_ms, interval_ms)[index], third_ms)
            growths[third_ms] = {name: _spread(values, index, len(rows)) for name, values in fields.items()}
    return growths


def carry_floors(rows: LagFloors) -> LagFloors:
    """Return the floors that the next day needs, in the order of `rows`.

    These belong to the last incarnation and log of each key, and are recent enough for a window of the next day.
    """
    last = np.flatnonzero(is_segment_end(rows.key))
    owner = np.searchsorted(rows.key[last], rows.key)
    is_present = (rows.incarnation == rows.incarnation[last][owner]) & (rows.log_number == rows.log_number[last][owner])
    present = rows.take(is_present)
    parts = []
    for period_ms, thirds_ms in _THIRDS_BY_PERIOD:
        segment = present.key
        floors = _Floors.of(present, segment, period_ms)
        newest_period = present.at_ms[np.searchsorted(segment, segment, "right") - 1] // period_ms
        index = floors.lowest
        is_recent = present.at_ms[index] // period_ms >= newest_period[index] - 3 * thirds_ms[-1] // period_ms
        parts.append(index[is_recent])
    return present.take(np.unique(np.concatenate(parts)))


@dataclass(frozen=True, slots=True)
class _Thirds:
    """The floors of the window of each row, as indices of rows; -1 where a third has no observation.

    `first`, `second` and `third` are the floors of the thirds before the row's period. `current` is the floor of that
    period until the row.
    """

    first: Ints
    second: Ints
    third: Ints
    current: Ints

    def is_known(self) -> Flags:
        """Return for each row whether all three floors are known."""
        known: Flags = (self.first >= 0) & (self.second >= 0) & (self.third >= 0)
        return known

    def take(self, rows: Flags) -> _Thirds:
        """Return the floors of the rows that a mask selects."""
        return _Thirds(self.first[rows], self.second[rows], self.third[rows], self.current[rows])


@dataclass(frozen=True, slots=True)
class _Floors:
    """The floor of each period with a row, by segment and period.

    A floor is stored as the index of the first row with the period's lowest lag.

    - `floor_of_row` has for each row the floor of its period until the row, and `period_index` the index of that
      period.
    - `codes` are ascending numbers of the periods, and `lowest` are their floors.
    - `tables` is a sparse table: `tables[i][p]` is the lowest rank among the 2^i periods starting at p. `by_rank` maps
      a rank to its floor. Lower lags rank lower; on ties, the earlier row does.
    """

    floor_of_row: Ints
    period_index: Ints
    segment: Ints
    period: Ints
    codes: Ints
    lowest: Ints
    tables: tuple[Ints, ...]
    by_rank: Ints

    @classmethod
    def of(cls, rows: LagFloors, segment: Ints, period_ms: int) -> _Floors:
        """Find the floors of `rows`, which are sorted by segment and time; `period_ms` is the length of a period."""
        period = rows.at_ms // period_ms
        floor_of_row = _running_lowest(rows.lag, segment_starts(segment, period)) if len(rows) else segment
        ends = np.flatnonzero(is_segment_end(segment, period)) if len(rows) else segment
        lowest = floor_of_row[ends]
        by_rank = np.lexsort((lowest, rows.lag[lowest]))
        rank = np.empty(len(lowest), np.int64)
        rank[by_rank] = np.arange(len(lowest))
        return cls(
            floor_of_row=floor_of_row,
            period_index=np.cumsum(is_segment_start(segment, period)) - 1 if len(rows) else segment,
            segment=segment,
            period=period,
            codes=(segment[ends] << _PERIOD_BITS) + period[ends],
            lowest=lowest,
            tables=_tabulate_minima(rank),
            by_rank=lowest[by_rank],
        )

    def of_thirds(self, wanted: Ints, periods: int) -> _Thirds:
        """Return the floors of the window of each wanted row; a third has `periods` periods.

        `wanted` are indices of rows.
        """
        period_indices, position_of_wanted = np.unique(self.period_index[wanted], return_inverse=True)
        first, second, third = (
            self._find_lowest(period_indices, periods * back, periods)[position_of_wanted] for back in (3, 2, 1)
        )
        return _Thirds(first, second, third, self.floor_of_row[wanted])

    def _find_lowest(self, period_indices: Ints, back: int, periods: int) -> Ints:
        """Return the floor of one third before each period, as the index of a row; -1 if it has no observation.

        The third begins `back` periods before the period, and has `periods` periods. `period_indices` are the periods.
        """
        first = np.searchsorted(self.codes, self.codes[period_indices] - back)
        end = np.searchsorted(self.codes, self.codes[period_indices] - back + periods)
        count = end - first
        result = np.full(len(period_indices), -1)
        for level, table in enumerate(self.tables):
            chosen = (count >= 1 << level) & (count < 2 << level)
            rank = np.minimum(table[first[chosen]], table[end[chosen] - (1 << level)])
            result[chosen] = self.by_rank[rank]
        return result


def _running_lowest(lag: Ints, start_index: Ints) -> Ints:
    """Return for each row the index of the lowest lag from the start of its segment to itself; on ties, the first."""
    indices = np.arange(len(lag))
    lowest = indices.copy()
    longest = int((indices - start_index).max()) + 1
    distance = 1
    while distance < longest:
        earlier = np.concatenate([np.zeros(distance, np.int64), lowest[:-distance]])
        is_lower = (indices - distance >= start_index) & (lag[earlier] <= lag[lowest])
        lowest = np.where(is_lower, earlier, lowest)
        distance *= 2
    return lowest


def _tabulate_minima(rank: Ints) -> tuple[Ints, ...]:
    """Return a sparse table of `rank`: element p of table i is the lowest of the 2^i ranks from p on."""
    tables = [rank]
    for level in range(_WINDOW_BITS):
        last = tables[-1]
        width = 1 << level
        following = last.copy()
        if len(last) > width:
            following[:-width] = np.minimum(last[:-width], last[width:])
        tables.append(following)
    return tuple(tables)


def _measure(rows: LagFloors, thirds: _Thirds, wait_ms: Floats, interval_ms: Floats, third_ms: int) -> dict[str, Array]:
    """Return the columns of Growth for rows whose floors are all known; the last third includes the current period."""
    first = thirds.first
    second = thirds.second
    third = thirds.third
    last = np.where(rows.lag[thirds.current] < rows.lag[third], thirds.current, third)
    produced = (rows.log_end[last] - rows.log_end[first]).astype(np.float64)
    records_per_poll = interval_ms * produced / (rows.at_ms[last] - rows.at_ms[first]).astype(np.float64)
    return {
        "grown": rows.lag[last] - rows.lag[first],
        "grown_early": rows.lag[second] - rows.lag[first],
        "grown_late": rows.lag[last] - rows.lag[second],
        "produced": produced,
        "records_per_poll": records_per_poll,
        "records_per_poll_share": records_per_poll * wait_ms / float(third_ms),
        "chance_records": np.sqrt(np.maximum(0.0, produced)),
        "previous_floor": rows.lag[third],
        "third_ms": np.full(len(produced), float(third_ms)),
    }


def _spread(values: Array, index: Ints, size: int) -> Floats:
    """Return an array of `size` numbers that has each value at its index, and NaN elsewhere."""
    result = np.full(size, np.nan)
    result[index] = values
    return result
