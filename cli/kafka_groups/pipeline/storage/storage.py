"""The tables in their directory: what the rest of the pipeline asks of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import publishing, spark_tables
from kafka_groups.pipeline.storage.checkpoints import Checkpoint, open_checkpoint
from kafka_groups.pipeline.storage.delta import DeltaFormat, check_delta
from kafka_groups.pipeline.storage.formats import DELTA, PARQUET, DataFile, TableFormat
from kafka_groups.pipeline.storage.joining import count_rows, pick
from kafka_groups.pipeline.storage.layout import BUILD, KEPT, BatchDirectory, checked_name, new_staging
from kafka_groups.pipeline.storage.locks import hold
from kafka_groups.pipeline.storage.marker import check_marker, is_new, write_marker
from kafka_groups.pipeline.storage.notes import read_note, save_note
from kafka_groups.pipeline.storage.parquet import ParquetFormat
from kafka_groups.pipeline.storage.places import Place, open_place
from kafka_groups.pipeline.storage.staging import StagedFile, StagedWriter
from kafka_groups.pipeline.tables import TABLES, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FACTS: Final = frozenset(table.name for table in TABLES.values() if not table.derived)


_FORMATS: Final[dict[str, Callable[[Place], TableFormat]]] = {PARQUET: ParquetFormat, DELTA: DeltaFormat}


def open_storage(
    into: str, *, create: bool = False, table_format: str | None = None, usual_format: str = PARQUET
) -> Storage:
    """The tables in a directory: a local path, or a URI that pyarrow.fs and Spark know.

    A directory that is made has tables of that format for good, of the usual one if none is named. StorageError if it
    is not there (unless it may be made), not ours, of a newer version or another format, or not to be written.
    """
    storage = check_storage(into, create=create, table_format=table_format, usual_format=usual_format)
    if create:
        storage.make()
    return storage


def check_storage(
    into: str, *, create: bool = True, table_format: str | None = None, usual_format: str = PARQUET
) -> Storage:
    """The same, for who first has something to ask elsewhere: a new directory is made by `Storage.make`."""
    place = open_place(into)

    def check_format(found: str) -> None:
        if found == DELTA:
            check_delta(place)

    found = check_marker(
        place, create=create, table_format=table_format, usual_format=usual_format, check_format=check_format
    )
    return Storage(place, _FORMATS[found](place), table_format=found)


class Storage:
    """All tables of a directory, which may hold several clusters. Methods raise StorageError and leave tables whole."""

    def __init__(self, place: Place, format_: TableFormat, *, table_format: str = PARQUET) -> None:
        self.place = place
        self.format = format_
        self.table_format = table_format
        self.into = place.into
        self._is_made = False

    def make(self) -> None:
        """Makes the directory if it is new, once; to be called before anything is written."""
        if not self._is_made:
            write_marker(self.place, self.table_format)
        self._is_made = True

    def stage(self) -> str:
        """A new, hidden directory for one attempt to write: a path, or a URI; `FileSystem.from_uri` takes both."""
        if is_new(self.place):  # somebody took it away: what is written into another one would be nobody's
            message = (
                f"{self.into} does not exist any more, or its marker file was deleted; restore it, or give another "
                "directory with --data-dir"
            )
            raise StorageError(message)
        return self.place.uri(new_staging(self.place))

    def publish(self, batch: str, files: Sequence[StagedFile]) -> None:
        """Afterwards the batch holds exactly these files, in all tables of facts, whatever it held before."""
        self._publish(batch, files, _FACTS)

    def append(self, table: Table, batch: str, rows: pa.Table) -> None:
        """Afterwards the batch holds exactly these rows in this table; what it holds in others stays."""
        stage = self.stage()
        try:
            writer = StagedWriter(stage)
            for part in rows.to_batches():
                writer.write(table, part)
            self._publish(batch, writer.close(), {table.name})
        finally:
            self.place.delete(self.place.inside(stage))

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Documented columns, then date and batch; no rows if there are none."""
        return self.format.read(spark, table)

    def replace_dates(self, table: Table, dates: Sequence[dt.date], rows: DataFrame) -> None:
        """Afterwards those dates of a derived table hold exactly these rows, and no rows if there are none.

        Each date changes in one step. ValueError if there are rows of other dates, or the table is one of facts.
        """
        if not table.derived:
            message = f"{table.name} holds facts, which are not replaced"
            raise ValueError(message)
        place, staging = self.place, new_staging(self.place)
        try:
            spark_tables.write_staged(rows, place, table, f"{staging}/written")
            found = spark_tables.staged_dates(place, f"{staging}/written")
            spark_tables.check_dates(table, found, dates)
            with self.changing():
                wanted = {day.isoformat(): found.get(day.isoformat(), []) for day in dates}
                self.format.replace(table.name, wanted, staging, batch=BUILD)
        finally:
            place.delete(staging)

    def replace_files(self, table: Table, dates: Sequence[dt.date], files: Sequence[StagedFile]) -> None:
        """Replace those dates of a derived table by their staged files; a date without one has no rows afterwards.

        Each date changes in one step.
        """
        staging = new_staging(self.place)
        wanted: dict[str, list[str]] = {day.isoformat(): [] for day in dates}
        for file in files:
            if file.table == table.name and file.date in wanted:
                wanted[file.date].append(self.place.inside(file.path))
        try:
            with self.changing():
                self.format.replace(table.name, wanted, staging, batch=BUILD)
        finally:
            self.place.delete(staging)

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
                if {file.path for file in self.format.files(table.name, [date])} != {file.path for file in files}:
                    return False
                if left is None:
                    self.format.remove(table.name, date, staging)
                else:
                    self.format.replace(table.name, {date: [left]}, staging, batch=KEPT)
            return True
        finally:
            self.place.delete(staging)

    def batches(self, table: Table) -> list[BatchDirectory]:
        """All that the table has, by date and batch."""
        found: dict[tuple[str, str], list[DataFile]] = {}
        for file in self.format.files(table.name):
            found.setdefault((file.date, file.batch), []).append(file)
        return [
            BatchDirectory(*key, len(files), sum(file.bytes for file in files)) for key, files in sorted(found.items())
        ]

    def files(self, table: Table) -> list[str]:
        """Paths of the Parquet files that are the table, for `place.fs`."""
        return [file.path for file in self.format.files(table.name)]

    def rows(self, table: Table, dates: Collection[dt.date] | None = None) -> int:
        """How many rows the table has of those dates, or of all, as footers and logs tell. Needs no Spark."""
        wanted = None if dates is None else {day.isoformat() for day in dates}
        return sum(self.rows_of(file) for file in self.format.files(table.name, wanted))

    def rows_of(self, file: DataFile) -> int:
        """How many rows a file has; StorageError if it is gone."""
        return count_rows(self.place, file.path) if file.rows is None else file.rows

    def checkpoint(self, cluster_id: str) -> Checkpoint:
        """The checkpoint of a cluster, made if there is none; SourceError if it belongs to another."""
        with self.changing():
            return open_checkpoint(self.place, cluster_id)

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
        checked_name(batch)
        with self.changing():
            publishing.refuse_joined(self.place, batch)
            self.format.publish(batch, files, tables)
