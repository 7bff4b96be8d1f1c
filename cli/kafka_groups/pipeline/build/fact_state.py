"""Which facts there are, date by date, and which dates a build has to make because of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from datetime import date, timedelta
from typing import Any, Final

from kafka_groups.pipeline.build.coverage import TIMES, Coverage
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.store.data_files import COMPACTED, COMPACTED_SAMPLES, KEPT, SORTED_SAMPLES
from kafka_groups.pipeline.store.notes import RETENTION
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, STATE_TABLES, STORED_TABLES
from kafka_groups.verdicts import Rules

_NOTE: Final = "build"
_VERSION: Final = 14  # all dates are made again if this number or the settings differ from those of the last build
_JOINED: Final = {COMPACTED, COMPACTED_SAMPLES, SORTED_SAMPLES}
_MADE: Final = tuple(table for table in STORED_TABLES.values() if table.derived)  # what a build writes
Key = tuple[str, str]  # date and table


class FactState:
    """The facts of a directory, and what the last build with these settings left: nothing, if it had other ones.

    `facts` has by date and table what describes those that retention did not thin, with the last times of each cluster
    and origin in milliseconds, `changed` those of them that the last build did not see. `first_date` is the first date
    that retention keeps, `lost` are dates that a derived table has no more, `states` those that have a state.
    """

    def __init__(self, storage: Storage, rules: Rules, lookback_days: int) -> None:
        self.rules, self.lookback_days = rules, lookback_days
        last_build, retention = storage.note(_NOTE), storage.note(RETENTION)
        self._settings = [_VERSION, *astuple(rules), lookback_days]
        if last_build.get("settings") != self._settings:
            last_build = {}
        self.has_last_build = bool(last_build)
        self.first_date = str(retention.get("first_date") or "")
        self.files = [file for table in TIMES for file in storage.files(table)]
        self.dates = {date.fromisoformat(file.date) for file in self.files}
        grouped: dict[Key, list[DataFile]] = defaultdict(list)
        for file in self.files:
            if file.batch != KEPT:
                grouped[file.date, file.table].append(file)
        self.facts, self.changed = dict[Key, dict[str, Any]](), list[Key]()
        for (day, table), found in sorted(grouped.items()):
            # Other files have other names. Those that compaction joined have the rows of the files before: all others
            # have to be as they were, and all together need as many rows.
            rows = sum(file.rows for file in found)
            names = sorted(file.path.rpartition("/")[2] for file in found if file.batch not in _JOINED)
            before = last_build.get("facts", {}).get(f"{day} {table}")
            is_same = before is not None and before["rows"] == rows and {*names} <= {*before["files"]}
            self.facts[day, table] = {"rows": rows, "files": names, "last_ms": before["last_ms"] if is_same else {}}
            self.changed += [] if is_same else [(day, table)]
        self.lost, self.states, lost_states = set[str](), set[date](), set[str]()
        for made in _MADE if last_build else ():
            there, first = {*storage.dates(made)}, retention.get("derived", {}).get(made.name, "")
            # Those that retention removed are not lost.
            gone = {day for day in last_build["made"].get(made.name, ()) if day >= first} - there
            self.lost |= gone
            if made in STATE_TABLES:
                self.states |= {*map(date.fromisoformat, there)}
                lost_states |= gone
        self.states -= {*map(date.fromisoformat, lost_states)}

    @property
    def has_old_events(self) -> bool:
        """Whether older events came than retention keeps, as of a new cluster: their members may still be there."""
        return any(table == GROUP_EVENTS.name and day < self.first_date for day, table in self.changed)

    def dates_to_build(self) -> list[date]:
        """Return the dates with facts from the first one that changed, or that a derived table lost, on.

        Dates that retention does not keep are not built: other facts of them are deleted.
        """
        days = {day for day, _ in self.changed}.union(self.lost)
        first = min((day for day in days if day >= self.first_date), default=None)
        return [] if first is None else sorted(day for day in self.dates if day.isoformat() >= first)

    def dates_to_read(self, dates: Sequence[date]) -> list[date]:
        """Return dates that are to be made, ascending, and before them those with facts that no state accounts for.

        The date before the first one needs a state before it, too: without one, its rebalances would not be known.
        """
        earlier = {day for day in self.dates if day < dates[0]}
        day_before = dates[0] - timedelta(days=1)
        is_enough = self.newest_before(day_before) or all(day >= day_before for day in earlier)
        newest = self.newest_before(dates[0]) if is_enough else None
        return sorted({*dates, *(day for day in earlier if newest is None or day > newest)})

    def newest_before(self, day: date) -> date | None:
        """Return the newest date before `day` that has a state."""
        return max((each for each in self.states if each < day), default=None)

    def forget_last_build(self) -> None:
        """Let all dates be made again."""
        self.changed, self.lost, self.states, self.has_last_build = list(self.facts), set(), set(), False

    def set_last_times(self, found: Mapping[tuple[str, str, str, int], int]) -> None:
        """Take over the last times that a build has read, by table, origin, cluster and days since 1970."""
        for (table, origin, cluster, number), at_us in found.items():
            day = str(date(1970, 1, 1) + timedelta(days=number))
            if (day, table) in self.facts:
                self.facts[day, table]["last_ms"].setdefault(cluster, {})[origin] = at_us // 1_000

    def clusters_read(self, day: str) -> set[str]:
        """Return the clusters of which records of the date were read, as far as a build has seen it."""
        known = [self.facts.get((day, table.name), {"last_ms": {}}) for table in (OFFSET_COMMITS, GROUP_EVENTS)]
        return {cluster for one in known for cluster, origins in one["last_ms"].items() if "topic" in origins}

    def coverages(self) -> dict[str, Coverage]:
        """Return by cluster the times of its last facts that a build has read."""
        found: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        for (_, table), one in self.facts.items():  # by date, which all of its times are of
            for cluster, origins in one["last_ms"].items():
                found[cluster] |= {(table, origin): at_ms for origin, at_ms in origins.items()}
        return {cluster: Coverage(times) for cluster, times in sorted(found.items())}

    def save(self, storage: Storage, *, pending: Collection[date] = ()) -> None:
        """Save the state and the dates of the tables for the next build, to which `pending` dates are left."""
        left = {*map(str, pending)}
        facts = {f"{day} {table}": one for (day, table), one in self.facts.items() if day not in left}
        made = {table.name: storage.dates(table) for table in _MADE}
        storage.save_note(_NOTE, {"settings": self._settings, "facts": facts, "made": made})


def forget_fact_state(storage: Storage) -> None:
    """Let the next build be one of all dates, until a state is saved. If this one is killed, it replaces its rows."""
    storage.save_note(_NOTE, {})
    for table in STATE_TABLES:
        storage.replace(table, storage.dates(table), [])


def read_last_rules(storage: Storage) -> Rules | None:
    """Return the rules of the last build; None if there was none."""
    version, *rules, _ = storage.note(_NOTE).get("settings") or [None, None]
    return Rules(*rules) if version == _VERSION else None
