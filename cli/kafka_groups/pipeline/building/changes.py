"""Which facts there are, date by date, and which of them are others than at the last build."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.pipeline.storage import KEPT, Storage
from kafka_groups.pipeline.storage.failing import told
from kafka_groups.pipeline.storage.formats import DataFile
from kafka_groups.pipeline.storage.notes import RETENTION
from kafka_groups.pipeline.storage.swapping import COMPACTED
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, TABLES, Table
from kafka_groups.verdicts import Rules

_NOTE: Final = "build"
SOURCES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)
# What tables were made with: other settings, or other steps, make all dates anew.
_STEPS_VERSION: Final = 8


@dataclass(frozen=True, slots=True)
class State:
    """What a build is made of: for each date and table the batches, the rows, and what the footers tell of columns."""

    settings: list[Any]
    dates: Mapping[str, Mapping[str, Any]]
    first_date: str = ""  # what is older was removed by retention, or may be
    kept: Mapping[str, int] = field(default_factory=dict)  # rows that retention left of old dates

    def rows_until(self, dates: Sequence[date], lookback_days: int) -> int:
        """Facts that a build of those dates reads: `dates` and those before them, members of all days."""
        first, last = (min(dates) - timedelta(days=lookback_days)).isoformat(), max(dates).isoformat()
        kept = sum(rows for day, rows in self.kept.items() if day <= last)
        return kept + sum(
            int(told["rows"])
            for day, tables in self.dates.items()
            for name, told in tables.items()
            if (day >= first or name == GROUP_EVENTS.name) and day <= last
        )

    def origins(self, table: Table) -> set[str]:
        """Where the table's facts are from; there are never more than two origins."""
        found: set[str] = set()
        for tables in self.dates.values():
            found.update(tables.get(table.name, {}).get("columns", {}).get("origin", [])[:2])
        return found


def state_of(storage: Storage, rules: Rules, lookback_days: int) -> State:
    """How it is now. Footers are read only of dates whose files are others than at the last build.

    What retention left of old dates is no news: it is read, and makes nothing anew.
    """
    known = _last_time(storage).get("facts", {})
    facts: dict[str, dict[str, Any]] = {}
    kept: Counter[str] = Counter()
    for table in SOURCES:
        files: dict[str, list[DataFile]] = {}
        for file in storage.format.files(table.name):
            if file.batch == KEPT:
                kept[file.date] += storage.rows_of(file)
            else:
                files.setdefault(file.date, []).append(file)
        for day, found in files.items():
            facts.setdefault(day, {})[table.name] = _told(storage, table, found, known.get(day, {}).get(table.name, {}))
    settings = [_STEPS_VERSION, rules.intervals, rules.allowed_lag, rules.minimum_complete, rules.min_distance_ms]
    return State([*settings, lookback_days], dict(sorted(facts.items())), _retained_since(storage), kept)


def save_state(storage: Storage, state: State) -> None:
    """The next build begins from here."""
    made = {table.name: storage.format.dates(table.name) for table in TABLES.values() if table.derived}
    storage.save_note(_NOTE, {"settings": state.settings, "facts": state.dates, "made": made})


def dates_to_build(storage: Storage, now: State) -> list[date]:
    """Dates with facts, from the first change on, or from the first date that a derived table has lost."""
    before = _last_time(storage)
    known = before.get("facts", {}) if before.get("settings") == now.settings else {}
    changed = [
        day
        for day, tables in now.dates.items()
        if any(not _is_same(known.get(day, {}).get(name), told) for name, told in tables.items())
    ]
    changed += _lost(storage, before.get("made", {}), now.first_date)
    if not changed:
        return []
    return [date.fromisoformat(day) for day in now.dates if day >= min(changed)]


def date_before(now: State, dates: Sequence[date]) -> list[date]:
    """The date before `dates`, and before each of them that has none, if anything can be told of it.

    It need not have facts: a classic rebalance, which is told by its end, is dated to when it began at the earliest.
    """
    before = {day - timedelta(days=1): GROUP_EVENTS.name in now.dates.get(day.isoformat(), {}) for day in sorted(dates)}
    return [
        day
        for day, may_begin in before.items()
        if day not in dates and (may_begin or day.isoformat() in now.dates) and day.isoformat() >= now.first_date
    ]


def _last_time(storage: Storage) -> Mapping[str, Any]:
    """What the last build noted; nothing, so that all is built, if there was none or somebody has changed the note."""
    note = storage.note(_NOTE)
    facts, made = note.get("facts", {}), note.get("made", {})
    parts = [facts, made, *facts.values()] if isinstance(facts, dict) else [None]
    told = [each for tables in parts[2:] if isinstance(tables, dict) for each in tables.values()]
    is_ours = all(isinstance(part, dict) for part in (*parts, *told))
    return note if is_ours and all(map(_is_told, told)) else {}


def _is_told(facts: Mapping[str, Any]) -> bool:
    kinds = {"batches": dict, "rows": int, "columns": dict}
    return all(isinstance(facts.get(name), kind) for name, kind in kinds.items())


def _retained_since(storage: Storage) -> str:
    first = str(storage.note(RETENTION).get("first_date", ""))
    try:
        return date.fromisoformat(first).isoformat()
    except ValueError:
        return ""


def _lost(storage: Storage, made: Mapping[str, Any], first_date: str) -> list[str]:
    """Dates that a derived table had after the last build and has no more, but for those that retention removed."""
    lost: set[str] = set()
    for table in TABLES.values():
        had = made.get(table.name) if table.derived else None
        if isinstance(had, list):
            lost.update({str(day) for day in had} - {*storage.format.dates(table.name)})
    return [day for day in lost if day >= first_date]


def _is_same(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Whether the rows are the same, though compaction may have put them into other files.

    It joins batches to one of its own and touches no row. So all batches that are not its own must be as they were, and
    in all files together there must be as many rows as before, with the same columns' bounds and numbers of nulls.
    """
    if before is None:
        return False
    if before["batches"] == now["batches"]:
        return True
    kept = {batch: files for batch, files in now["batches"].items() if not COMPACTED.fullmatch(batch)}
    is_kept = all(before["batches"].get(batch) == files for batch, files in kept.items())
    return is_kept and (before["rows"], before["columns"]) == (now["rows"], now["columns"])


def _told(storage: Storage, table: Table, files: Sequence[DataFile], known: Mapping[str, Any]) -> dict[str, Any]:
    names: dict[str, list[str]] = {}
    for file in files:
        names.setdefault(file.batch, []).append(file.path.rpartition("/")[2])
    # A file that has another content has another name.
    batches = {batch: _digest(found) for batch, found in sorted(names.items())}
    if known.get("batches") == batches:
        return dict(known)
    footers = [_footer(storage, file.path) for file in files]
    columns = {name: _bounds(footers, name) for name in _compared(table)}
    return {"batches": batches, "rows": sum(footer.num_rows for footer in footers), "columns": columns}


def _footer(storage: Storage, path: str) -> Any:
    with told("read the tables", path):
        return pq.read_metadata(path, filesystem=storage.place.fs)


def _compared(table: Table) -> list[str]:
    numbers = [
        field.name for field in table.arrow() if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)
    ]
    return ["origin", *numbers]


def _bounds(footers: Collection[Any], name: str) -> list[Any]:
    """The least and the largest value of a column, and how many nulls."""
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
    return [str(min(each.min for each in bounded)), str(max(each.max for each in bounded)), nulls]


def _digest(names: Collection[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]
