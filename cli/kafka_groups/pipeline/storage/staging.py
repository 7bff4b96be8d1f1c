"""Files of tables, written where the records are read. They become rows of a table only when they are published."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.records.columns import GAP, GROUP_EVENT, OFFSET_COMMIT, UNKNOWN
from kafka_groups.pipeline.storage.failing import next_step
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS, Table

_DAY_US: Final = 86_400_000_000
# Broker clocks can be wrong, but a date outside of these years would only make directories that nobody looks into.
_FIRST_DAY: Final = (dt.date(1970, 1, 1) - dt.date(1970, 1, 1)).days
_LAST_DAY: Final = (dt.date(2100, 1, 1) - dt.date(1970, 1, 1)).days - 1
_MOST_OPEN: Final = 32  # files; each holds a row group in memory
_ROW_GROUP: Final = 262_144


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file with rows of one table and one date (YYYY-MM-DD), not yet part of the table."""

    table: str
    date: str
    path: str
    rows: int


class StagedWriter:
    """Writes rows into files of a staging directory, one for each table and date.

    If there are more dates than files may be open, those written to first are closed, and may get a second file.
    StorageError for what the file system refuses.
    """

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._files, self._root = _opened(stage)
        self._open: dict[tuple[str, str], _File] = {}
        self._written: list[StagedFile] = []
        self._paths: list[str] = []

    def write(self, table: Table, rows: pa.RecordBatch) -> None:
        """Add rows, which have exactly the table's columns."""
        for date, part in _by_date(table, rows):
            try:
                self._file(table, date).write(part)
            except OSError as error:
                raise self._refused(error) from error

    def close(self) -> list[StagedFile]:
        """End all files, and tell which there are."""
        try:
            while self._open:
                self._close(next(iter(self._open)))
        except OSError as error:
            raise self._refused(error) from error
        return self._written

    def abort(self) -> None:
        """Remove what was written; what cannot be removed stays, and is in no table."""
        for file in self._open.values():
            file.give_up()
        self._open = {}
        for path in self._paths:
            try:
                self._files.delete_file(path)
            except OSError:
                continue

    def _file(self, table: Table, date: str) -> _File:
        key = (table.name, date)
        if key not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._close(next(iter(self._open)))
            name = f"{table.name}-{date}-{uuid.uuid4().hex}.parquet"
            path = f"{self._root}/{name}"
            self._paths.append(path)
            self._open[key] = _File(self._files, path, table)
        return self._open[key]

    def _close(self, key: tuple[str, str]) -> None:
        file = self._open.pop(key)
        self._written.append(StagedFile(*key, file.path, file.close()))

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write files in {self._stage}: {next_step(error)}")


class _File:
    """One Parquet file; rows wait until there are enough for a row group."""

    def __init__(self, files: fs.FileSystem, path: str, table: Table) -> None:
        self.path = path
        schema = table.arrow()
        self._sink = files.open_output_stream(path)
        texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "details"]
        self._writer = pq.ParquetWriter(
            self._sink, schema, compression="zstd", compression_level=1, use_dictionary=texts, write_statistics=True
        )
        self._waiting: list[pa.RecordBatch] = []
        self._held = 0
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._held += rows.num_rows
        self._rows += rows.num_rows
        if self._held >= _ROW_GROUP:
            self._flush()

    def close(self) -> int:
        self._flush()
        self._writer.close()
        self._sink.close()
        return self._rows

    def give_up(self) -> None:
        self._waiting = []
        try:
            self._writer.close()
            self._sink.close()
        except OSError:
            return

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting), row_group_size=_ROW_GROUP)
        self._waiting, self._held = [], 0


def split_records(batch: pa.RecordBatch) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Rows of columns.RECORD as rows of the tables that they belong to; tables without a row are left out."""
    kinds = batch["kind"]
    for kind, (table, inner) in _HOMES.items():
        wanted = pc.equal(kinds, kind)
        if not wanted.true_count:
            continue
        rows = batch if wanted.true_count == batch.num_rows else batch.filter(wanted)
        yield table, _shaped(table, rows, inner)


_HOMES: Final = {
    OFFSET_COMMIT: (OFFSET_COMMITS, None),
    GROUP_EVENT: (GROUP_EVENTS, "event"),
    UNKNOWN: (UNKNOWN_RECORDS, "raw"),
    GAP: (INGEST_GAPS, "gap"),
}


def _shaped(table: Table, rows: pa.RecordBatch, inner: str | None) -> pa.RecordBatch:
    """The columns of a table, from the rows' own and from those inside of one."""
    known = dict(zip(rows.schema.names, rows.columns, strict=True))
    if inner:
        known |= dict(zip((field.name for field in rows[inner].type), rows[inner].flatten(), strict=True))
    known["origin"] = pa.repeat(pa.scalar("topic"), rows.num_rows)
    known["found_at"] = rows["record_time"]
    known["commit_time"] = pc.coalesce(rows["commit_time"], rows["record_time"])
    schema = table.arrow()
    columns = [known.get(field.name, pa.nulls(rows.num_rows, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _by_date(table: Table, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    days = _days(table, rows)
    if not len(days):
        return
    if days.min() == days.max():
        yield _date(days[0]), rows
        return
    for day in np.unique(days):
        yield _date(day), rows.filter(pa.array(days == day))


def _days(table: Table, rows: pa.RecordBatch) -> Any:
    """The days since 1970 that rows belong to; where a time is none that can be, that of the record, else the first."""
    days = _whole_days(rows[table.dated_by])
    if "record_time" in rows.schema.names:
        days = np.where(_is_sane(days), days, _whole_days(rows["record_time"]))
    return np.where(_is_sane(days), days, _FIRST_DAY)


def _whole_days(times: Any) -> Any:
    return pc.fill_null(times.cast(pa.int64()), -1).to_numpy(zero_copy_only=False) // _DAY_US


def _is_sane(days: Any) -> Any:
    return (days >= _FIRST_DAY) & (days <= _LAST_DAY)


def _date(day: Any) -> str:
    return (dt.date(1970, 1, 1) + dt.timedelta(days=int(day))).isoformat()


def _opened(stage: str) -> tuple[fs.FileSystem, str]:
    try:
        files = fs.LocalFileSystem()
        files.create_dir(stage, recursive=True)
    except (OSError, ValueError) as error:
        msg = f"cannot write files in {stage}: {next_step(error)}"
        raise StorageError(msg) from error
    return files, stage.rstrip("/")
