"""Tables as plain Parquet or CSV files, for programs that do not read Delta Lake."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

Kind = Literal["parquet", "csv"]
Progress = Callable[[str, int, int], None]
_HIDDEN: Final = ".part"


def write_plain_files(
    storage: Storage,
    output: Path,
    kind: Kind,
    tables: Iterable[Table],
    progress: Progress = lambda _what, _done, _total: None,
) -> Mapping[str, int]:
    """Write each table that has rows, and return the number of rows of each table.

    Parquet files are `<table>/date=<date>/part-0.parquet`, with the rows of one date. A CSV file is `<table>.csv`, by
    date, with a header and `date` as the last column; lists and structs are JSON, bytes are hexadecimal. Rows of
    unfinished samples are left out. A file gets its name when it is complete. Raises StorageError, also unless `output`
    is empty or new.
    """
    with as_storage_error("write", str(output)):
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()):
            message = f"{output} is not empty; name a new directory"
            raise StorageError(message)
    chosen = list(tables)
    rows = {}
    for done, table in enumerate(chosen):
        progress("exporting", done, len(chosen))
        files = storage.files(table)
        with as_storage_error("export", storage.into):
            if files and kind == "csv":
                _write_csv(storage, table, files, output / f"{table.name}.csv")
            elif files:
                _write_parquet(storage, table, files, output / table.name)
        rows[table.name] = sum(file.rows for file in files)
    progress("exporting", len(chosen), len(chosen))
    return rows


def _write_parquet(storage: Storage, table: Table, files: list[DataFile], directory: Path) -> None:
    schema = table.arrow()
    for date in sorted({file.date for file in files}):
        target = directory / f"date={date}" / "part-0.parquet"
        target.parent.mkdir(parents=True)
        part = target.with_name(f"{target.name}{_HIDDEN}")
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            for rows in _read(storage, schema, [file for file in files if file.date == date]):
                writer.write_batch(rows)
        part.rename(target)


def _write_csv(storage: Storage, table: Table, files: list[DataFile], target: Path) -> None:
    schema = pa.schema([*((name, _csv_type(table.arrow().field(name).type)) for name in table.arrow().names)])
    schema = schema.append(pa.field("date", pa.string()))
    part = target.with_name(f"{target.name}{_HIDDEN}")
    with csv.CSVWriter(part, schema) as writer:
        for file in sorted(files, key=lambda file: (file.date, file.path)):
            for rows in _read(storage, table.arrow(), [file]):
                columns = [*(_as_csv(column) for column in rows.columns), pa.array([file.date] * len(rows))]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    part.rename(target)


def _read(storage: Storage, schema: Any, files: list[DataFile]) -> Iterator[Any]:
    """Yield record batches with the columns of the schema; older files may lack some, which are null then."""
    for file in files:
        with storage.place.fs.open_input_file(file.path) as opened:
            for rows in pq.ParquetFile(opened).iter_batches():
                columns = [
                    rows[field.name].cast(field.type)
                    if field.name in rows.schema.names
                    else pa.nulls(len(rows), field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _csv_type(kind: Any) -> Any:
    return pa.string() if pa.types.is_nested(kind) or pa.types.is_binary(kind) else kind


def _as_csv(column: Any) -> Any:
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else json.dumps(value) for value in column.to_pylist()], pa.string())
    if pa.types.is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    return column
