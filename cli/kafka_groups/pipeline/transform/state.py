"""What one day hands to the next: for each topic partition, and for each group on it.

A build reads the days that changed and the state of the day before them, whatever the age of the directory. The state
holds what the kernels look back at: the last commits and slots, the last ten minutes, the index of time lag, thinned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar, get_type_hints

import numpy as np

from kafka_groups.pipeline.transform.columns import pack, unpack
from kafka_groups.pipeline.transform.kernels.commits import Commits, KeyTotals
from kafka_groups.pipeline.transform.kernels.lag import Points, Recent
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds, LogTotals
from kafka_groups.pipeline.transform.kernels.segments import NULL, Floats, Ints, Rows, take
from kafka_groups.pipeline.transform.kernels.verdicts import Entries, LagPoints


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of partitions, whose numbers are the places in the totals; all else is rows by partition."""

    totals: LogTotals
    ends: LogEnds
    points: Points


@dataclass(frozen=True, slots=True)
class KeyStatuses(Rows):
    """Verdicts by key and time, with what a group adds up. In a state, the last one of the last ten minutes."""

    key: Ints
    at_us: Ints
    rank: Ints
    complete: Floats
    window_start_ms: Ints
    window_end_ms: Ints
    lag: Ints
    time_lag_ms: Ints
    quality: Ints
    consume: Floats
    produce: Floats
    catch_up_ms: Ints


@dataclass(frozen=True, slots=True)
class KeyState:
    """The state of keys, whose numbers are the places in the totals; all else is rows by key."""

    totals: KeyTotals
    commits: Commits
    entries: Entries
    points: LagPoints
    recent: Recent
    status: KeyStatuses


State = TypeVar("State", bound=LogState | KeyState)
# Numbers of 64 bits, as what each column of rows is.
_FROM_NUMBERS: Final = {
    "Ints": lambda numbers: numbers,
    "Flags": lambda numbers: numbers.astype(np.bool_),
    "Floats": lambda numbers: numbers.view(np.float64),
}


def read_state(kind: type[State], column: Any, owner: Ints, size: int) -> State:
    """Return the state of `size` partitions or keys from binary values, which are of `owner`, in ascending order."""
    totals, *others = get_type_hints(kind).values()
    numbers, lists = unpack(column, len(fields(totals)), [len(fields(other)) - 1 for other in others])
    rows = map(_typed, others, ([owner[place], *columns] for place, columns in lists))
    places = np.full(size, -1)
    places[owner] = np.arange(len(owner))
    return kind(_totals_at(_typed(totals, numbers), places), *rows)


def write_state(state: LogState | KeyState) -> Any:
    """Return the state as a column of binary values, one for each partition or key."""
    totals, *lists = (getattr(state, field.name).columns() for field in fields(state))
    return pack(totals, [(rows[0], rows[1:]) for rows in lists], len(state.totals))


def without_stale(state: State, oldest_day: int) -> State:
    """Return the state without partitions or keys that had no fact since that day."""
    is_kept = (state.totals.fact_day == NULL) | (state.totals.fact_day >= oldest_day)
    if is_kept.all():
        return state
    totals, *lists = (getattr(state, field.name) for field in fields(state))
    rows = [each.where(is_kept[each.columns()[0]]) for each in lists]
    return type(state)(_totals_at(totals, np.where(is_kept, np.arange(len(is_kept)), -1)), *rows)


def _typed(kind: Any, columns: Any) -> Any:
    return kind.of(_FROM_NUMBERS[str(field.type)](column) for field, column in zip(fields(kind), columns, strict=True))


def _totals_at(totals: Any, places: Ints) -> Any:
    """Return the totals at the places; NULL and false where the place is -1."""
    return totals.of(take(each, places, False if each.dtype == np.bool_ else NULL) for each in totals.columns())
