"""Tables as plain Parquet or CSV files, for programs that do not read Delta Lake."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv

from kafka_groups.errors import StorageError
from kafka_groups.files import open_new_file
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.store.root_directory import as_storage_error
from kafka_groups.pipeline.tables import Table
from kafka_groups.progress import Progress, ignore_progress


def write_plain_files(
    storage: Storage,
    output: Path,
    file_format: Literal["parquet", "csv"],
    tables: Collection[Table],
    progress: Progress = ignore_progress,
) -> Mapping[str, int]:
    """Write the newest version of each table that has rows, and return the number of rows by table name.

    - Parquet files are `<table>/date=<date>/part-0.parquet`.
    - CSV files are `<table>.csv`, with a header and `date` as the last column, sorted by date. Lists and structs are
      JSON, bytes are hexadecimal.

    Rows of unfinished samples are omitted. A file gets its name when it is complete. `progress` is called with the
    number of finished tables. Raises StorageError if `output` is neither new nor empty, or if a file cannot be read or
    written.
    """
    _make_empty_directory(output)
    row_counts = {}
    for finished_count, table in enumerate(tables):
        progress("exporting", finished_count, len(tables))
        files = storage.files(table)
        with as_storage_error("export", storage.location):
            if file_format == "parquet":
                _write_parquet_files(storage, output, table, files)
            elif files:
                _write_csv_file(storage, output, table, files)
        row_counts[table.name] = sum(file.rows for file in files)
    progress("exporting", len(tables), len(tables))
    return row_counts


def _make_empty_directory(output: Path) -> None:
    """Create the directory if it does not exist. Raise StorageError if it is not empty or in an object store."""
    if ":/" in str(output):
        message = f"plain files are written to a disk only; {output} is no directory of it"
        raise StorageError(message)
    with as_storage_error("write", str(output)):
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()):
            message = f"{output} is not empty; name a new directory"
            raise StorageError(message)


def _write_parquet_files(storage: Storage, output: Path, table: Table, files: Sequence[DataFile]) -> None:
    """Write one Parquet file for each date of the files, which are sorted by date; none without files."""
    schema = table.arrow()
    for date, files_of_date in groupby(files, attrgetter("date")):
        path = output / table.name / f"date={date}" / "part-0.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_new_file(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in _read_batches(storage, table, list(files_of_date)):
                writer.write_batch(batch)


def _write_csv_file(storage: Storage, output: Path, table: Table, files: Sequence[DataFile]) -> None:
    """Write one CSV file with the rows of all files (at least one) in their order."""
    empty_batch = pa.RecordBatch.from_pylist([], table.arrow())
    schema = _to_csv_columns(empty_batch, "").schema
    with open_new_file(output / f"{table.name}.csv") as csv_file, csv.CSVWriter(csv_file, schema) as writer:
        for file in files:
            for batch in _read_batches(storage, table, [file]):
                writer.write_batch(_to_csv_columns(batch, file.date))


def _read_batches(storage: Storage, table: Table, files: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files with the table's columns, without `date`; columns that a file lacks are null."""
    paths = [file.path for file in files]
    yield from ds.dataset(paths, table.arrow(), "parquet", storage.directory.fs).to_batches()


def _to_csv_columns(batch: pa.RecordBatch, date: str) -> pa.RecordBatch:
    """Return the rows with values that CSV can hold, and with the column `date`."""
    columns = [_to_csv_column(column) for column in batch.columns]
    dates = pa.array([date] * len(batch), pa.string())
    return pa.RecordBatch.from_arrays([*columns, dates], [*batch.schema.names, "date"])


def _to_csv_column(column: pa.Array) -> pa.Array:
    """Return bytes as hexadecimal strings, lists and structs as JSON, other columns as they are; null stays null."""
    is_binary = pa.types.is_binary(column.type)
    if not is_binary and not pa.types.is_nested(column.type):
        return column
    render_value = bytes.hex if is_binary else json.dumps
    return pa.array([None if value is None else render_value(value) for value in column.to_pylist()], pa.string())
