"""The tables in their directory: what the rest of the pipeline asks of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import publishing
from kafka_groups.pipeline.storage.data_file import DataFile
from kafka_groups.pipeline.storage.delta_tables import DeltaTables
from kafka_groups.pipeline.storage.joining import pick
from kafka_groups.pipeline.storage.layout import BUILD, KEPT, BatchDirectory, checked_name, new_staging
from kafka_groups.pipeline.storage.locks import hold
from kafka_groups.pipeline.storage.marker import check_marker, is_new, write_marker
from kafka_groups.pipeline.storage.notes import read_note, save_note
from kafka_groups.pipeline.storage.places import Place, open_place
from kafka_groups.pipeline.storage.staging import StagedFile, StagedWriter
from kafka_groups.pipeline.tables import TABLES, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FACTS: Final = frozenset(table.name for table in TABLES.values() if not table.derived)


def open_storage(into: str, *, create: bool = False) -> Storage:
    """Return the tables in a directory: a path, or a file URI. StorageError unless `check_storage` finds it sound.

    With `create` a directory that is not there, or is empty, is made one of tables.
    """
    storage = check_storage(into, create=create)
    if create:
        storage.make()
    return storage


def check_storage(into: str, *, create: bool = True) -> Storage:
    """Do the same, for who first has something to ask elsewhere: a new directory is made by `Storage.make`.

    StorageError if the directory is not there (unless it may be made), not ours, of a newer version or of an older
    layout, or not to be written.
    """
    place = open_place(into)
    check_marker(place, create=create)
    return Storage(place, DeltaTables(place))


class Storage:
    """All tables of a directory, which may hold several clusters. Methods raise StorageError and leave tables whole."""

    def __init__(self, place: Place, tables: DeltaTables) -> None:
        self.place = place
        self.tables = tables
        self.into = place.into
        self._is_made = False

    def make(self) -> None:
        """Makes the directory if it is new, once; to be called before anything is written."""
        if not self._is_made:
            write_marker(self.place)
        self._is_made = True

    def stage(self) -> str:
        """Make a new, hidden directory for one attempt to write, and return its path."""
        if is_new(self.place):  # somebody took it away: what is written into another one would be nobody's
            message = (
                f"{self.into} does not exist any more, or its marker file was deleted; restore it, or give another "
                "directory with --data-dir"
            )
            raise StorageError(message)
        return new_staging(self.place)

    def publish(self, batch: str, files: Sequence[StagedFile]) -> None:
        """Afterwards the batch holds exactly these files, in all tables of facts, whatever it held before."""
        self._publish(batch, files, _FACTS)

    def extend(
        self, batch: str, files: Sequence[StagedFile], transactions: Mapping[str, int], *, tables: Sequence[str]
    ) -> None:
        """Add a batch to these tables, with the transactions in a commit of each."""
        self.tables.extend(checked_name(batch), files, transactions, tables=tables)

    def append(self, table: Table, batch: str, rows: pa.Table) -> None:
        """Afterwards the batch holds exactly these rows in this table; what it holds in others stays."""
        stage = self.stage()
        try:
            writer = StagedWriter(stage)
            for part in rows.to_batches():
                writer.write(table, part)
            self._publish(batch, writer.close(), {table.name})
        finally:
            self.place.delete(stage)

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Documented columns, then date and batch; no rows if there are none."""
        return self.tables.read(spark, table)

    def replace_files(self, table: Table, dates: Sequence[dt.date], files: Sequence[StagedFile]) -> None:
        """Replace those dates of a derived table by their staged files; a date without one has no rows afterwards.

        All dates change in one step.
        """
        wanted: dict[str, list[str]] = {day.isoformat(): [] for day in dates}
        for file in files:
            if file.table == table.name and file.date in wanted:
                wanted[file.date].append(file.path)
        with self.changing():
            self.tables.replace(table.name, wanted, batch=BUILD)

    def thin_date(
        self, table: Table, date: str, files: Sequence[DataFile], mask: Callable[[pa.Table], Sequence[bool]]
    ) -> bool:
        """Of those files of a date only the rows are left that the mask keeps, in the batch KEPT; no rows, no date.

        False, and nothing done, if the date has other files by then.
        """
        staging = new_staging(self.place)
        try:
            left = pick(self.place, table, [file.path for file in files], mask, staging)
            with self.changing():
                if {file.path for file in self.tables.files(table.name, [date])} != {file.path for file in files}:
                    return False
                if left is None:
                    self.tables.remove(table.name, [date])
                else:
                    self.tables.replace(table.name, {date: [left]}, batch=KEPT)
            return True
        finally:
            self.place.delete(staging)

    def batches(self, table: Table) -> list[BatchDirectory]:
        """All that the table has, by date and batch."""
        found: dict[tuple[str, str], list[DataFile]] = {}
        for file in self.tables.files(table.name):
            found.setdefault((file.date, file.batch), []).append(file)
        return [
            BatchDirectory(*key, len(files), sum(file.bytes for file in files)) for key, files in sorted(found.items())
        ]

    def files(self, table: Table) -> list[str]:
        """Return the paths of the Parquet files that are the table."""
        return [file.path for file in self.tables.files(table.name)]

    def rows(self, table: Table, dates: Collection[dt.date] | None = None) -> int:
        """Return how many rows the table has of those dates, or of all, as its log says. Needs no Spark."""
        wanted = None if dates is None else {day.isoformat() for day in dates}
        return sum(file.rows for file in self.tables.files(table.name, wanted))

    def lock(self, name: str, *, wait_s: float = 0.0) -> AbstractContextManager[None]:
        """Nobody else holds this lock meanwhile; StorageError that says who does, after `wait_s` seconds."""
        return hold(self.place, checked_name(name), wait_s=wait_s)

    def changing(self) -> AbstractContextManager[None]:
        """The lock of those who change directories, held for moments."""
        return self.lock(publishing.CHANGING, wait_s=publishing.CHANGING_WAIT_S)

    def note(self, name: str) -> dict[str, Any]:
        """A small state that was saved; empty if none was. StorageError if it cannot be understood."""
        return read_note(self.place, name)

    def save_note(self, name: str, content: dict[str, Any]) -> None:
        """Saves a small state; a reader sees the old one or the new one, whole."""
        save_note(self.place, name, content)

    def clean_staging(self, older_than_s: float) -> None:
        """Deletes what attempts left that did nothing for so many seconds."""
        publishing.clean_staging(self.place, older_than_s)

    def _publish(self, batch: str, files: Sequence[StagedFile], tables: Collection[str]) -> None:
        with self.changing():
            self.tables.publish(checked_name(batch), files, tables)
