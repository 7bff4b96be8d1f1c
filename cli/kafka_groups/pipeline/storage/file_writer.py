"""Files of tables, written where they will stay: a commit makes them part of their table, without one they go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.layout import NewFile, new_path
from kafka_groups.pipeline.storage.root_directory import RootDirectory, as_storage_error, open_root

_DAY_US: Final = 86_400_000_000
# Broker clocks can be wrong, but a date outside of 1970 to 2099 would make a directory that nobody looks into.
_END_US: Final = int(np.datetime64("2100-01-01", "us").astype(int))
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
        self._batch = batch
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
                self._file(table, date).write(part)

    def close(self) -> list[NewFile]:
        """End all files, and return them."""
        with as_storage_error("write files", self._place.into):
            while self._open:
                self._close_first()
        return self._written

    def _file(self, table: Table, date: str) -> _File:
        key = (table.name, date)
        if key not in self._open:
            if len(self._open) >= _MOST_OPEN:
                self._close_first()
            path = new_path(self._place, table.name, date, self._batch)
            self._paths.append(path)
            self._open[key] = _File(self._place, path, table)
        return self._open[key]

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
