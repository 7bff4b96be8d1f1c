"""Files of tables, written where they will stay: a commit makes them part of their table, without one they go."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.layout import NewFile, checked_name, new_file_name
from kafka_groups.pipeline.storage.root_directory import RootDirectory, open_root
from kafka_groups.pipeline.storage.storage_errors import next_step

_DAY_US: Final = 86_400_000_000
# Broker clocks can be wrong, but a date outside of these years would only make directories that nobody looks into.
_FIRST_DAY: Final = (dt.date(1970, 1, 1) - dt.date(1970, 1, 1)).days
_LAST_DAY: Final = (dt.date(2100, 1, 1) - dt.date(1970, 1, 1)).days - 1
_MOST_OPEN: Final = 32  # files; each holds a row group in memory
_ROW_GROUP: Final = 262_144


def new_writer(into: str, batch: str) -> FileWriter:
    """Return a writer of files for the tables in `into`; what a task of Spark on any machine needs."""
    return FileWriter(open_root(into), batch)


class FileWriter:
    """Writes rows of a batch into files of the tables, one for each table and date.

    If there are more dates than files may be open, those written to first are closed, and may get a second file.
    StorageError for what the file system refuses. As a context manager, it deletes what was written if there is an
    exception: a commit has to come after it, because files of a commit that may have succeeded have to stay.
    """

    def __init__(self, place: RootDirectory, batch: str) -> None:
        self._place = place
        self._batch = checked_name(batch)
        self._open: dict[tuple[str, str], _File] = {}
        self._written: list[NewFile] = []
        self._paths: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abort()

    def write(self, table: Table, rows: pa.RecordBatch) -> None:
        """Add rows, which have exactly the table's columns."""
        for date, part in _by_date(table, rows):
            try:
                self._file(table, date).write(part)
            except OSError as error:
                raise self._refused(error) from error

    def close(self) -> list[NewFile]:
        """End all files, and return them."""
        try:
            while self._open:
                self._close(next(iter(self._open)))
        except OSError as error:
            raise self._refused(error) from error
        return self._written

    def abort(self) -> None:
        """Delete what was written; what cannot be deleted stays, and is in no table."""
        for file in self._open.values():
            file.give_up()
        self._open = {}
        for path in self._paths:
            self._place.forget(path)

    def _file(self, table: Table, date: str) -> _File:
        key = (table.name, date)
        if key not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._close(next(iter(self._open)))
            path = self._place.join(new_file_name(table.name, date, self._batch))
            self._place.make(path.rpartition("/")[0])
            self._paths.append(path)
            self._open[key] = _File(self._place, path, table)
        return self._open[key]

    def _close(self, key: tuple[str, str]) -> None:
        file = self._open.pop(key)
        rows, size = file.close()
        self._written.append(NewFile(*key, file.path, rows, size))

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write files in {self._place.into}: {next_step(error)}")


class _File:
    """One Parquet file; rows wait until there are enough for a row group."""

    def __init__(self, place: RootDirectory, path: str, table: Table) -> None:
        self.path = path
        schema = table.arrow()
        self._sink = place.fs.open_output_stream(path)
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

    def close(self) -> tuple[int, int]:
        """End the file; return its rows and bytes."""
        self._flush()
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        return self._rows, size

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
    """Return the days since 1970 that rows belong to.

    Where a time is impossible, the day is that of the record, else the first.
    """
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
