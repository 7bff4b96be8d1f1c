"""Small files become large ones: which belong together, and how their rows are joined within bounded memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.failing import told
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.tables import Table

# What is sorted in memory at once: about 600 MB of commits, and as much again for their order.
_ROWS_AT_ONCE: Final = 2_000_000
_ROWS_A_GROUP: Final = 131_072


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file that may be joined with others of its date."""

    path: str
    batch: str
    bytes: int
    rows: int


def count_rows(place: Place, path: str) -> int:
    """The rows of a Parquet file, from its footer."""
    with told("read the tables", path):
        return int(pq.read_metadata(path, filesystem=place.fs).num_rows)


def is_small(file: SmallFile, target_bytes: int) -> bool:
    """Whether two of them make less than a large one."""
    return file.bytes * 2 <= target_bytes and file.rows * 2 <= _ROWS_AT_ONCE


def pack(files: Sequence[SmallFile], target_bytes: int) -> Iterator[list[SmallFile]]:
    """Files that together make one of the size; what finds no other to join is left out."""
    pile: list[SmallFile] = []
    bytes_ = rows = 0
    for file in files:
        if pile and (bytes_ + file.bytes > target_bytes or rows + file.rows > _ROWS_AT_ONCE):
            if len(pile) > 1:
                yield pile
            pile, bytes_, rows = [], 0, 0
        pile.append(file)
        bytes_, rows = bytes_ + file.bytes, rows + file.rows
    if len(pile) > 1:
        yield pile


def join(
    place: Place,
    table: Table,
    pile: Sequence[SmallFile],
    directory: str,
    is_read: Callable[[], None] = lambda: None,
) -> str:
    """Writes the rows of the files as one, sorted by the table's identity, and returns its path.

    Columns that this version does not know are kept; those that older files lack are null. `is_read` is called after
    each file that was read.
    """
    path = f"{directory}/part-{uuid.uuid4().hex}.parquet"
    parts = [_open(place, file.path) for file in pile]
    with told("join files", path):
        rows = _in_order(table, [_read(part, is_read) for part in parts])
        for part in parts:
            part.close(force=True)
        _write(place, rows, path)
    expected, written = sum(file.rows for file in pile), count_rows(place, path)
    if written != expected:
        message = f"joining {expected} rows in {directory} gave {written}, so nothing was replaced; please report a bug"
        raise StorageError(message)
    return path


def pick(
    place: Place, table: Table, paths: Sequence[str], mask: Callable[[pa.Table], Sequence[bool]], directory: str
) -> str | None:
    """Writes those rows that the mask keeps as one file, sorted as `join` does it; None if it keeps none."""
    path = f"{directory}/part-{uuid.uuid4().hex}.parquet"
    with told("join files", path):
        # One after the other: a date may be larger than memory, what is kept of it is not.
        rows = _in_order(table, [_masked(place, each, mask) for each in paths])
        if rows.num_rows:
            _write(place, rows, path)
    return path if rows.num_rows else None


def _open(place: Place, path: str) -> pq.ParquetFile:
    with told("read the tables", path):
        return pq.ParquetFile(place.fs.open_input_file(path), pre_buffer=False)


def _read(part: pq.ParquetFile, is_read: Callable[[], None]) -> pa.Table:
    rows = part.read()
    is_read()
    return rows


def _write(place: Place, rows: pa.Table, path: str) -> None:
    """Write sorted rows: numbers as differences, which are small where a partition's rows follow each other."""
    numbers = [
        field.name for field in rows.schema if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)
    ]
    pq.write_table(
        rows,
        path,
        filesystem=place.fs,
        compression="zstd",
        row_group_size=_ROWS_A_GROUP,
        use_dictionary=[field.name for field in rows.schema if pa.types.is_string(field.type)],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
    )


def _masked(place: Place, path: str, mask: Callable[[pa.Table], Sequence[bool]]) -> pa.Table:
    with place.fs.open_input_file(path) as file:
        opened = pq.ParquetFile(file)
        found = [opened.schema_arrow.empty_table()]
        for batch in opened.iter_batches():
            rows = pa.table(batch)
            found.append(rows.filter(pa.array(mask(rows), pa.bool_())))
    return pa.concat_tables(found)


def _in_order(table: Table, parts: list[Any]) -> pa.Table:
    known = table.arrow().empty_table()
    rows = pa.concat_tables([known, *parts], promote_options="permissive")
    return rows.sort_by([(name, "ascending") for name in table.identity])
