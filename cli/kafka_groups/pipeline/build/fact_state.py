"""The state of the facts by date, and the dates that a build must derive again because facts changed.

A build saves a note: the files of facts that it has seen, the dates of the tables that it wrote, and its settings. The
next build compares the directory with this note. A date has changed if its facts differ from the note. All later dates
must then be derived again, too, because each begins with the state of the date before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from kafka_groups.pipeline.build.coverage import TIMES, Coverage
from kafka_groups.pipeline.build.packing import fingerprint_frames
from kafka_groups.pipeline.build.partition_state import STATE_FRAMES
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.store.data_files import COMPACTED, COMPACTED_SAMPLES, KEPT, SORTED_SAMPLES
from kafka_groups.pipeline.store.notes import RETENTION
from kafka_groups.pipeline.tables import DERIVED_TABLES, GROUP_EVENTS, OFFSET_COMMITS, STATE_TABLES
from kafka_groups.verdicts import Limits

_NOTE: Final = "build"
# If the version differs from the last build's, all dates are built again. Its number counts changes in the meaning of
# stored columns. Its fingerprint changes with their names and types.
_STORED_FRAMES: Final = (*STATE_FRAMES, *(table.frame for table in (*DERIVED_TABLES, *STATE_TABLES)))
_VERSION: Final = f"17 {fingerprint_frames(_STORED_FRAMES)}"
_COMPACTED_BATCHES: Final = {COMPACTED, COMPACTED_SAMPLES, SORTED_SAMPLES}
_WRITTEN_TABLES: Final = (*DERIVED_TABLES, *STATE_TABLES)
_EPOCH: Final = date(1970, 1, 1)
# Facts are grouped by date (YYYY-MM-DD) and name of their table.
DateAndTable = tuple[str, str]


@dataclass(slots=True)
class DateFacts:
    """The facts of a table on a date.

    `rows` is their number. `files` are the names of their files, without those that a compaction wrote. `last_ms` has
    the time of the last fact that a build has read, by cluster and origin (ms since 1970).
    """

    rows: int
    files: list[str]
    last_ms: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of_files(cls, files: Collection[DataFile]) -> DateFacts:
        """Return the facts in some files, without reading the files."""
        names = [file.path.rpartition("/")[2] for file in files if file.batch not in _COMPACTED_BATCHES]
        return cls(rows=sum(file.rows for file in files), files=sorted(names))

    def is_same(self, before: DateFacts) -> bool:
        """Return whether these are the same facts as `before`, possibly compacted since.

        Compaction joins files: it changes their names, but not their rows. So the number of rows must be the same, and
        every file that compaction did not write must be in `before`.
        """
        return self.rows == before.rows and {*self.files} <= {*before.files}


class FactState:
    """The facts of a directory, compared with the facts that the last build with the same settings has seen.

    - `files`: the files of facts; `dates`: the dates that have facts.
    - `facts`: the facts by date and table, without the last records that retention keeps of removed dates.
    - `changed`: the dates and tables whose facts differ from the last build's, except where all facts were removed.
    - `lost`: the dates on which a table lacks the rows that the last build wrote.
    - `states`: the dates whose state is in the tables of states.
    - `first_date`: the first date (YYYY-MM-DD) that retention keeps; empty if it keeps all dates.
    """

    def __init__(self, storage: Storage, limits: Limits, lookback_days: int) -> None:
        """Compare a directory with the note of its last build.

        After a build with other settings or another version, all facts count as new. Raises StorageError.
        """
        self.limits = limits
        self.lookback_days = lookback_days
        self._settings = [_VERSION, *astuple(limits), lookback_days]
        note = storage.note(_NOTE)
        last_build = note if note.get("settings") == self._settings else {}
        retention = storage.note(RETENTION)
        self.has_last_build = bool(last_build)
        self.first_date = str(retention.get("first_date") or "")
        self.files = [file for table in TIMES for file in storage.files(table)]
        self.dates = {date.fromisoformat(file.date) for file in self.files}
        self.facts: dict[DateAndTable, DateFacts] = {}
        self.changed: list[DateAndTable] = []
        self.lost: set[str] = set()
        self.states: set[date] = set()
        self._compare_facts(last_build.get("facts", {}))
        if last_build:
            self._compare_tables(storage, last_build["made"], retention.get("derived", {}))

    def _compare_facts(self, facts_before: Mapping[str, Mapping[str, Any]]) -> None:
        """Fill `facts` and `changed`.

        `facts_before` has the fields of DateFacts of the last build, by "<date> <table>"; if empty, all facts are new.
        """
        grouped: dict[DateAndTable, list[DataFile]] = defaultdict(list)
        for file in self.files:
            if file.batch != KEPT:
                grouped[file.date, file.table].append(file)
        for (day, table), files in sorted(grouped.items()):
            facts = DateFacts.of_files(files)
            note = facts_before.get(f"{day} {table}")
            before = None if note is None else DateFacts(**note)
            if before is not None and facts.is_same(before):
                facts.last_ms = before.last_ms
            else:
                self.changed.append((day, table))
            self.facts[day, table] = facts

    def _compare_tables(
        self, storage: Storage, dates_before: Mapping[str, Sequence[str]], first_dates: Mapping[str, str]
    ) -> None:
        """Fill `lost` and `states`: dates whose rows or states were lost since the last build, and dates with a state.

        `dates_before` has the dates with rows after the last build, and `first_dates` the first date that retention
        keeps, both by table.
        """
        lost_states: set[str] = set()
        for table in _WRITTEN_TABLES:
            present = {*storage.dates(table)}
            # Rows that retention removed are not lost.
            first = first_dates.get(table.name, "")
            lost = {day for day in dates_before.get(table.name, ()) if day >= first} - present
            self.lost |= lost
            if table in STATE_TABLES:
                self.states |= {date.fromisoformat(day) for day in present}
                lost_states |= lost
        self.states -= {date.fromisoformat(day) for day in lost_states}

    @property
    def has_old_events(self) -> bool:
        """Whether events arrived that are older than the retention, for example with a new cluster.

        Members of such events may still be in their groups.
        """
        return any(table == GROUP_EVENTS.name and day < self.first_date for day, table in self.changed)

    def dates_to_build(self) -> list[date]:
        """Return the dates with facts, ascending, from the first one that changed or lost rows on.

        Dates before the retention are not built: some of their facts were removed.
        """
        days = {day for day, _ in self.changed}.union(self.lost)
        first = min((day for day in days if day >= self.first_date), default=None)
        if first is None:
            return []
        return sorted(day for day in self.dates if day.isoformat() >= first)

    def dates_to_read(self, dates: Sequence[date]) -> list[date]:
        """Return the dates whose facts a build reads, ascending: `dates`, and earlier ones that no state includes.

        `dates` are the dates to build, ascending and at least one. The caller also reads the events of the day before
        the first date again (`BuildPlan.days_before_ranges`), because a rebalance of that day may end on the first
        date. So the state before that day is needed, too.
        """
        earlier = {day for day in self.dates if day < dates[0]}
        day_before = dates[0] - timedelta(days=1)
        needs_no_state = all(day >= day_before for day in earlier)
        can_use_states = needs_no_state or self.newest_before(day_before) is not None
        newest_state = self.newest_before(dates[0]) if can_use_states else None
        without_state = {day for day in earlier if newest_state is None or day > newest_state}
        return sorted({*dates, *without_state})

    def newest_before(self, day: date) -> date | None:
        """Return the newest date before `day` that has a state; None if there is none."""
        return max((state for state in self.states if state < day), default=None)

    def forget_last_build(self) -> None:
        """Mark all dates as changed and all states as missing, in this object only: the note stays unchanged."""
        self.changed = list(self.facts)
        self.lost = set()
        self.states = set()
        self.has_last_build = False

    def set_last_times(self, last_us: Mapping[tuple[str, str, str, int], int]) -> None:
        """Store the times of the last facts (µs) by table, origin, cluster and day (days since 1970) for `save`."""
        for (table, origin, cluster, day_number), at_us in last_us.items():
            day = str(_EPOCH + timedelta(days=day_number))
            if (day, table) in self.facts:
                self.facts[day, table].last_ms.setdefault(cluster, {})[origin] = at_us // 1_000

    def clusters_read(self, day: str) -> set[str]:
        """Return the clusters whose records of a date (YYYY-MM-DD) builds have read; samples do not count."""
        clusters: set[str] = set()
        for table in (OFFSET_COMMITS, GROUP_EVENTS):
            facts = self.facts.get((day, table.name))
            if facts is not None:
                clusters |= {cluster for cluster, last_ms in facts.last_ms.items() if "topic" in last_ms}
        return clusters

    def coverages(self) -> dict[str, Coverage]:
        """Return by cluster the times of the newest facts that builds have read.

        Clusters without such facts are absent.
        """
        last_ms: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        # Keys are in the order of their dates, so that later times replace earlier ones.
        for (_, table), facts in self.facts.items():
            for cluster, last_of_origin in facts.last_ms.items():
                for origin, at_ms in last_of_origin.items():
                    last_ms[cluster][table, origin] = at_ms
        return {cluster: Coverage(times) for cluster, times in sorted(last_ms.items())}

    def save(self, storage: Storage, *, pending: Collection[date] = ()) -> None:
        """Save the note of this build. Call this after its tables were written. Raises StorageError.

        The note omits the facts of `pending` dates, so that they count as changed in the next build.
        """
        pending_dates = {str(day) for day in pending}
        facts = {
            f"{day} {table}": {"rows": facts.rows, "files": facts.files, "last_ms": facts.last_ms}
            for (day, table), facts in self.facts.items()
            if day not in pending_dates
        }
        dates = {table.name: storage.dates(table) for table in _WRITTEN_TABLES}
        storage.save_note(_NOTE, {"settings": self._settings, "facts": facts, "made": dates})


def forget_fact_state(storage: Storage) -> None:
    """Empty the note and remove all states. If this build is killed, the next one derives all dates again."""
    storage.save_note(_NOTE, {})
    for table in STATE_TABLES:
        storage.replace(table, storage.dates(table), [])


def read_last_limits(storage: Storage) -> Limits | None:
    """Return the limits of the last build of this version; None if there was none."""
    settings = storage.note(_NOTE).get("settings")
    if not settings:
        return None
    version, *limits, _lookback_days = settings
    return Limits(*limits) if version == _VERSION else None
