"""Which facts there are, date by date, and which dates a build has to make because of them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from kafka_groups.pipeline.coverage import TIMES, Reach
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, STATES, TABLES, Table
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.layout import COMPACTED, COMPACTED_SAMPLES, KEPT, SORTED_SAMPLES
from kafka_groups.pipeline.storage.notes import RETENTION
from kafka_groups.verdicts import Rules

_NOTE: Final = "build"
# All dates are made again if the settings or this number differ from those of the last build.
_VERSION: Final = 11
_JOINED: Final = {COMPACTED, COMPACTED_SAMPLES, SORTED_SAMPLES}
# What a build writes.
_MADE: Final = (*(table for table in TABLES.values() if table.derived), *STATES)
# By date and table, then by cluster and origin: the time of the last fact in milliseconds.
LastTimes = Mapping[tuple[str, str], Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class FactState:
    """The facts of a directory by date and table, and what the last build with these settings saved of them and wrote.

    `first_date` is the first date that retention keeps. `thinned` counts the rows that it left of dates before it.
    `lost` are dates that a derived table has no more, `states` those with a state that all tables still have.
    """

    rules: Rules
    lookback_days: int
    dates: Mapping[str, Mapping[str, Mapping[str, Any]]]
    thinned: Mapping[str, int]
    first_date: str
    last_build: Mapping[str, Any]
    lost: Collection[str]
    states: Collection[str]

    @property
    def has_other_settings(self) -> bool:
        """Whether the last build had other settings, or there was none."""
        return not self.last_build

    @property
    def has_old_events(self) -> bool:
        """Whether events came that are older than what retention keeps: their members may still be there.

        So it is if a cluster is read for the first time.
        """
        return any(name == GROUP_EVENTS.name and day < self.first_date for day, name in self._changes())

    def known_dates(self) -> set[date]:
        """Return all dates with facts."""
        return {date.fromisoformat(day) for day in (*self.dates, *self.thinned)}

    def count_rows(self, dates: Iterable[date]) -> int:
        """Return the number of facts of those dates."""
        days = {day.isoformat() for day in dates}
        return sum(
            self.thinned.get(day, 0) + sum(one["rows"] for one in self.dates.get(day, {}).values()) for day in days
        )

    def dates_to_build(self) -> list[date]:
        """Return the dates with facts from the first one that changed, or that a derived table lost, on.

        Dates before the first one that retention keeps are not built: other facts of them are deleted.
        """
        changed = {day for day, _ in self._changes()}.union(self.lost)
        first = min((day for day in changed if day >= self.first_date), default=None)
        return [] if first is None else sorted(day for day in self.known_dates() if day.isoformat() >= first)

    def dates_to_read(self, dates: Sequence[date]) -> list[date]:
        """Return dates that are to be made, ascending, and before them those with facts that no state accounts for.

        Without the state before them nothing would be known of what was before. The date before the first one needs a
        state before it, too: without one, its rebalances would not be known.
        """
        earlier = {day for day in self.known_dates() if day < dates[0]}
        day_before = dates[0] - timedelta(days=1)
        is_enough = self.newest_before(day_before) is not None or all(day >= day_before for day in earlier)
        newest = self.newest_before(dates[0]) if is_enough else None
        return sorted({*dates, *(day for day in earlier if newest is None or day.isoformat() > newest)})

    def newest_before(self, day: date) -> str | None:
        """Return the newest date before `day` that has a state."""
        return max((each for each in self.states if each < day.isoformat()), default=None)

    def without_last_build(self) -> FactState:
        """Return the state of which a build makes all dates again."""
        return replace(self, last_build={}, lost=(), states=())

    def with_last_times(self, found: LastTimes) -> FactState:
        """Return the state with the last times of facts that a build has read."""
        dates = {
            day: {name: {**one, "last_ms": found.get((day, name)) or _last_ms(one)} for name, one in tables.items()}
            for day, tables in self.dates.items()
        }
        return replace(self, dates=dates)

    def clusters_read(self, day: str) -> set[str]:
        """Return the clusters of which records of the date were read, as far as a build has seen it."""
        known = (self.dates.get(day, {}).get(table.name, {}) for table in (OFFSET_COMMITS, GROUP_EVENTS))
        return {cluster for one in known for cluster, origins in _last_ms(one).items() if "topic" in origins}

    def reach(self) -> dict[str, Reach]:
        """Return by cluster the times of its last facts that a build has read."""
        found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        for tables in self.dates.values():
            for name, one in tables.items():
                for cluster, origins in _last_ms(one).items():
                    for origin, at_ms in origins.items():
                        found[cluster][name, origin] = max(at_ms, found[cluster].get((name, origin), at_ms))
        return {cluster: Reach(times) for cluster, times in sorted(found.items())}

    def _changes(self) -> list[tuple[str, str]]:
        """Return the dates and tables whose facts are not those of the last build with these settings."""
        known = self.last_build.get("facts", {})
        return [
            (day, name)
            for day, tables in self.dates.items()
            for name, one in tables.items()
            if not _is_same(known.get(day, {}).get(name), one)
        ]


def read_fact_state(storage: Storage, rules: Rules, lookback_days: int) -> FactState:
    """Return the state of the facts, from the logs of the tables."""
    last_build, retention = storage.note(_NOTE), storage.note(RETENTION)
    if last_build.get("settings") != _settings(rules, lookback_days):
        last_build = {}
    dates: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    thinned: Counter[str] = Counter()
    for table in TIMES:
        files: dict[str, list[DataFile]] = defaultdict(list)
        for file in storage.files(table):
            if file.batch == KEPT:
                thinned[file.date] += file.rows
            else:
                files[file.date].append(file)
        for day, found in files.items():
            before, now = last_build.get("facts", {}).get(day, {}).get(table.name), _describe(found)
            dates[day][table.name] = {**now, "last_ms": _last_ms(before)} if _is_same(before, now) else now
    made, first_dates = last_build.get("made", {}), retention.get("derived", {})
    lost: dict[Table, set[str]] = {}
    states = set[str]()
    for table in _MADE:
        there = {*storage.dates(table)}
        # Those that retention removed are not lost.
        had = {day for day in made.get(table.name, ()) if day >= first_dates.get(table.name, "")}
        lost[table] = had - there
        states |= there if table in STATES else set()
    # Without a last build, the states are removed when this one begins.
    kept_states = states.difference(*(lost[table] for table in STATES)) if last_build else set[str]()
    first_date = str(retention.get("first_date") or "")
    every_lost = set[str]().union(*lost.values())
    return FactState(
        rules, lookback_days, dict(sorted(dates.items())), thinned, first_date, last_build, every_lost, kept_states
    )


def save_fact_state(storage: Storage, state: FactState, *, pending: Collection[date] = ()) -> None:
    """Save the state and the dates of the derived tables for the next build, to which `pending` dates are left."""
    made = {table.name: storage.dates(table) for table in _MADE}
    facts = {day: tables for day, tables in state.dates.items() if date.fromisoformat(day) not in pending}
    storage.save_note(_NOTE, {"settings": _settings(state.rules, state.lookback_days), "facts": facts, "made": made})


def forget_fact_state(storage: Storage) -> None:
    """Let the next build be one of all dates, until a state is saved. If this one is killed, it replaces its rows."""
    storage.save_note(_NOTE, {})
    for table in STATES:
        storage.remove(table, storage.dates(table))


def read_last_rules(storage: Storage) -> Rules | None:
    """Return the rules of the last build; None if there was none."""
    version, *rules, _ = storage.note(_NOTE).get("settings") or [None, None]
    return Rules(*rules) if version == _VERSION else None


def _settings(rules: Rules, lookback_days: int) -> list[Any]:
    """Return what the rows depend on beside the facts."""
    return [_VERSION, *astuple(rules), lookback_days]


def _last_ms(facts: Mapping[str, Any] | None) -> Mapping[str, Mapping[str, int]]:
    found: Mapping[str, Mapping[str, int]] = (facts or {}).get("last_ms", {})
    return found


def _describe(files: Sequence[DataFile]) -> dict[str, Any]:
    """Return the number of rows, and the batches, each with a number that differs if its files do."""
    names: dict[str, list[str]] = defaultdict(list)
    for file in files:
        names[file.batch].append(file.path.rpartition("/")[2])
    digests = {
        batch: hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16]
        for batch, found in sorted(names.items())
    }
    return {"batches": digests, "rows": sum(file.rows for file in files)}


def _is_same(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Return whether the rows are the same, though compaction may have joined their files.

    It joins batches to those of its own and changes no row. So all batches that are not its own have to be as they
    were, and all files together need as many rows as before.
    """
    if before is None:
        return False
    kept = {batch: files for batch, files in now["batches"].items() if batch not in _JOINED}
    return bool(before["rows"] == now["rows"] and kept.items() <= before["batches"].items())
