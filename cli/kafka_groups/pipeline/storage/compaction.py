"""Small files become large ones: which belong together, and how their rows are joined within bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.layout import COMPACTED, KEPT, DataFile, NewFile, new_file_name
from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

# What is sorted in memory at once: about 600 MB of commits, and as much again for their order.
ROWS_AT_ONCE: Final = 2_000_000
_ROWS_A_GROUP: Final = 131_072
_ROWS_A_TIME: Final = 16


def count_rows(place: RootDirectory, path: str) -> int:
    """Return the rows of a Parquet file, from its footer."""
    with as_storage_error("read the tables", path):
        return int(pq.read_metadata(path, filesystem=place.fs).num_rows)


def is_small(file: DataFile, target_bytes: int) -> bool:
    """Return whether two of them make less than a large one."""
    return file.bytes * 2 <= target_bytes and file.rows * 2 <= ROWS_AT_ONCE


def pack(files: Sequence[DataFile], target_bytes: int) -> Iterator[list[DataFile]]:
    """Yield files that together make one of the size; what finds no other to join is left out."""
    pile: list[DataFile] = []
    bytes_ = rows = 0
    for file in files:
        if pile and (bytes_ + file.bytes > target_bytes or rows + file.rows > ROWS_AT_ONCE):
            if len(pile) > 1:
                yield pile
            pile, bytes_, rows = [], 0, 0
        pile.append(file)
        bytes_, rows = bytes_ + file.bytes, rows + file.rows
    if len(pile) > 1:
        yield pile


def join(
    place: RootDirectory,
    table: Table,
    date: str,
    pile: Sequence[DataFile],
    is_read: Callable[[], None] = lambda: None,
    *,
    batch: str = COMPACTED,
) -> NewFile:
    """Write the rows of the files, all of one date, as one file, sorted by the table's identity, and return it.

    Columns that this version does not know are kept; those that older files lack are null. `is_read` is called after
    each file that was read.
    """
    parts = [_open(place, file.path) for file in pile]
    with as_storage_error("join files", place.into):
        rows = in_order(table, [_read(part, is_read) for part in parts])
        for part in parts:
            part.close(force=True)
        found = write_sorted(place, table, date, batch, rows)
    check_rows(place, pile, [found])
    return found


def check_rows(place: RootDirectory, old: Sequence[DataFile], new: Sequence[NewFile]) -> None:
    """Raise StorageError, and delete the new files, unless their footers count as many rows as there were."""
    expected, written = sum(file.rows for file in old), sum(count_rows(place, file.path) for file in new)
    if written != expected:
        for file in new:
            place.forget(file.path)
        message = (
            f"joining {expected} rows in {place.into} gave {written}, so nothing was replaced; please report a bug"
        )
        raise StorageError(message)


def pick(
    place: RootDirectory, table: Table, date: str, paths: Sequence[str], mask: Callable[[pa.Table], Sequence[bool]]
) -> NewFile | None:
    """Write those rows that the mask keeps as one file, sorted as `join` does it; None if it keeps none."""
    with as_storage_error("join files", place.into):
        # One after the other: a date may be larger than memory, what is kept of it is not.
        rows = in_order(table, [_masked(place, each, mask) for each in paths])
        return write_sorted(place, table, date, KEPT, rows) if rows.num_rows else None


def _open(place: RootDirectory, path: str) -> pq.ParquetFile:
    with as_storage_error("read the tables", path):
        return pq.ParquetFile(place.fs.open_input_file(path), pre_buffer=False)


def _read(part: pq.ParquetFile, is_read: Callable[[], None]) -> pa.Table:
    rows = part.read()
    is_read()
    return rows


def write_sorted(place: RootDirectory, table: Table, date: str, batch: str, rows: pa.Table) -> NewFile:
    """Write sorted rows: numbers as differences, which are small where a partition's rows follow each other."""
    path = place.join(new_file_name(table.name, date, batch))
    place.make(path.rpartition("/")[0])
    repeated = {field.name for field in rows.schema if _is_repeated(rows, field)}
    numbers = [
        field.name
        for field in rows.schema
        if (pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)) and field.name not in repeated
    ]
    try:
        pq.write_table(
            rows,
            path,
            filesystem=place.fs,
            compression="zstd",
            row_group_size=_ROWS_A_GROUP,
            use_dictionary=sorted(repeated),
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        )
    except BaseException:
        place.forget(path)
        raise
    return NewFile(table.name, date, path, rows.num_rows, place.info(path).size)


def _is_repeated(rows: pa.Table, field: pa.Field) -> bool:
    """Return whether few values take the place of many: texts, and the times of samples, which many rows share."""
    if not pa.types.is_timestamp(field.type):
        return bool(pa.types.is_string(field.type))
    return bool(pc.count_distinct(rows[field.name]).as_py() * _ROWS_A_TIME < rows.num_rows)


def _masked(place: RootDirectory, path: str, mask: Callable[[pa.Table], Sequence[bool]]) -> pa.Table:
    with place.fs.open_input_file(path) as file:
        opened = pq.ParquetFile(file)
        found = [opened.schema_arrow.empty_table()]
        for batch in opened.iter_batches():
            rows = pa.table(batch)
            found.append(rows.filter(pa.array(mask(rows), pa.bool_())))
    return pa.concat_tables(found)


def in_order(table: Table, parts: list[Any]) -> pa.Table:
    """Return the rows of all parts, sorted by the table's identity."""
    known = table.arrow().empty_table()
    rows = pa.concat_tables([known, *parts], promote_options="permissive")
    return rows.sort_by([(name, "ascending") for name in table.identity])
