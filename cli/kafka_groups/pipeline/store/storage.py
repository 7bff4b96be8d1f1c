"""The tables in their directory: what the rest of the pipeline calls."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import layout
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.layout import SAMPLE, DataFile, NewFile
from kafka_groups.pipeline.store.parquet_files import FileWriter
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error, open_root
from kafka_groups.pipeline.store.sql import Identifier, Sql, SqlValue, render_sql
from kafka_groups.pipeline.tables import SAMPLE_RUNS, STORED_TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Versions = Mapping[str, int | None]  # by application
Row = dict[str, Any]
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


def open_storage(into: str, *, create: bool = False) -> Storage:
    """Return the tables in a directory: a path, or a URI. A new one, if it may be, is made later, by `Storage.make`.

    StorageError if it is not there (unless it may be made), not ours, of another layout, or not to be written.
    """
    place = open_root(into)
    if layout.is_new(place) and not create:
        message = f"there are no tables in {into}; create them with `kafka-groups pipeline ingest` or `sample`"
        raise StorageError(message)
    # What is not there yet is made, and the attempt shows it.
    if create and place.is_local and os.path.isdir(place.root):
        with as_storage_error("write", into), tempfile.TemporaryFile(dir=place.root, buffering=0) as file:
            file.write(b"x")
    return Storage(place)


class Storage:
    """All tables of a directory, which may hold several clusters. Dates are YYYY-MM-DD.

    Files become part of a table, at once, by a commit; those that a killed process did not commit go a day later.
    Methods raise StorageError and leave tables whole.
    """

    def __init__(self, place: RootDirectory) -> None:
        self.place, self.into = place, place.into
        # What tasks are given, whose working directory is another one.
        self.address = place.address(place.root)
        self._is_made = False

    def make(self) -> None:
        """Make the directory if it is new, once; to be called before anything is written."""
        if not self._is_made:
            layout.write_marker(self.place)
        self._is_made = True

    def writer(self, batch: str) -> FileWriter:
        """Return a writer of files, which become rows of their tables by `append` or `replace`."""
        # What is written into a directory without it would be nobody's.
        if self.place.info(self.place.join(layout.MARKER)).type != FileType.File:
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
        expected: Mapping[str, Versions] = _NONE,
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
                self.log(STORED_TABLES[table]).commit(
                    add=new, transactions=transactions, expected=expected.get(table, {})
                )

    def versions_of(self, table: Table, applications: Sequence[str]) -> dict[str, int]:
        """Return the versions of those of the applications that have committed transactions of the table."""
        found = self.log(table).transactions()
        return {each: found[each] for each in applications if each in found}

    def replace(
        self,
        table: Table,
        dates: Collection[str],
        files: Sequence[NewFile],
        transactions: Mapping[str, int] = _NONE,
        expected: Versions = _NONE,
    ) -> None:
        """Put the files of this table and these dates in place of all that the dates hold, in one commit."""
        log = self.log(table)
        old = [file for file in log.files() if file.date in dates]
        new = [file for file in files if file.table == table.name and file.date in dates]
        if old or new:
            log.commit(add=new, remove=old, transactions=transactions, expected=expected)

    def swap(self, table: Table, old: Sequence[DataFile], new: Sequence[NewFile], *, same_rows: bool) -> bool:
        """Put new files in place of these, in one commit; return False, and delete them, if one of these is gone."""
        log = self.log(table)
        is_there = {*old} <= {*log.files()}
        if is_there:
            log.commit(add=new, remove=old, same_rows=same_rows)
        else:
            self.discard(new)
        return is_there

    def discard(self, files: Sequence[NewFile]) -> None:
        """Delete new files that no commit has made part of a table."""
        for file in files:
            self.place.forget(file.path)

    def dates(self, table: Table) -> list[str]:
        """Return the dates that the table has rows of."""
        return sorted({file.date for file in self.files(table)})

    def files(self, table: Table, dates: Collection[str] | None = None, *, unfinished: bool = False) -> list[DataFile]:
        """Return the files of the newest version, by date: without those of unfinished samples, or only these."""
        found = [file for file in self.log(table).files() if dates is None or file.date in dates]
        lost = {file.batch for file in found if file.batch.startswith(SAMPLE)}
        runs = self.log(SAMPLE_RUNS).files() if lost else []
        for file in sorted(runs, key=lambda file: not file.batch.startswith(SAMPLE)):
            if lost:
                lost -= self.samples_in(file)
        return [file for file in found if (file.batch in lost) == unfinished]

    def samples_in(self, file: DataFile) -> set[str]:
        """Return the finished samples that a file of `sample_runs` names: one, or those that compaction joined."""
        if file.batch.startswith(SAMPLE):
            return {file.batch}
        with as_storage_error("read the tables", file.path):
            return set(pq.ParquetFile(file.path, filesystem=self.place.fs).read(["sample"])["sample"].to_pylist())

    def log(self, table: Table) -> DeltaLog:
        """Return the log of a table, with the rows of unfinished samples."""
        return DeltaLog(self.place, table)

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return the documented columns, then date, of the newest version; later commits do not disturb it.

        Spark reads files of this machine as plain Parquet, without a jar, and those of an object store with the library
        and the credentials of the tables. A deleted file is an error of the query, because rows would be missing.
        """
        files = self.files(table)
        if not files:
            return spark.createDataFrame([], table.ddl())
        if self.place.is_local:
            reader = spark.read.schema(table.ddl()).options(ignoreMissingFiles="false", ignoreCorruptFiles="false")
            reader = reader.option("basePath", f"file://{self.place.join(table.name)}")
            return reader.parquet(*(f"file://{file.path}" for file in files))
        addresses = [(self.place.address(file.path),) for file in files]
        listed = spark.createDataFrame(addresses, "path STRING").repartition(len(files))
        return listed.mapInArrow(partial(_read_files, table), table.ddl())

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Hold this lock meanwhile; StorageError that says who else does. Object stores have none: commits decide."""
        return self.place.lock(name)

    def note(self, name: str) -> dict[str, Any]:
        """Return a small state that was saved; empty if none was. StorageError if it cannot be parsed."""
        path = self._note_path(name)
        text = self.place.read_small(path)
        try:
            return dict(json.loads(text)) if text is not None else {}
        except (ValueError, TypeError) as error:
            message = f"{path} cannot be parsed; delete it, and run the command again"
            raise StorageError(message) from error

    def save_note(self, name: str, content: dict[str, Any]) -> None:
        """Save a small state; a reader sees the old one or the new one, whole."""
        self.place.write_small(self._note_path(name), json.dumps(content) + "\n")

    def _note_path(self, name: str) -> str:
        return self.place.join(".notes", f"{name}.json")


def _read_files(table: Table, pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of files whose addresses Spark hands to a task; the date stands in the path."""
    import pyarrow.dataset as ds

    schema = table.arrow().append(pa.field("date", pa.date32()))
    for path in (path for piece in pieces for path in piece["path"].to_pylist()):
        file = open_root(path)
        with as_storage_error("read the tables", path):
            # Directories above the table may have names like columns, too.
            base = file.root.rpartition("/date=")[0]
            rows = ds.dataset(file.root, schema, "parquet", file.fs, partitioning="hive", partition_base_dir=base)
            yield from rows.to_batches()


