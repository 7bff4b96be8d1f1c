"""The storage: all tables of one data directory, for the packages that read and change them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow.parquet as pq
from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import marker, metadata_files, spark_tables
from kafka_groups.pipeline.store.data_files import SAMPLE, DataFile, NewFile
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.parquet_writer import FileWriter
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error, open_root
from kafka_groups.pipeline.tables import SAMPLE_RUNS, STORED_TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Versions of transactions by application, as Delta's log has them (`txn`). None: the application has none.
Versions: TypeAlias = Mapping[str, int | None]
_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


def open_storage(location: str, *, create: bool = False) -> Storage:
    """Return the tables in a directory, which is given as a path or a URI.

    With `create`, the directory may be new or empty; `Storage.make` creates it before anything is written. Raises
    StorageError if the directory does not belong to this pipeline, or has another schema version. Without `create`, it
    also raises it if there are no tables; with `create`, if the directory cannot be written.
    """
    directory = open_root(location)
    if marker.is_new(directory) and not create:
        message = f"there are no tables in {location}; create them with `kafka-groups pipeline ingest` or `sample`"
        raise StorageError(message)
    # For a directory that does not exist, making it shows whether it can be written.
    if create and directory.is_local and os.path.isdir(directory.root):
        with as_storage_error("write", location), tempfile.TemporaryFile(dir=directory.root, buffering=0) as file:
            file.write(b"x")
    return Storage(directory)


class Storage:
    """All tables of a directory, which may have rows of several clusters.

    A table consists of the files that its log names. New files are written first; a commit then makes all of them part
    of the table at once. Files that a killed process did not commit are deleted a day later. Dates are texts,
    YYYY-MM-DD. If a method raises StorageError, each table is in its old or in its new state.
    """

    def __init__(self, directory: RootDirectory) -> None:
        """Take a directory that `open_storage` has checked; it does not have to exist yet (`make`)."""
        self.directory = directory
        self.location = directory.location
        # The address is for tasks of Spark, which have another working directory.
        self.address = directory.address(directory.root)
        self._is_made = False

    def make(self) -> None:
        """Create the directory and its marker if they do not exist. Call this before anything is written."""
        if not self._is_made:
            marker.write_marker(self.directory)
        self._is_made = True

    def writer(self, batch: str) -> FileWriter:
        """Return a writer of files of a batch, which `append` or `replace` make part of their tables.

        Raises StorageError if the directory has no marker: `make` was not called, or somebody deleted it.
        """
        # The next command would refuse a directory that has files but no marker.
        if self.directory.info(self.directory.join(marker.MARKER)).type != FileType.File:
            message = (
                f"{self.location} does not exist any more, or its marker file was deleted; restore it, or give another "
                "directory with --data-dir"
            )
            raise StorageError(message)
        return FileWriter(self.directory, batch)

    def append(
        self,
        files: Sequence[NewFile],
        transactions: Mapping[str, int] = _EMPTY,
        *,
        expected_versions: Mapping[str, Versions] = _EMPTY,
        tables: Sequence[Table] = (),
    ) -> None:
        """Add files to their tables, with one commit for each table that gets a file.

        `tables` are committed first, in this order. With `transactions`, every commit records them, and `tables`
        without a new file are committed as well. `expected_versions` has, by table name, the versions that applications
        must have in its log: a commit on others raises StorageError, and earlier commits stay.
        """
        files_by_table: dict[str, list[NewFile]] = {table.name: [] for table in tables}
        for file in files:
            files_by_table.setdefault(file.table, []).append(file)
        for table_name, new_files in files_by_table.items():
            if new_files or transactions:
                log = self.log(STORED_TABLES[table_name])
                log.commit(
                    files_to_add=new_files,
                    transactions=transactions,
                    expected_versions=expected_versions.get(table_name, {}),
                )

    def versions_of(self, table: Table, applications: Sequence[str]) -> dict[str, int]:
        """Return the newest version of each of these applications; applications that the log lacks are absent."""
        versions = self.log(table).transactions()
        return {application: versions[application] for application in applications if application in versions}

    def replace(
        self,
        table: Table,
        dates: Collection[str],
        files: Sequence[NewFile],
        transactions: Mapping[str, int] = _EMPTY,
        expected_versions: Versions = _EMPTY,
    ) -> None:
        """Replace all rows of these dates in the table by new files, in one commit.

        Only those `files` are added that belong to this table and these dates. Dates without a new file have no rows
        afterwards. The commit records the transactions, and raises StorageError if the log has other versions than
        `expected_versions`, or if another program removed a file meanwhile. Files that another program adds to these
        dates meanwhile stay, unless a lock or `expected_versions` prevents it. If there is no file to remove or to add,
        there is no commit: transactions are not recorded, and `expected_versions` is not checked.
        """
        log = self.log(table)
        old_files = [file for file in log.files() if file.date in dates]
        new_files = [file for file in files if file.table == table.name and file.date in dates]
        if old_files or new_files:
            log.commit(
                files_to_add=new_files,
                files_to_remove=old_files,
                transactions=transactions,
                expected_versions=expected_versions,
            )

    def swap(
        self, table: Table, old_files: Sequence[DataFile], new_files: Sequence[NewFile], *, keeps_rows: bool
    ) -> bool:
        """Replace old files by new ones in one commit, and return whether this was done.

        If the table no longer has all of the old files, the new files are deleted, and False is returned. `keeps_rows`
        declares that old and new files have the same rows, so that readers of changes see no change. If another program
        removes an old file during the commit, StorageError is raised, and the new files stay until a vacuum deletes
        them.
        """
        log = self.log(table)
        if not {*old_files} <= {*log.files()}:
            self.discard(new_files)
            return False
        log.commit(files_to_add=new_files, files_to_remove=old_files, keeps_rows=keeps_rows)
        return True

    def discard(self, files: Sequence[NewFile]) -> None:
        """Delete new files that no commit has made part of a table. A file that cannot be deleted stays."""
        for file in files:
            self.directory.forget(file.path)

    def dates(self, table: Table) -> list[str]:
        """Return the dates for which the table has rows, in ascending order, ignoring unfinished samples."""
        return sorted({file.date for file in self.files(table)})

    def files(self, table: Table, dates: Collection[str] | None = None, *, unfinished: bool = False) -> list[DataFile]:
        """Return the files of the table's newest version, of all dates or of these dates, sorted by date and path.

        Files of samples that `sample_runs` does not name are skipped: these samples failed, or are not finished yet.
        With `unfinished`, only the files of such samples are returned.
        """
        files = [file for file in self.log(table).files() if dates is None or file.date in dates]
        unfinished_samples = self._find_unfinished({file.batch for file in files if file.batch.startswith(SAMPLE)})
        return [file for file in files if (file.batch in unfinished_samples) == unfinished]

    def _find_unfinished(self, sample_names: set[str]) -> set[str]:
        """Return which of these samples are not in `sample_runs`: they failed, or are not finished yet."""
        if not sample_names:
            return set()
        # A file with one sample has the sample's name in its own, so most commands need not open a file.
        run_files = sorted(self.log(SAMPLE_RUNS).files(), key=lambda file: not file.batch.startswith(SAMPLE))
        unfinished_samples = set(sample_names)
        for file in run_files:
            if not unfinished_samples:
                break
            unfinished_samples -= self.samples_in(file)
        return unfinished_samples

    def samples_in(self, file: DataFile) -> set[str]:
        """Return the names of the finished samples in a file of `sample_runs`, which compaction may have joined."""
        if file.batch.startswith(SAMPLE):
            return {file.batch}
        with as_storage_error("read the tables", file.path):
            rows = pq.ParquetFile(file.path, filesystem=self.directory.fs).read(["sample"])
            return set(rows["sample"].to_pylist())

    def log(self, table: Table) -> DeltaLog:
        """Return the log of a table, which also names the files of unfinished samples."""
        return DeltaLog(self.directory, table)

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return the rows of the newest version as a DataFrame: the documented columns, then `date`.

        Later commits do not change what the DataFrame reads; it fails if a file is deleted, a day after its removal.
        """
        return spark_tables.read_table(spark, self.directory, table, self.files(table))

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold the lock of this name in the block; raise StorageError if another process holds it.

        The error names that process. A lock ends with its process. Object stores have no locks: there, the second of
        two commits is refused.
        """
        return self.directory.lock(name)

    def read_metadata(self, name: str) -> dict[str, Any]:
        """Return the metadata of this name; empty if it was never saved. Raises StorageError if it cannot be parsed."""
        return metadata_files.read_metadata(self.directory, name)

    def save_metadata(self, name: str, content: Mapping[str, Any]) -> None:
        """Save metadata, which replaces that of this name at once: a reader sees the old or the new content."""
        metadata_files.write_metadata(self.directory, name, content)
