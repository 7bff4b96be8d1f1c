"""Parquet files of tables, written where they will stay: new rows by date, and rows of many small files, sorted.

A commit makes files a part of their table; without one they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.layout import DataFile, NewFile, new_path
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error, open_root
from kafka_groups.pipeline.tables import STORED_TABLES, Table

_DAY_US: Final = 86_400_000_000
# Broker clocks can be wrong, but a date outside of 1970 to 2099 would make a directory that nobody looks into.
_END_US: Final = int(np.datetime64("2100-01-01", "us").astype(int))
_MOST_OPEN: Final = 32  # files; each holds a row group in memory
_ROW_GROUP: Final = 262_144
# What is sorted in memory at once: about 600 MB of commits, and as much again for their order.
ROWS_AT_ONCE: Final = 2_000_000
TARGET_BYTES: Final = 128 * 1024 * 1024
_ROWS_A_GROUP: Final = 131_072
_ROWS_A_TIME: Final = 16
_NULL_IN_SAMPLES: Final = ("source_partition", "source_offset")


def new_writer(into: str, batch: str) -> FileWriter:
    """Return a writer of files for the tables in `into`; what a task of Spark on any machine needs."""
    return FileWriter(open_root(into), batch)


class FileWriter:
    """Writes rows of a batch into files of the tables, one for each table and date; with many dates, some get two.

    As a context manager, it deletes what was written if there is an exception: a commit has to come after it, because
    files of a commit that may have succeeded have to stay. Methods raise StorageError.
    """

    def __init__(self, place: RootDirectory, batch: str) -> None:
        self._place, self._batch = place, batch
        self._open: dict[tuple[str, str], _File] = {}
        self._written: list[NewFile] = []
        self._paths: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        for file in self._open.values():
            with suppress(OSError):
                file.end()
        for path in self._paths:
            self._place.forget(path)

    def write(self, table: Table, rows: pa.RecordBatch) -> None:
        """Add rows, which have exactly the table's columns."""
        with as_storage_error("write files", self._place.into):
            for date, part in _by_date(table, rows):
                key = (table.name, date)
                if key not in self._open:
                    if len(self._open) >= _MOST_OPEN:
                        self._close_first()
                    self._paths.append(new_path(self._place, *key, self._batch))
                    self._open[key] = _File(self._place, self._paths[-1], table)
                self._open[key].write(part)

    def close(self) -> list[NewFile]:
        """End all files, and return them."""
        with as_storage_error("write files", self._place.into):
            while self._open:
                self._close_first()
        return self._written

    def _close_first(self) -> None:
        key = next(iter(self._open))
        file = self._open.pop(key)
        file.flush()
        self._written.append(NewFile(*key, file.path, file.rows, file.end()))


class _File:
    """One Parquet file; rows wait until there are enough for a row group."""

    def __init__(self, place: RootDirectory, path: str, table: Table) -> None:
        self.path, self.rows = path, 0
        schema = table.arrow()
        texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "details"]
        self._sink = place.fs.open_output_stream(path)
        self._writer = pq.ParquetWriter(
            self._sink, schema, compression="zstd", compression_level=1, use_dictionary=texts
        )
        self._waiting: list[pa.RecordBatch] = []
        self._held = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._held += rows.num_rows
        if self._held >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=_ROW_GROUP)
        self.rows += self._held
        self._waiting, self._held = [], 0

    def end(self) -> int:
        """End the file with what was flushed; return its bytes."""
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        return int(size)


