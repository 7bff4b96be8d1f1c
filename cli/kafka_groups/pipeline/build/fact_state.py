"""The state of the facts by date, and the dates that a build must derive again because facts changed.

A build saves metadata: the files of facts that it read, the dates of the tables that it wrote, and its settings. The
next build compares the directory with them. A date has changed if its facts differ from the metadata. All later dates
must then be derived again, too, because each begins with the state of the date before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, timedelta
from typing import Any, Final

from kafka_groups.pipeline.build.coverage import TIME_COLUMNS, Coverage
from kafka_groups.pipeline.build.packing import fingerprint_frames
from kafka_groups.pipeline.build.partition_state import STATE_FRAMES
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.store.data_files import COMPACTED, COMPACTED_SAMPLES, KEPT, SORTED_SAMPLES
from kafka_groups.pipeline.store.metadata_files import RETENTION
from kafka_groups.pipeline.tables import DERIVED_TABLES, GROUP_EVENTS, OFFSET_COMMITS, STATE_TABLES
from kafka_groups.verdicts import Limits

_METADATA_NAME: Final = "build"
# If the version differs from the last build's, all dates are built again. Its number counts changes in the meaning of
# stored columns. Its fingerprint changes with their names and types.
_STORED_FRAMES: Final = (*STATE_FRAMES, *(table.frame for table in (*DERIVED_TABLES, *STATE_TABLES)))
_VERSION: Final = f"18 {fingerprint_frames(_STORED_FRAMES)}"
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

    def is_same(self, earlier_facts: DateFacts) -> bool:
        """Return whether these are the same facts as `earlier_facts`, possibly compacted since.

        Compaction joins files: it changes their names, but not their rows. So the number of rows must be the same, and
        every file that compaction did not write must be in `earlier_facts`.
        """
        return self.rows == earlier_facts.rows and {*self.files} <= {*earlier_facts.files}


class FactState:
    """The facts of a directory, compared with the facts that the last build with the same settings has seen.

    - `files`: the files of facts; `dates`: the dates that have facts.
    - `facts`: the facts by date and table, without the last records that retention keeps of removed dates.
    - `changed_facts`: the dates and tables whose facts differ from the last build's, except where all facts were
      removed.
    - `dates_with_lost_rows`: the dates on which a table lacks the rows that the last build wrote.
    - `state_dates`: the dates whose state is in the tables of states.
    - `first_retained_date`: the first date (YYYY-MM-DD) that retention keeps; empty if it keeps all dates.
    """

    def __init__(self, storage: Storage, limits: Limits, lookback_days: int) -> None:
        """Compare a directory with the metadata of its last build.

        After a build with other settings or another version, all facts count as new. Raises StorageError.
        """
        self.limits = limits
        self.lookback_days = lookback_days
        self._settings = [_VERSION, *astuple(limits), lookback_days]
        metadata = storage.read_metadata(_METADATA_NAME)
        last_build = metadata if metadata.get("settings") == self._settings else {}
        retention = storage.read_metadata(RETENTION)
        self.has_last_build = bool(last_build)
        self.first_retained_date = str(retention.get("first_date") or "")
        self.files = [file for table in TIME_COLUMNS for file in storage.files(table)]
        self.dates = {date.fromisoformat(file.date) for file in self.files}
        self.facts: dict[DateAndTable, DateFacts] = {}
        self.changed_facts: list[DateAndTable] = []
        self.dates_with_lost_rows: set[str] = set()
        self.state_dates: set[date] = set()
        self._compare_facts(last_build.get("facts", {}))
        if last_build:
            self._compare_tables(storage, last_build["made"], retention.get("derived", {}))

    def _compare_facts(self, facts_before: Mapping[str, Mapping[str, Any]]) -> None:
        """Fill `facts` and `changed_facts`.

        `facts_before` has the fields of DateFacts of the last build, by "<date> <table>"; if empty, all facts are new.
        """
        files_by_key: dict[DateAndTable, list[DataFile]] = defaultdict(list)
        for file in self.files:
            if file.batch != KEPT:
                files_by_key[file.date, file.table].append(file)
        for (day, table), files in sorted(files_by_key.items()):
            facts = DateFacts.of_files(files)
            fields_before = facts_before.get(f"{day} {table}")
            last_facts = None if fields_before is None else DateFacts(**fields_before)
            if last_facts is not None and facts.is_same(last_facts):
                facts.last_ms = last_facts.last_ms
            else:
                self.changed_facts.append((day, table))
            self.facts[day, table] = facts

    def _compare_tables(
        self, storage: Storage, dates_before: Mapping[str, Sequence[str]], first_dates: Mapping[str, str]
    ) -> None:
        """Fill `dates_with_lost_rows`, since the last build, and `state_dates`.

        `dates_before` has the dates with rows after the last build, and `first_dates` the first date that retention
        keeps, both by table.
        """
        dates_of_lost_states: set[str] = set()
        for table in _WRITTEN_TABLES:
            present_dates = {*storage.dates(table)}
            # Rows that retention removed are not lost.
            first_date = first_dates.get(table.name, "")
            lost_dates = {day for day in dates_before.get(table.name, ()) if day >= first_date} - present_dates
            self.dates_with_lost_rows |= lost_dates
            if table in STATE_TABLES:
                self.state_dates |= {date.fromisoformat(day) for day in present_dates}
                dates_of_lost_states |= lost_dates
        self.state_dates -= {date.fromisoformat(day) for day in dates_of_lost_states}

    @property
    def has_old_events(self) -> bool:
        """Whether events arrived that are older than the retention, for example with a new cluster.

        Members of such events may still be in their groups.
        """
        return any(table == GROUP_EVENTS.name and day < self.first_retained_date for day, table in self.changed_facts)

    def dates_to_build(self) -> list[date]:
        """Return the dates with facts, ascending, from the first one that changed or lost rows on.

        Dates before the retention are not built: some of their facts were removed.
        """
        changed_dates = {day for day, _ in self.changed_facts}.union(self.dates_with_lost_rows)
        first_date = min((day for day in changed_dates if day >= self.first_retained_date), default=None)
        if first_date is None:
            return []
        return sorted(day for day in self.dates if day.isoformat() >= first_date)

    def dates_to_read(self, dates: Sequence[date]) -> list[date]:
        """Return the dates whose facts a build reads, ascending: `dates`, and earlier ones that no state includes.

        `dates` are the dates to build, ascending and at least one. The caller also reads the events of the day before
        the first date again (`BuildPlan.days_before_ranges`), because a rebalance of that day may end on the first
        date. So the state before that day is needed, too.
        """
        earlier_dates = {day for day in self.dates if day < dates[0]}
        day_before = dates[0] - timedelta(days=1)
        needs_no_state = all(day >= day_before for day in earlier_dates)
        can_use_states = needs_no_state or self.newest_state_before(day_before) is not None
        newest_state_date = self.newest_state_before(dates[0]) if can_use_states else None
        dates_without_state = {day for day in earlier_dates if newest_state_date is None or day > newest_state_date}
        return sorted({*dates, *dates_without_state})

    def newest_state_before(self, day: date) -> date | None:
        """Return the newest date before `day` that has a state; None if there is none."""
        return max((state_date for state_date in self.state_dates if state_date < day), default=None)

    def forget_last_build(self) -> None:
        """Mark all dates as changed and all states as missing, in this object only, not in the saved metadata."""
        self.changed_facts = list(self.facts)
        self.dates_with_lost_rows = set()
        self.state_dates = set()
        self.has_last_build = False

    def set_last_times(self, last_us: Mapping[tuple[str, str, str, int], int]) -> None:
        """Store the times of the last facts (µs) by table, origin, cluster and day (days since 1970) for `save`."""
        for (table, origin, cluster, day_number), last_time_us in last_us.items():
            day = str(_EPOCH + timedelta(days=day_number))
            if (day, table) in self.facts:
                self.facts[day, table].last_ms.setdefault(cluster, {})[origin] = last_time_us // 1_000

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
            for cluster, last_ms_by_origin in facts.last_ms.items():
                for origin, last_time_ms in last_ms_by_origin.items():
                    last_ms[cluster][table, origin] = last_time_ms
        return {cluster: Coverage(last_ms_by_source) for cluster, last_ms_by_source in sorted(last_ms.items())}

    def save(self, storage: Storage, *, pending: Collection[date] = ()) -> None:
        """Save the metadata of this build. Call this after its tables were written. Raises StorageError.

        The metadata omit the facts of `pending` dates, so that they count as changed in the next build.
        """
        pending_dates = {str(day) for day in pending}
        facts_of_date = {
            f"{day} {table}": {
                "rows": facts_of_date.rows,
                "files": facts_of_date.files,
                "last_ms": facts_of_date.last_ms,
            }
            for (day, table), facts_of_date in self.facts.items()
            if day not in pending_dates
        }
        dates_by_table = {table.name: storage.dates(table) for table in _WRITTEN_TABLES}
        storage.save_metadata(
            _METADATA_NAME, {"settings": self._settings, "facts": facts_of_date, "made": dates_by_table}
        )


def forget_fact_state(storage: Storage) -> None:
    """Empty the metadata and remove all states. If this build is killed, the next one derives all dates again."""
    storage.save_metadata(_METADATA_NAME, {})
    for table in STATE_TABLES:
        storage.replace(table, storage.dates(table), [])


def read_last_limits(storage: Storage) -> Limits | None:
    """Return the limits of the last build of this version; None if there was none."""
    settings = storage.read_metadata(_METADATA_NAME).get("settings")
    if not settings:
        return None
    version, *limits, _lookback_days = settings
    return Limits(*limits) if version == _VERSION else None
