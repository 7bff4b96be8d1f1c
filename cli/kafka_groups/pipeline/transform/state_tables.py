"""The tables of states: plain Parquet files beside the documented tables, for the next build alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.records.columns import TIME
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.layout import BUILD, new_staging
from kafka_groups.pipeline.storage.parquet import ParquetFormat
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import Column, Table
from kafka_groups.pipeline.tables.shape import CLUSTER, GROUP, PARTITION, TEXT, TOPIC

_DAY: Final = Column("day", TIME, "the day at whose end it holds")
PARTITION_STATE: Final = Table(
    "partition_state",
    "What a build hands from day to day: of topic partitions (group null), and of groups on them.",
    ("cluster_id", "topic", "partition", "group", "day"),
    "day",
    (
        CLUSTER,
        TOPIC,
        PARTITION,
        GROUP,
        _DAY,
        Column("state", pa.binary(), "numbers, as transform/state.py and packed_numbers.py have them"),
    ),
    derived=True,
)
GROUP_STATE: Final = Table(
    "group_state",
    "What a build hands from day to day: of groups.",
    ("cluster_id", "group", "day"),
    "day",
    (CLUSTER, GROUP, _DAY, Column("state", TEXT, "members, epochs and subscriptions, as JSON")),
    derived=True,
)
STATES: Final = (PARTITION_STATE, GROUP_STATE)


class StateTables:
    """The states of a data directory."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._format = ParquetFormat(storage.place)

    def dates(self, table: Table) -> list[str]:
        """Return the dates that have a state, ascending."""
        return self._format.dates(table.name)

    def newest_before(self, day: date, *, lost: Collection[str] = ()) -> date | None:
        """Return the newest date before `day` that has a state in any of the tables, except those of `lost`."""
        dates = {each for table in STATES for each in self.dates(table)} - {*lost}
        return max((found for each in dates if (found := date.fromisoformat(each)) < day), default=None)

    def files(self, table: Table, day: date | None) -> list[str]:
        """Return the paths of the state at the end of a date; none for None."""
        if day is None:
            return []
        return [self._storage.place.uri(file.path) for file in self._format.files(table.name, [day.isoformat()])]

    def clear(self) -> None:
        """Remove all states."""
        with self._changing() as staging:
            for table in STATES:
                for day in self.dates(table):
                    self._format.remove(table.name, day, staging)

    def replace(self, dates: Sequence[date], files: Sequence[StagedFile], *, oldest: date) -> None:
        """Replace the states of those dates, and remove those before the newest one that is not after `oldest`.

        A date without rows in a table has its state there, too: nothing.
        """
        limit = oldest.isoformat()
        with self._changing() as staging:
            there = {day.isoformat() for day in dates}.union(*map(self.dates, STATES))
            first = max((day for day in there if day <= limit), default=limit)
            for table in STATES:
                wanted: dict[str, list[str]] = {day.isoformat(): [] for day in dates}
                for file in files:
                    if file.table == table.name:
                        wanted[file.date].append(self._storage.place.inside(file.path))
                self._format.replace(table.name, wanted, staging, batch=BUILD)
                for day in self.dates(table):
                    if day < first:
                        self._format.remove(table.name, day, staging)

    @contextmanager
    def _changing(self) -> Iterator[str]:
        """Yield a staging directory, which is deleted afterwards."""
        place, staging = self._storage.place, new_staging(self._storage.place)
        try:
            with self._storage.changing():
                yield staging
        finally:
            place.delete(staging)
