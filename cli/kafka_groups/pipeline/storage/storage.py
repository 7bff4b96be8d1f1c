"""The tables in their directory: what the rest of the pipeline calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import SAMPLE_RUNS, STORED, Table
from kafka_groups.pipeline.storage.compaction import pick
from kafka_groups.pipeline.storage.delta_log import DeltaLog
from kafka_groups.pipeline.storage.file_writer import FileWriter
from kafka_groups.pipeline.storage.frames import read_frame
from kafka_groups.pipeline.storage.layout import SAMPLE, DataFile, NewFile, checked_name
from kafka_groups.pipeline.storage.locks import hold
from kafka_groups.pipeline.storage.marker import check_marker, is_new, write_marker
from kafka_groups.pipeline.storage.notes import read_note, save_note
from kafka_groups.pipeline.storage.root_directory import RootDirectory, open_root
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

Versions = Mapping[str, int | None]  # by application
_NONE: Final[Mapping[str, int]] = MappingProxyType({})
_NOTHING_EXPECTED: Final[Mapping[str, Versions]] = MappingProxyType({})


def open_storage(into: str, *, create: bool = False) -> Storage:
    """Return the tables in a directory: a path, or a URI. StorageError unless `check_storage` finds it sound.

    With `create` a directory that is not there, or is empty, is made one of tables.
    """
    storage = check_storage(into, create=create)
    if create:
        storage.make()
    return storage


def check_storage(into: str, *, create: bool = True) -> Storage:
    """Do the same, for a caller with requests elsewhere first: a new directory is made by `Storage.make`.

    StorageError if the directory is not there (unless it may be made), not ours, of a newer version or of an older
    layout, or not to be written.
    """
    place = open_root(into)
    check_marker(place, create=create)
    return Storage(place)


class Storage:
    """All tables of a directory, which may hold several clusters. Dates are YYYY-MM-DD.

    Files are written where they will stay, and become part of a table, at once, by a commit. What a killed process
    wrote and did not commit is in no table, and goes a day later. Methods raise StorageError and leave tables whole.
    """

    def __init__(self, place: RootDirectory) -> None:
        self.place = place
        self.into = place.into
        # What tasks are given, whose working directory is another one.
        self.address = place.address(place.root)
        self._is_made = False

    def make(self) -> None:
        """Make the directory if it is new, once; to be called before anything is written."""
        if not self._is_made:
            write_marker(self.place)
        self._is_made = True

    def writer(self, batch: str) -> FileWriter:
        """Return a writer of files, which become rows of their tables by `append` or `replace`."""
        if is_new(self.place):  # somebody took it away: what is written into another one would be nobody's
            message = (
                f"{self.into} does not exist any more, or its marker file was deleted; restore it, or give another "
                "directory with --data-dir"
            )
            raise StorageError(message)
        return FileWriter(self.place, batch)

    def append(
        self,
        files: Sequence[NewFile],
        transactions: Mapping[str, int] = _NONE,
        *,
        expected: Mapping[str, Versions] = _NOTHING_EXPECTED,
        tables: Sequence[Table] = (),
    ) -> None:
        """Add files to their tables, with a commit for each, first for `tables` in this order.

        Each of `tables` gets the transactions, with or without files. A commit is refused if its table has other
        versions than `expected` of it.
        """
        given: dict[str, list[NewFile]] = {table.name: [] for table in tables}
        for file in files:
            given.setdefault(file.table, []).append(file)
        for table, new in given.items():
            if new or transactions:
                self._log(STORED[table]).commit(add=new, transactions=transactions, expected=expected.get(table, {}))

    def versions_of(self, table: Table, applications: Sequence[str]) -> dict[str, int]:
        """Return the versions of the applications that have committed transactions of the table."""
        return self._log(table).versions_of(applications)

    def replace(
        self,
        table: Table,
        dates: Collection[str],
        files: Sequence[NewFile],
        transactions: Mapping[str, int] = _NONE,
        expected: Versions = _NONE,
    ) -> bool:
        """Put those of the files that are of this table and of these dates in place of all that the dates hold.

        All dates change in one commit, as `append` makes it; one without a file has no rows afterwards. Returns whether
        there was anything to replace, or to put there.
        """
        log = self._log(table)
        old = [file for file in log.files if file.date in dates]
        new = [file for file in files if file.table == table.name and file.date in dates]
        if old or new:
            log.commit(add=new, remove=old, transactions=transactions, expected=expected)
        return bool(old or new)

    def swap(self, table: Table, old_paths: Collection[str], new: Sequence[NewFile]) -> bool:
        """Put new files in place of those of these paths, in one commit, which says that no row changes.

        Returns False, and does nothing, if one of them is deleted already.
        """
        log = self._log(table)
        old = [file for file in log.files if file.path in old_paths]
        if len(old) < len(old_paths):
            self.discard(new)
            return False
        log.commit(add=new, remove=old, same_rows=True)
        return True

    def keep_rows(
        self, table: Table, date: str, files: Sequence[DataFile], mask: Callable[[pa.Table], Sequence[bool]]
    ) -> None:
        """Keep of those files of a date only the rows that the mask keeps, in the batch KEPT."""
        left = pick(self.place, table, date, [file.path for file in files], mask)
        self._log(table).commit(add=[] if left is None else [left], remove=files)

    def remove(self, table: Table, dates: Collection[str]) -> None:
        """Remove those dates in one commit; the files follow a day later."""
        log = self._log(table)
        if old := [file for file in log.files if file.date in dates]:
            log.commit(remove=old)

    def remove_lost_samples(self, before: str) -> None:
        """Remove the rows of samples that were never finished, of batches whose names are less than `before`.

        Those that are newer than the newest finished one stay: the table of samples may come from a backup.
        """
        finished = {sample for file in self._log(SAMPLE_RUNS).files for sample in self._samples_in(file)}
        before = min(before, max(finished, default=""))
        for table in STORED.values():
            if table == SAMPLE_RUNS:
                continue
            if old := [file for file in self.lost_files(table) if file.batch < before]:
                self._log(table).commit(remove=old)

    def discard(self, files: Sequence[NewFile]) -> None:
        """Delete new files that no commit has made part of a table."""
        for file in files:
            self.place.forget(file.path)

    def vacuum(self) -> None:
        """Delete what left the tables a day ago or was never committed."""
        for table in STORED.values():
            self._log(table).vacuum()

    def dates(self, table: Table) -> list[str]:
        """Return the dates that the table has rows of."""
        return sorted({file.date for file in self.files(table)})

    def files(self, table: Table, dates: Collection[str] | None = None) -> list[DataFile]:
        """Return the files of the newest version, by date; those of a sample that was not finished are left out."""
        found = [file for file in self._log(table).files if dates is None or file.date in dates]
        return found if table == SAMPLE_RUNS else self._whole(found)

    def rows(self, table: Table, dates: Collection[str] | None = None) -> int:
        """Return how many rows the table has of those dates, or of all, as its log says. Needs no Spark."""
        return sum(file.rows for file in self.files(table, dates))

    def lost_files(self, table: Table) -> list[DataFile]:
        """Return the files of samples that were not finished: their rows do not count."""
        found = self._log(table).files
        whole = {file.path for file in self._whole(found)}
        return [file for file in found if table != SAMPLE_RUNS and file.path not in whole]

    def open_table(self, table: Table) -> DeltaTable | None:
        """Return the newest version of a table, with the rows of unfinished samples; None if it has no version."""
        return self._log(table).opened

    def as_storage_error(self, table: Table) -> AbstractContextManager[None]:
        """Turn errors of reading the table inside into StorageError."""
        return self._log(table).as_storage_error("read")

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return the documented columns, then date, of the newest version; later commits do not disturb it."""
        return read_frame(spark, self.place, table, self.files(table))

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold this lock meanwhile; StorageError that says who else does. Object stores have none: commits decide."""
        return hold(self.place, checked_name(name))

    def note(self, name: str) -> dict[str, Any]:
        """Return a small state that was saved; empty if none was. StorageError if it cannot be parsed."""
        return read_note(self.place, name)

    def save_note(self, name: str, content: dict[str, Any]) -> None:
        """Save a small state; a reader sees the old one or the new one, whole."""
        save_note(self.place, name, content)

    def _log(self, table: Table) -> DeltaLog:
        return DeltaLog(self.place, table)

    def _whole(self, files: list[DataFile]) -> list[DataFile]:
        """Return the files without those of samples that have no row in the table of samples."""
        samples = {file.batch for file in files if file.batch.startswith(SAMPLE)}
        if not samples:
            return files
        runs = self._log(SAMPLE_RUNS).files
        lost = samples - {file.batch for file in runs}
        for file in runs:
            if lost:
                lost -= self._samples_in(file)
        return [file for file in files if file.batch not in lost]

    def _samples_in(self, file: DataFile) -> set[str]:
        if file.batch.startswith(SAMPLE):
            return {file.batch}
        # Rows of several samples, which compaction joined.
        with as_storage_error("read the tables", file.path):
            rows = pq.ParquetFile(file.path, filesystem=self.place.fs).read(["sample"])
            return set(rows["sample"].to_pylist())
