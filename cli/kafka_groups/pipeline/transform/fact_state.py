"""Which facts there are, date by date, and which dates a build has to make because of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.pipeline.coverage import TIMES, Reach
from kafka_groups.pipeline.schemas import GROUP_EVENTS, TABLES, Table
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.layout import COMPACTED, COMPACTED_SAMPLES, KEPT, RETENTION, SORTED_SAMPLES
from kafka_groups.pipeline.storage.storage_errors import as_storage_error
from kafka_groups.pipeline.transform.state_tables import STATES, StateTables
from kafka_groups.verdicts import Rules

_NOTE: Final = "build"
# All dates are made again if the settings or this number differ from those of the last build.
_VERSION: Final = 11
_SETTINGS: Final = 6
_MICROS: Final = pa.timestamp("us", "UTC")
_KEYS: Final = ("cluster_id", "origin")
_JOINED: Final = {COMPACTED, COMPACTED_SAMPLES, SORTED_SAMPLES}
# What a build writes.
_MADE: Final = (*(table for table in TABLES.values() if table.derived), *STATES)


@dataclass(frozen=True, slots=True)
class FactState:
    """The facts at a time: of each date and table the batches, the number of rows, and what the footers say of columns.

    `first_date` is the first date that retention keeps. `thinned` counts the rows of dates that retention thinned.
    """

    settings: list[Any]
    dates: Mapping[str, Mapping[str, Any]]
    first_date: str = ""
    thinned: Mapping[str, int] = field(default_factory=dict)

    def known_dates(self) -> set[date]:
        """Return all dates with facts."""
        return {date.fromisoformat(day) for day in (*self.dates, *self.thinned)}

    def count_rows(self, dates: Collection[date]) -> int:
        """Return the number of facts of those dates."""
        wanted = {day.isoformat() for day in dates}
        thinned = sum(rows for day, rows in self.thinned.items() if day in wanted)
        return thinned + sum(int(one["rows"]) for day in wanted for one in self.dates.get(day, {}).values())

    def reach(self) -> dict[str, Reach]:
        """Return by cluster the times of its last facts."""
        found: dict[str, dict[tuple[str, str], int]] = {}
        for tables in self.dates.values():
            for name, one in tables.items():
                for cluster, origins in one["last_ms"].items():
                    times = found.setdefault(cluster, {})
                    for origin, at_ms in origins.items():
                        times[name, origin] = max(at_ms, times.get((name, origin), at_ms))
        return {cluster: Reach(times) for cluster, times in sorted(found.items())}


def read_fact_state(storage: Storage, rules: Rules, lookback_days: int) -> FactState:
    """Return the state of the facts. Footers are read only of dates whose files differ from those of the last build."""
    known = _last_note(storage).get("facts", {})
    facts: dict[str, dict[str, Any]] = {}
    thinned: Counter[str] = Counter()
    for table in TIMES:
        files: dict[str, list[DataFile]] = {}
        for file in storage.files(table):
            if file.batch == KEPT:
                thinned[file.date] += file.rows
            else:
                files.setdefault(file.date, []).append(file)
        for day, found in files.items():
            before = known.get(day, {}).get(table.name, {})
            facts.setdefault(day, {})[table.name] = _describe(storage, table, found, before)
    settings = [_VERSION, rules.intervals, rules.allowed_lag, rules.minimum_complete, rules.min_distance_ms]
    return FactState([*settings, lookback_days], dict(sorted(facts.items())), _first_kept_date(storage), thinned)


def save_fact_state(storage: Storage, state: FactState, *, pending: Collection[date] = ()) -> None:
    """Save the state and the dates of the derived tables for the next build, to which `pending` dates are left."""
    made = {table.name: _dates_of(storage, table) for table in _MADE}
    facts = {day: tables for day, tables in state.dates.items() if date.fromisoformat(day) not in pending}
    storage.save_note(_NOTE, {"settings": state.settings, "facts": facts, "made": made})


def read_last_rules(storage: Storage) -> Rules | None:
    """Return the rules of the last build; None if there was none."""
    settings = _last_note(storage).get("settings") or []
    if len(settings) != _SETTINGS or settings[0] != _VERSION:
        return None
    _, intervals, allowed_lag, minimum_complete, min_distance_ms, _ = settings
    return Rules(intervals, allowed_lag, minimum_complete, min_distance_ms)


def forget_fact_state(storage: Storage) -> None:
    """Let the next build be one of all dates, until a state is saved."""
    storage.save_note(_NOTE, {})


def dates_to_build(storage: Storage, state: FactState) -> list[date]:
    """Return the dates with facts from the first one that changed, or that a derived table lost, on.

    Dates before the first one that retention keeps are not built: other facts of them are deleted.
    """
    changed = {day for day, _ in _changes(storage, state)} | lost_dates(storage)
    first = min((day for day in changed if day >= state.first_date), default=None)
    if first is None:
        return []
    return sorted(day for day in state.known_dates() if day.isoformat() >= first)


def has_other_settings(storage: Storage, state: FactState) -> bool:
    """Return whether the last build had other settings, or there was none."""
    return bool(_last_note(storage).get("settings") != state.settings)


def has_old_events(storage: Storage, state: FactState) -> bool:
    """Return whether events of groups came that are older than what retention keeps: their members may still be there.

    So it is if a cluster is read for the first time.
    """
    return any(name == GROUP_EVENTS.name and day < state.first_date for day, name in _changes(storage, state))


def lost_dates(storage: Storage, tables: Collection[Table] = _MADE) -> set[str]:
    """Return the dates that one of the tables had after the last build and has no more."""
    made, lost = _last_note(storage).get("made", {}), set[str]()
    for table in tables:
        had = made.get(table.name)
        if isinstance(had, list):
            first = _first_kept_date(storage, table)
            lost.update({str(day) for day in had if str(day) >= first} - {*_dates_of(storage, table)})
    return lost


def _changes(storage: Storage, state: FactState) -> list[tuple[str, str]]:
    """Return the dates and tables whose facts are not those of the last build with these settings."""
    before = _last_note(storage)
    known = before.get("facts", {}) if before.get("settings") == state.settings else {}
    return [
        (day, name)
        for day, tables in state.dates.items()
        for name, one in tables.items()
        if not _is_same(known.get(day, {}).get(name), one)
    ]


def _last_note(storage: Storage) -> Mapping[str, Any]:
    """Return what the last build saved; nothing if there was none, or if the note has been edited."""
    note = storage.note(_NOTE)
    facts, made = note.get("facts", {}), note.get("made", {})
    parts = [facts, made, *facts.values()] if isinstance(facts, dict) else [None]
    described = [each for tables in parts[2:] if isinstance(tables, dict) for each in tables.values()]
    is_valid = all(isinstance(part, dict) for part in (*parts, *described))
    return note if is_valid and all(map(_is_description, described)) else {}


def _is_description(facts: Mapping[str, Any]) -> bool:
    kinds = {"batches": dict, "rows": int, "columns": dict, "last_ms": dict}
    return all(isinstance(facts.get(name), kind) for name, kind in kinds.items())


def _first_kept_date(storage: Storage, table: Table | None = None) -> str:
    """Return the first date that retention keeps of the facts, or of a derived table."""
    note = storage.note(RETENTION)
    derived = note.get("derived", {})
    kept = note if table is None else {"first_date": derived.get(table.name, "")} if isinstance(derived, dict) else {}
    first = str(kept.get("first_date", ""))
    try:
        return date.fromisoformat(first).isoformat()
    except ValueError:
        return ""


def _dates_of(storage: Storage, table: Table) -> list[str]:
    return StateTables(storage).dates(table) if table in STATES else storage.dates(table)


def _is_same(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Return whether the rows are the same, though compaction may have joined their files.

    It joins batches to those of its own and changes no row. So all batches that are not its own have to be as they
    were, and all files together need as many rows as before, with the same columns' bounds and numbers of nulls.
    """
    if before is None:
        return False
    if before["batches"] == now["batches"]:
        return True
    kept = {batch: files for batch, files in now["batches"].items() if batch not in _JOINED}
    is_kept = all(before["batches"].get(batch) == files for batch, files in kept.items())
    return is_kept and (before["rows"], before["columns"]) == (now["rows"], now["columns"])