def _by_date(table: Table, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each date; where a time is impossible, the date is that of the record, else the first."""
    times = [rows[name].cast(pa.int64()) for name in (table.dated_by, "record_time") if name in rows.schema.names]
    possible = [pc.if_else(pc.and_(pc.greater_equal(at, 0), pc.less(at, _END_US)), at, None) for at in times]
    days = pc.divide(pc.coalesce(*possible, 0), _DAY_US).to_numpy(zero_copy_only=False)
    found = np.unique(days) if len(days) and days.min() < days.max() else days[:1]
    for day in found:
        yield str(np.datetime64(int(day), "D")), rows if len(found) == 1 else rows.filter(pa.array(days == day))


def is_small(file: DataFile) -> bool:
    """Return whether two of them make less than a large one."""
    return file.bytes * 2 <= TARGET_BYTES and file.rows * 2 <= ROWS_AT_ONCE


def pack(files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
    """Yield files that together make a large one; what finds no other to join is left out."""
    pile: list[DataFile] = []
    bytes_ = rows = 0
    for file in files:
        if bytes_ + file.bytes > TARGET_BYTES or rows + file.rows > ROWS_AT_ONCE:
            if len(pile) > 1:
                yield pile
            pile, bytes_, rows = [], 0, 0
        pile.append(file)
        bytes_, rows = bytes_ + file.bytes, rows + file.rows
    if len(pile) > 1:
        yield pile


def open_dataset(place: RootDirectory, files: Sequence[DataFile]) -> ds.Dataset:
    """Return the files, in their order, as one dataset with the columns of all. StorageError for a broken file."""
    with as_storage_error("read the tables", place.into):
        paths, parquet = [file.path for file in files], ds.ParquetFileFormat()
        # The factory of pyarrow 18 has no schema for files with different columns.
        schemas = [parquet.inspect(path, place.fs) for path in paths]
        factory = ds.FileSystemDatasetFactory(place.fs, paths, parquet)
        return factory.finish(pa.unify_schemas(schemas, promote_options="permissive"))


def sort_files(
    place: RootDirectory,
    files: Sequence[DataFile],
    batch: str,
    *,
    only: Sequence[int] | None = None,
    is_sorted: Callable[[int], None] = lambda _rows: None,
) -> list[NewFile]:
    """Write the rows of files of one date, all or `only` these, sorted by the table's identity, file by file.

    Samples of more rows than memory has place for are sorted one range of keys after the other: files of which each is
    sorted are read about once. Columns that this version does not know are kept; those that older files lack are null.
    `is_sorted` is called with the number of rows of each part.
    """
    table, date = STORED_TABLES[files[0].table], files[0].date
    expected = sum(file.rows for file in files) if only is None else len(only)
    new: list[NewFile] = []
    dataset = open_dataset(place, files)
    with ExitStack() as if_it_fails:
        with as_storage_error("join files", place.into):
            for part in _ranges(dataset, table) if only is None and expected > ROWS_AT_ONCE else [None]:
                found = dataset.to_table(filter=part) if only is None else dataset.take(pa.array(sorted(only)))
                rows, path = in_order(table, found), new_path(place, table.name, date, batch)
                if_it_fails.callback(place.forget, path)
                _write_sorted(place, path, rows)
                new.append(NewFile(table.name, date, path, rows.num_rows, place.info(path).size))
                is_sorted(rows.num_rows)
        written = sum(file.rows for file in new)
        if written != expected:
            message = (
                f"joining {expected} rows in {place.into} gave {written}, so nothing was replaced; please report a bug"
            )
            raise StorageError(message)
        if_it_fails.pop_all()
    return new


def in_order(table: Table, rows: pa.Table) -> pa.Table:
    """Return the rows, with all columns of the table, sorted by its identity."""
    rows = pa.concat_tables([table.arrow().empty_table(), rows], promote_options="permissive")
    return rows.sort_by([(name, "ascending") for name in table.identity])


def _write_sorted(place: RootDirectory, path: str, rows: pa.Table) -> None:
    """Write sorted rows: numbers as differences, which are small where a partition's rows follow each other."""
    repeated = {each.name for each in rows.schema if _is_repeated(rows, each)}
    numbers = {each.name for each in rows.schema if pa.types.is_integer(each.type) or pa.types.is_timestamp(each.type)}
    pq.write_table(
        rows,
        path,
        filesystem=place.fs,
        compression="zstd",
        row_group_size=_ROWS_A_GROUP,
        use_dictionary=sorted(repeated),
        column_encoding=dict.fromkeys(numbers - repeated, "DELTA_BINARY_PACKED"),
    )


def _is_repeated(rows: pa.Table, field: pa.Field) -> bool:
    """Return whether few values take the place of many: texts, and the times of samples, which many rows share."""
    if not pa.types.is_timestamp(field.type):
        return bool(pa.types.is_string(field.type))
    return bool(pc.count_distinct(rows[field.name]).as_py() * _ROWS_A_TIME < rows.num_rows)


def _ranges(dataset: ds.Dataset, table: Table) -> Iterator[ds.Expression]:
    """Yield conditions that divide the keys, in their order, into parts of about as many rows as memory has place for.

    A key is what a sampled row is of. A row group is read only for the parts that its least and largest key touch.
    """
    key = [name for name in table.identity if name not in {table.dated_by, *_NULL_IN_SAMPLES}]
    batches = dataset.to_batches(columns=key)
    counts = [pa.Table.from_batches([each]).group_by(key).aggregate([([], "count_all")]) for each in batches]
    rows = pa.concat_tables(counts).group_by(key).aggregate([("count_all", "sum")])
    rows = rows.sort_by([(name, "ascending") for name in key])
    parts = (np.cumsum(rows["count_all_sum"].to_numpy()) - 1) // ROWS_AT_ONCE
    first = rows.select(key).take(np.unique(parts, return_index=True)[1]).to_pylist()
    for least, end in zip(first, [*first[1:], None], strict=True):
        is_in = ~_is_before(key, least)
        yield is_in if end is None else is_in & _is_before(key, end)


def _is_before(key: Sequence[str], value: dict[str, Any]) -> ds.Expression:
    """Return the condition that a row's key comes before this one, column by column."""
    rest = ds.scalar(value=False)
    for name in reversed(key):
        rest = (ds.field(name) < value[name]) | ((ds.field(name) == value[name]) & rest)
    return rest
