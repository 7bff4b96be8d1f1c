"""A writer of new rows into Parquet files, one for each table and date, in the directories of their tables.

A commit makes the files part of their tables. `compact` deletes files that were not committed within a day.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.frames.arrays import Ints
from kafka_groups.pipeline.store.data_files import NewFile, new_path
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error, open_root
from kafka_groups.pipeline.tables import Table

_DAY_US: Final = 86_400_000_000
# Clocks of brokers can be wrong. A date outside of 1970 to 2099 would be a directory that no query reads.
_END_US: Final = int(np.datetime64("2100-01-01", "us").astype(int))
_MAX_OPEN_FILES: Final = 32  # Each holds up to a row group in memory.
_ROWS_PER_GROUP: Final = 262_144


def new_writer(location: str, batch: str) -> FileWriter:
    """Return a writer of files of a batch for the tables at `location`, a path or a URI; tasks of Spark may call it."""
    return FileWriter(open_root(location), batch)


class FileWriter:
    """A writer of rows of one batch into new files: one for each table and date, or several if there are many dates.

    As a context manager, it deletes its files if the block raises an exception. Commit after the block: a commit that
    raises an exception may have succeeded all the same, so the files must stay. Methods raise StorageError.
    """

    def __init__(self, directory: RootDirectory, batch: str) -> None:
        """Open no file yet; `batch` is a part of the names of the files (`data_files.new_path`)."""
        self._directory = directory
        self._batch = batch
        self._open_files: dict[tuple[str, str], _OpenFile] = {}  # The keys are table and date.
        self._closed_files: list[NewFile] = []
        self._paths: list[str] = []  # These are all files, open and closed.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        """Delete all files, closed or not, if the block raised an exception."""
        if error_type is None:
            return
        for file in self._open_files.values():
            with suppress(OSError):
                file.close()
        for path in self._paths:
            self._directory.forget(path)

    def write(self, table: Table, rows: pa.RecordBatch) -> None:
        """Add rows in any order, with exactly the columns of the table (`Table.arrow`)."""
        with as_storage_error("write files", self._directory.location):
            for date, rows_of_date in _split_by_date(table, rows):
                self._open_file_of(table, date).write(rows_of_date)

    def close(self) -> list[NewFile]:
        """Close all files and return them, in the order in which they were closed."""
        with as_storage_error("write files", self._directory.location):
            while self._open_files:
                self._close_oldest()
        return self._closed_files

    def _open_file_of(self, table: Table, date: str) -> _OpenFile:
        """Return the open file of a table and a date (YYYY-MM-DD), which is opened if need be.

        If the maximum number of files is open, the oldest one is closed first.
        """
        key = (table.name, date)
        if key not in self._open_files:
            if len(self._open_files) >= _MAX_OPEN_FILES:
                self._close_oldest()
            path = new_path(self._directory, table.name, date, self._batch)
            self._paths.append(path)
            self._open_files[key] = _OpenFile(self._directory, path, table)
        return self._open_files[key]

    def _close_oldest(self) -> None:
        """Write the waiting rows of the file that was opened first, and close it; at least one file must be open."""
        key = next(iter(self._open_files))
        file = self._open_files.pop(key)
        file.flush()
        size_bytes = file.close()
        table_name, date = key
        self._closed_files.append(NewFile(table_name, date, file.path, file.rows, size_bytes))


class _OpenFile:
    """A Parquet file that is being written. Rows wait in memory until they fill a row group.

    `rows` is the number of rows that were written, without those that wait.
    """

    def __init__(self, directory: RootDirectory, path: str, table: Table) -> None:
        """Open a new file at `path`, whose rows have exactly the columns of the table."""
        self.path = path
        self.rows = 0
        schema = table.arrow()
        # Strings repeat, except the long ones of `details`.
        dictionary_names = [
            field.name for field in schema if pa.types.is_string(field.type) and field.name != "details"
        ]
        self._stream = directory.fs.open_output_stream(path)
        self._writer = pq.ParquetWriter(
            self._stream, schema, compression="zstd", compression_level=1, use_dictionary=dictionary_names
        )
        self._waiting_batches: list[pa.RecordBatch] = []
        self._waiting_row_count = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows, and write the waiting ones if they fill a row group."""
        self._waiting_batches.append(rows)
        self._waiting_row_count += rows.num_rows
        if self._waiting_row_count >= _ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows."""
        if self._waiting_batches:
            self._writer.write_table(pa.Table.from_batches(self._waiting_batches), row_group_size=_ROWS_PER_GROUP)
        self.rows += self._waiting_row_count
        self._waiting_batches = []
        self._waiting_row_count = 0

    def close(self) -> int:
        """Close the file, and return its size in bytes; rows that still wait are lost (`flush`)."""
        self._writer.close()
        size_bytes = int(self._stream.tell())
        self._stream.close()
        return size_bytes


def _split_by_date(table: Table, rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield each date of the rows (YYYY-MM-DD), ascending, with its rows in the same order."""
    days = _find_days(table, rows)
    # Most batches have one date, and np.unique sorts all days.
    has_one_day = len(days) > 0 and days.min() == days.max()
    distinct_days = days[:1] if has_one_day else np.unique(days)
    for day in distinct_days:
        rows_of_day = rows if len(distinct_days) == 1 else rows.filter(pa.array(days == day))
        yield str(np.datetime64(int(day), "D")), rows_of_day


def _find_days(table: Table, rows: pa.RecordBatch) -> Ints:
    """Return the date of each row in days since 1970-01-01, from the time by which the table is dated.

    If this time is null or outside of 1970 to 2099, the time in the column `record_time` counts. If the table has no
    such column, or that time is no better, the date is day 0.
    """
    possible_times = []
    for name in (table.time_column, "record_time"):
        if name in rows.schema.names:
            times_us = rows[name].cast(pa.int64())
            is_possible = pc.and_(pc.greater_equal(times_us, 0), pc.less(times_us, _END_US))
            possible_times.append(pc.if_else(is_possible, times_us, None))
    days = pc.divide(pc.coalesce(*possible_times, 0), _DAY_US)
    return np.asarray(days)