def _describe(storage: Storage, table: Table, files: Sequence[DataFile], known: Mapping[str, Any]) -> dict[str, Any]:
    names: dict[str, list[str]] = {}
    for file in files:
        names.setdefault(file.batch, []).append(file.path.rpartition("/")[2])
    # A file with another content has another name.
    batches = {batch: _digest(found) for batch, found in sorted(names.items())}
    if known.get("batches") == batches:
        return dict(known)
    found = [_read_footer(storage, table, file.path) for file in files]
    footers = [footer for footer, _ in found]
    last_ms: dict[str, dict[str, int]] = {}
    for _, times in found:
        for cluster, origin, at_ms in times:
            origins = last_ms.setdefault(cluster, {})
            origins[origin] = max(at_ms, origins.get(origin, at_ms))
    return {
        "batches": batches,
        "rows": sum(footer.num_rows for footer in footers),
        "columns": {name: _bounds(footers, name) for name in _compared(table)},
        "last_ms": last_ms,
    }


def _read_footer(storage: Storage, table: Table, path: str) -> tuple[Any, list[tuple[str, str, int]]]:
    """Return a file's footer, and the last time of each cluster and origin in it, in milliseconds."""
    with as_storage_error("read the tables", path):
        file = pq.ParquetFile(path, filesystem=storage.place.fs)
        time = TIMES[table]
        bounds = {name: _bounds([file.metadata], name, spell=lambda value: value) for name in (*_KEYS, time)}
        single = [bounds[name][0] for name in _KEYS if len(bounds[name]) > 1 and bounds[name][0] == bounds[name][1]]
        if len(single) == len(_KEYS) and len(bounds[time]) > 1:
            return file.metadata, [(*single, pa.scalar(bounds[time][1], _MICROS).value // 1_000)]
        rows = file.read([*_KEYS, time])
        last = rows.group_by([*_KEYS]).aggregate([(time, "max")])
        micros = last[f"{time}_max"].cast(_MICROS).cast(pa.int64()).to_pylist()
        keys = (last[name].to_pylist() for name in _KEYS)
        return file.metadata, [(*key, at // 1_000) for *key, at in zip(*keys, micros, strict=True) if at is not None]


def _compared(table: Table) -> Iterator[str]:
    yield "origin"
    for column in table.arrow():
        if pa.types.is_integer(column.type) or pa.types.is_timestamp(column.type):
            yield column.name


def _bounds(footers: Collection[Any], name: str, *, spell: Any = str) -> list[Any]:
    """Return the least and the largest value of a column, if they are known, and how many nulls it has."""
    found = []
    for footer in footers:
        place = next((at for at in range(footer.num_columns) if footer.schema.column(at).path == name), None)
        if place is not None:
            found += [footer.row_group(at).column(place).statistics for at in range(footer.num_row_groups)]
    known = [each for each in found if each is not None]
    bounded = [each for each in known if each.has_min_max]
    nulls = sum(each.null_count for each in known)
    if not bounded:
        return [nulls]
    return [spell(min(each.min for each in bounded)), spell(max(each.max for each in bounded)), nulls]


def _digest(names: Collection[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]
