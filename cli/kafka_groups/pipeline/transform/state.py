"""What one day hands to the next: for each topic partition, and for each group on it.

A build reads the days that changed and the state of the day before them, whatever the age of the directory. The state
holds what the kernels look back at: the last commits and slots, the last ten minutes, the index of time lag, thinned.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits, MoveStates
from kafka_groups.pipeline.transform.kernels.deletions import Absence
from kafka_groups.pipeline.transform.kernels.lag_points import LagPoints
from kafka_groups.pipeline.transform.kernels.log_ends import LogStates
from kafka_groups.pipeline.transform.kernels.rates import Recent
from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Floats, Ints
from kafka_groups.pipeline.transform.kernels.time_lag import Points
from kafka_groups.pipeline.transform.kernels.windows import Entries
from kafka_groups.pipeline.transform.packed_numbers import pack, unpack

_ZERO: Final = frozenset({"log", "life", "runs"})


@dataclass(frozen=True, slots=True)
class LastEnds(Rows):
    """The last log ends of each partition's current log, by time."""

    partition: Ints
    at_us: Ints
    log_end: Ints


@dataclass(frozen=True, slots=True)
class LogTotals:
    """Of each partition: the last day with a fact, and the highest log start of its current log."""

    fact_day: Ints
    kept_from: Ints


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of partitions, whose numbers are the places in the arrays."""

    logs: LogStates
    totals: LogTotals
    ends: LastEnds
    points: Points


@dataclass(frozen=True, slots=True)
class KeyTotals:
    """Of each key: the last day with a fact, how many removals there were, the last sample of its current life."""

    fact_day: Ints
    life: Ints
    seen_offset: Ints


@dataclass(frozen=True, slots=True)
class KeyStatuses(Rows):
    """Verdicts by key and time, with what a group adds up. In a state, the last one of the last ten minutes."""

    key: Ints
    at_us: Ints
    rank: Ints
    is_complete: Flags
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
    """The state of keys, whose numbers are the places in the arrays."""

    totals: KeyTotals
    moves: MoveStates
    absence: Absence
    commits: Commits
    records: Entries
    samples: Entries
    record_points: LagPoints
    sample_points: LagPoints
    recent: Recent
    status: KeyStatuses


_LOG_SCALARS: Final = (("logs", LogStates), ("totals", LogTotals))
_KEY_SCALARS: Final = (("totals", KeyTotals), ("moves", MoveStates), ("absence", Absence))
# Each with the name of the field that says whose row it is, and the texts' codes among the others.
_LOG_LISTS: Final = (("ends", LastEnds, "partition"), ("points", Points, "partition"))
_KEY_LISTS: Final = (
    ("commits", Commits, "key"),
    ("records", Entries, "key"),
    ("samples", Entries, "key"),
    ("record_points", LagPoints, "key"),
    ("sample_points", LagPoints, "key"),
    ("recent", Recent, "key"),
    ("status", KeyStatuses, "key"),
)
_FLAGS: Final = frozenset({"is_told", "has_records", "is_record", "is_removal", "is_carried", "is_complete"})


_REALS: Final = frozenset({"consume", "produce"})


def _defaults(kind: Any, size: int) -> Any:
    return kind(
        *(
            np.zeros(size, np.bool_ if field.name in _FLAGS else np.int64)
            if field.name in _FLAGS | _ZERO
            else np.full(size, NULL)
            for field in fields(kind)
        )
    )


def read_log_state(column: Any, partition: Ints, size: int) -> LogState:
    """Return the state of `size` partitions from binary values, which are of these partitions, in ascending order."""
    return LogState(**_read(column, partition, size, _LOG_SCALARS, _LOG_LISTS))


def read_key_state(column: Any, key: Ints, size: int) -> KeyState:
    """Return the state of `size` keys from binary values, which are of these keys, in ascending order."""
    return KeyState(**_read(column, key, size, _KEY_SCALARS, _KEY_LISTS))


def _read(column: Any, owner: Ints, size: int, scalars: Any, lists: Any) -> dict[str, Any]:
    widths = [len(fields(kind)) - 1 for _, kind, _ in lists]
    numbers, rows = unpack(column, sum(len(fields(kind)) for _, kind in scalars), widths)
    values, found = iter(numbers), dict[str, Any]()
    for name, kind in scalars:
        found[name] = _defaults(kind, size)
        for field in fields(kind):
            getattr(found[name], field.name)[owner] = next(values)
    for (name, kind, whose), (place, columns) in zip(lists, rows, strict=True):
        others = iter(columns)
        found[name] = kind(
            *(owner[place] if field.name == whose else _typed(field.name, next(others)) for field in fields(kind))
        )
    return found


def _typed(name: str, values: Ints) -> Any:
    if name in _REALS:
        return values.view(np.float64)
    return values.astype(np.bool_) if name in _FLAGS else values


def write_log_state(state: LogState) -> Any:
    """Return the state as a column of binary values, one for each partition."""
    return _write(state, _LOG_SCALARS, _LOG_LISTS)


def write_key_state(state: KeyState) -> Any:
    """Return the state as a column of binary values, one for each key."""
    return _write(state, _KEY_SCALARS, _KEY_LISTS)


def _write(state: Any, scalars: Any, lists: Any) -> Any:
    numbers = [getattr(getattr(state, name), field.name) for name, kind in scalars for field in fields(kind)]
    rows = []
    for name, kind, owner in lists:
        found = getattr(state, name)
        columns = [_numbers(getattr(found, field.name)) for field in fields(kind) if field.name != owner]
        rows.append((getattr(found, owner), columns))
    return pack(numbers, rows, len(state.totals.fact_day))


def _numbers(values: Any) -> Any:
    return values.view(np.int64) if values.dtype == np.float64 else values


def without_stale_logs(state: LogState, oldest_day: int) -> LogState:
    """Return the state without partitions that had no fact since that day."""
    stale = (state.totals.fact_day != NULL) & (state.totals.fact_day < oldest_day)
    return LogState(**_without(state, stale, _LOG_SCALARS, _LOG_LISTS)) if stale.any() else state


def without_stale_keys(state: KeyState, oldest_day: int) -> KeyState:
    """Return the state without keys that had no fact since that day."""
    stale = (state.totals.fact_day != NULL) & (state.totals.fact_day < oldest_day)
    return KeyState(**_without(state, stale, _KEY_SCALARS, _KEY_LISTS)) if stale.any() else state


def _without(state: Any, stale: Flags, scalars: Any, lists: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, kind in scalars:
        before, default = getattr(state, name), _defaults(kind, len(stale))
        found[name] = replace(
            before,
            **{f.name: np.where(stale, getattr(default, f.name), getattr(before, f.name)) for f in fields(kind)},
        )
    for name, _, owner in lists:
        rows = getattr(state, name)
        kept = ~stale[getattr(rows, owner)]
        found[name] = rows.where(kept)
    return found