class Queries:
    """Queries on the versions of the tables that were the newest when each table was first used."""

    def __init__(self, storage: Storage) -> None:
        from deltalake import QueryBuilder

        self._storage, self._builder = storage, QueryBuilder()
        self._source = cache(self._register)

    def select(self, table: Table, template: str, /, **values: SqlValue) -> list[Row]:
        """Return the rows that a query of DataFusion selects from the table: a dict by column name for each.

        The template is rendered as by `render_sql`, with `{rows}` for the rows of the table. Times in these are of the
        type `timestamp[us, UTC]`, and `date` is the partition. A result with times imports pandas, which takes 0.2 s:
        cast them to BIGINT. A table without a version gives no row, not even a count. Raises StorageError.
        """
        source = self._source(table)
        if source is None:
            return []
        sql = render_sql(template, rows=source, **values)
        with self._storage.log(table).as_storage_error():
            return list(pa.RecordBatchReader.from_stream(self._builder.execute(sql)).read_all().to_pylist())

    def _register(self, table: Table) -> Sql | None:
        log = self._storage.log(table)
        if log.opened is None:
            return None
        # Only tables of facts have rows of samples.
        unfinished = () if table.derived else self._storage.files(table, unfinished=True)
        with log.as_storage_error():
            self._builder.register(table.name, log.opened)
            conditions = [_rows_of_file(self._storage, table, file.path) for file in unfinished]
        if not conditions:
            return render_sql("{table}", table=Identifier(table.name))
        return render_sql(
            "(SELECT * FROM {table} WHERE NOT ({any_file}))",
            table=Identifier(table.name),
            any_file=Sql(" OR ".join(conditions)),
        )


def _rows_of_file(storage: Storage, table: Table, path: str) -> Sql:
    """Return the condition of the rows in a file of a sample, which has one cluster and one time."""
    rows = pq.ParquetFile(path, filesystem=storage.place.fs).read(["cluster_id", table.dated_by])
    first, last = pc.min_max(rows[table.dated_by].cast(pa.timestamp("us", "UTC")).cast(pa.int64())).values()
    return render_sql(
        "(origin = 'sample' AND cluster_id IN ({clusters}) AND CAST({time} AS BIGINT) BETWEEN {first} AND {last})",
        clusters=rows["cluster_id"].unique().to_pylist(),
        time=Identifier(table.dated_by),
        first=first.as_py(),
        last=last.as_py(),
    )
