"""Which facts there are, date by date, and which dates a build has to make because of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

from kafka_groups.pipeline.coverage import TIMES, Reach
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, STATES, TABLES
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.layout import COMPACTED, COMPACTED_SAMPLES, KEPT, SORTED_SAMPLES
from kafka_groups.pipeline.storage.notes import RETENTION
from kafka_groups.verdicts import Rules

_NOTE: Final = "build"
# All dates are made again if the settings or this number differ from those of the last build.
_VERSION: Final = 12
_JOINED: Final = {COMPACTED, COMPACTED_SAMPLES, SORTED_SAMPLES}
# What a build writes.
_MADE: Final = (*(table for table in TABLES.values() if table.derived), *STATES)
# By cluster and origin, the time of the last fact in milliseconds.
LastTimes = Mapping[str, Mapping[str, int]]
Key = tuple[str, str]  # date and table


@dataclass(frozen=True, slots=True)
class FactState:
    """The facts of a directory, and what the last build with these settings left: nothing, if it had other ones.

    `files` are by table, `facts` their descriptions by date and table, without those that retention thinned.
    `first_date` is the first date that it keeps, `lost` dates that a derived table has no more, `states` those that
    have a state.
    """

    rules: Rules
    lookback_days: int
    files: Mapping[str, Sequence[DataFile]]
    facts: Mapping[Key, Mapping[str, Any]]
    changed: Collection[Key]
    lost: Collection[str]
    states: Collection[date]
    first_date: str
    has_last_build: bool

    @property
    def has_old_events(self) -> bool:
        """Whether events came that are older than what retention keeps: their members may still be there.

        So it is if a cluster is read for the first time.
        """
        return any(table == GROUP_EVENTS.name and day < self.first_date for day, table in self.changed)

    def known_dates(self) -> set[date]:
        """Return all dates with facts."""
        return {date.fromisoformat(file.date) for files in self.files.values() for file in files}

    def count_rows(self, dates: Iterable[date]) -> int:
        """Return the number of facts of those dates."""
        days = {day.isoformat() for day in dates}
        return sum(file.rows for files in self.files.values() for file in files if file.date in days)

    def dates_to_build(self) -> list[date]:
        """Return the dates with facts from the first one that changed, or that a derived table lost, on.

        Dates before the first one that retention keeps are not built: other facts of them are deleted.
        """
        days = {day for day, _ in self.changed}.union(self.lost)
        first = min((day for day in days if day >= self.first_date), default=None)
        return [] if first is None else sorted(day for day in self.known_dates() if day.isoformat() >= first)

    def dates_to_read(self, dates: Sequence[date]) -> list[date]:
        """Return dates that are to be made, ascending, and before them those with facts that no state accounts for.

        Without the state before them nothing would be known of what was before. The date before the first one needs a
        state before it, too: without one, its rebalances would not be known.
        """
        earlier = {day for day in self.known_dates() if day < dates[0]}
        day_before = dates[0] - timedelta(days=1)
        is_enough = self.newest_before(day_before) or all(day >= day_before for day in earlier)
        newest = self.newest_before(dates[0]) if is_enough else None
        return sorted({*dates, *(day for day in earlier if newest is None or day > newest)})

    def newest_before(self, day: date) -> date | None:
        """Return the newest date before `day` that has a state."""
        return max((each for each in self.states if each < day), default=None)

    def without_last_build(self) -> FactState:
        """Return the state of which a build makes all dates again."""
        return replace(self, changed=tuple(self.facts), lost=(), states=(), has_last_build=False)

    def with_last_times(self, found: Mapping[Key, Mapping[tuple[str, int], int]]) -> FactState:
        """Return the state with the last times that a build has read, by table and origin, then by cluster and day."""
        times: dict[Key, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for (table, origin), of_table in found.items():
            for (cluster, day), at_us in of_table.items():
                times[str(date(1970, 1, 1) + timedelta(days=day)), table][cluster][origin] = at_us // 1_000
        facts = {key: {**one, "last_ms": times[key]} if key in times else one for key, one in self.facts.items()}
        return replace(self, facts=facts)

    def clusters_read(self, day: str) -> set[str]:
        """Return the clusters of which records of the date were read, as far as a build has seen it."""
        times = (_last_ms(self.facts.get((day, table.name))) for table in (OFFSET_COMMITS, GROUP_EVENTS))
        return {cluster for each in times for cluster, origins in each.items() if "topic" in origins}

    def reach(self) -> dict[str, Reach]:
        """Return by cluster the times of its last facts that a build has read."""
        found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        for (_, table), one in self.facts.items():
            for cluster, origins in _last_ms(one).items():
                for origin, at_ms in origins.items():
                    found[cluster][table, origin] = max(at_ms, found[cluster].get((table, origin), at_ms))
        return {cluster: Reach(times) for cluster, times in sorted(found.items())}


def read_fact_state(storage: Storage, rules: Rules, lookback_days: int) -> FactState:
    """Return the state of the facts, from the logs of the tables."""
    last_build, retention = storage.note(_NOTE), storage.note(RETENTION)
    if last_build.get("settings") != _settings(rules, lookback_days):
        last_build = {}
    files = {table.name: storage.files(table) for table in TIMES}
    grouped: dict[Key, list[DataFile]] = defaultdict(list)
    for table, found in files.items():
        for file in found:
            if file.batch != KEPT:
                grouped[file.date, table].append(file)
    facts, changed = dict[Key, Mapping[str, Any]](), list[Key]()
    for (day, table), found in sorted(grouped.items()):
        before, now = last_build.get("facts", {}).get(day, {}).get(table), _describe(found)
        facts[day, table] = {**now, "last_ms": _last_ms(before)} if _is_same(before, now) else now
        if not _is_same(before, now):
            changed.append((day, table))
    lost, states, lost_states = set[str](), set[date](), set[date]()
    for made in _MADE if last_build else ():
        there, first = {*storage.dates(made)}, retention.get("derived", {}).get(made.name, "")
        # Those that retention removed are not lost.
        gone = {day for day in last_build["made"].get(made.name, ()) if day >= first} - there
        lost |= gone
        if made in STATES:
            states |= {*map(date.fromisoformat, there)}
            lost_states |= {*map(date.fromisoformat, gone)}
    first_date = str(retention.get("first_date") or "")
    return FactState(
        rules, lookback_days, files, facts, changed, lost, states - lost_states, first_date, bool(last_build)
    )


def save_fact_state(storage: Storage, state: FactState, *, pending: Collection[date] = ()) -> None:
    """Save the state and the dates of the derived tables for the next build, to which `pending` dates are left."""
    facts: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for (day, table), one in state.facts.items():
        if date.fromisoformat(day) not in pending:
            facts[day][table] = one
    made = {table.name: storage.dates(table) for table in _MADE}
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


def _last_ms(facts: Mapping[str, Any] | None) -> LastTimes:
    found: LastTimes = (facts or {}).get("last_ms", {})
    return found


def _describe(files: Sequence[DataFile]) -> dict[str, Any]:
    """Return the number of rows, and the names of files that no compaction has joined; other files, other names."""
    names = sorted(file.path.rpartition("/")[2] for file in files if file.batch not in _JOINED)
    return {"rows": sum(file.rows for file in files), "files": names}


def _is_same(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> bool:
    """Return whether the rows are the same, though compaction, which changes no row, may have joined their files.

    So all files that it has not joined have to be as they were, and all together need as many rows as before.
    """
    return before is not None and before["rows"] == now["rows"] and {*now["files"]} <= {*before["files"]}
