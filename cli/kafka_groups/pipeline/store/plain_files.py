"""Tables as plain Parquet or CSV files, for programs that do not read Delta Lake."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
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
    kind: Literal["parquet", "csv"],
    tables: Collection[Table],
    progress: Progress = ignore_progress,
) -> Mapping[str, int]:
    """Write each table that has rows, and return the number of rows of each table.

    Parquet files are `<table>/date=<date>/part-0.parquet`. A CSV file is `<table>.csv`, by date, with a header and
    `date` as the last column; lists and structs are JSON, bytes are hexadecimal. Rows of unfinished samples are left
    out. A file gets its name when it is complete. Raises StorageError, also unless `output` is empty or new.
    """
    if ":/" in str(output):
        message = f"plain files are written to a disk only; {output} is no directory of it"
        raise StorageError(message)
    with as_storage_error("write", str(output)):
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()):
            message = f"{output} is not empty; name a new directory"
            raise StorageError(message)
    counts = {}
    for done, table in enumerate(tables):
        progress("exporting", done, len(tables))
        files = storage.files(table)
        with as_storage_error("export", storage.into):
            if kind == "parquet":
                for date, part in groupby(files, lambda file: file.date):
                    target = output / table.name / f"date={date}" / "part-0.parquet"
                    _write(target, table.arrow(), _read(storage, table, part))
            elif files:
                empty = pa.RecordBatch.from_pylist([], table.arrow())
                parts = (_as_csv(rows, file.date) for file in files for rows in _read(storage, table, [file]))
                _write(output / f"{table.name}.csv", _as_csv(empty, "").schema, parts)
        counts[table.name] = sum(file.rows for file in files)
    progress("exporting", len(tables), len(tables))
    return counts


def _read(storage: Storage, table: Table, files: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns of the table; older files may lack some, which are null then."""
    yield from ds.dataset([file.path for file in files], table.arrow(), "parquet", storage.place.fs).to_batches()


def _write(target: Path, schema: pa.Schema, parts: Iterable[pa.RecordBatch]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    is_csv = target.suffix == ".csv"
    with (
        open_new_file(target) as file,
        csv.CSVWriter(file, schema) if is_csv else pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for rows in parts:
            writer.write_batch(rows)


def _as_csv(rows: pa.RecordBatch, date: str) -> pa.RecordBatch:
    columns = [*map(_text, rows.columns), pa.array([date] * len(rows), pa.string())]
    return pa.RecordBatch.from_arrays(columns, [*rows.schema.names, "date"])


def _text(column: pa.Array) -> pa.Array:
    is_binary = pa.types.is_binary(column.type)
    if not is_binary and not pa.types.is_nested(column.type):
        return column
    as_text = bytes.hex if is_binary else json.dumps
    return pa.array([None if value is None else as_text(value) for value in column.to_pylist()], pa.string())
