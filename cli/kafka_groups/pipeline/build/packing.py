"""Rows of frames in binary values, which Spark moves between the stages and a build carries from day to day.

The JVM handles each value of each row separately, and one binary value with many rows is much less work for it.

A value holds lists of rows, each of one frame: first a header for each list, then the rows of each list, column after
column in the order of the columns' names. All are 64-bit numbers in this machine's byte order; a float is stored as its
bits. The upper half of a header is a fingerprint of the list's columns, the lower half the number of its rows. Columns
with other names or types have another fingerprint, and `unpack` refuses them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.kernels.segments import expand_ranges
from kafka_groups.pipeline.frames.arrays import Array, Ints
from kafka_groups.pipeline.frames.columns import Column
from kafka_groups.pipeline.frames.frame import ColumnError, Frame

_BYTES: Final = 8
# A header has the fingerprint above these bits, and the number of rows in them.
_COUNT_BITS: Final = 32
_COUNT_MASK: Final = (1 << _COUNT_BITS) - 1


@dataclass(frozen=True, slots=True)
class ListOfRows:
    """The rows of one list in many values, one value after another.

    `owner` has the index of the value that each row belongs to, ascending. `columns` has the values by column name.
    """

    owner: Ints
    columns: Mapping[str, Array]


def list_of(rows: Frame, owner: str) -> ListOfRows:
    """Return the rows of a frame as a list; the column named `owner` has the owner of each row, ascending."""
    arrays = dict(rows.arrays())
    return ListOfRows(owner=arrays.pop(owner), columns=arrays)


def list_of_singles(rows: Frame) -> ListOfRows:
    """Return the rows of a frame as a list in which row i belongs to value i."""
    return ListOfRows(owner=np.arange(len(rows)), columns=rows.arrays())


def columns_of(frame: type[Frame], owner: str = "") -> list[Column]:
    """Return the columns of a frame, without the column named `owner`, in the order of their declaration."""
    return [column for column in frame.columns() if column.name != owner]


def pack(lists: Sequence[ListOfRows], value_count: int) -> Any:
    """Return an Arrow column of `value_count` binary values with these lists.

    The owners in a list ascend, and are below `value_count`. A value may have no rows of a list. The order of the
    columns of a list does not matter.
    """
    row_counts = [np.bincount(rows.owner, minlength=value_count) for rows in lists]
    widths = [len(rows.columns) for rows in lists]
    numbers_in_value = np.full(value_count, len(lists))
    for count, width in zip(row_counts, widths, strict=True):
        numbers_in_value += count * width
    offsets = np.concatenate([[0], np.cumsum(numbers_in_value)])
    packed_numbers = np.empty(offsets[-1], np.int64)
    next_number = offsets[:-1]
    for rows, count in zip(lists, row_counts, strict=True):
        names_and_kinds = ((name, values.dtype.kind) for name, values in rows.columns.items())
        packed_numbers[next_number] = _fingerprint(names_and_kinds) << _COUNT_BITS | count
        next_number = next_number + 1
    for rows, count in zip(lists, row_counts, strict=True):
        owner, row_in_list = expand_ranges(np.zeros_like(count), count)
        for name in sorted(rows.columns):
            packed_numbers[next_number[owner] + row_in_list] = _to_numbers(rows.columns[name])
            next_number = next_number + count
    buffers = [None, pa.py_buffer(offsets * _BYTES), pa.py_buffer(packed_numbers)]
    return pa.Array.from_buffers(pa.large_binary(), value_count, buffers).cast(pa.binary())


def unpack(packed_values: Any, declarations: Sequence[Sequence[Column]]) -> list[ListOfRows]:
    """Return the lists of binary values without nulls that `pack` made.

    Each declaration has the columns of one list, in any order. Raises ColumnError if other columns were packed.
    """
    value_bytes = packed_values.to_pylist()
    packed_numbers = np.frombuffer(b"".join(value_bytes), np.int64)
    numbers_in_value = np.array([len(value) // _BYTES for value in value_bytes], np.int64)
    next_number = np.cumsum(numbers_in_value) - numbers_in_value
    row_counts = []
    for declared_columns in declarations:
        headers = packed_numbers[next_number]
        _check_fingerprints(headers >> _COUNT_BITS, declared_columns)
        row_counts.append(headers & _COUNT_MASK)
        next_number = next_number + 1
    lists = []
    for count, declared_columns in zip(row_counts, declarations, strict=True):
        owner, row_in_list = expand_ranges(np.zeros_like(count), count)
        columns = {}
        for column in sorted(declared_columns, key=lambda packed_values: packed_values.name):
            columns[column.name] = _from_numbers(packed_numbers[next_number[owner] + row_in_list], column.type)
            next_number = next_number + count
        lists.append(ListOfRows(owner=owner, columns=columns))
    return lists


def fingerprint_frames(frames: Iterable[type[Frame]]) -> str:
    """Return a text that changes if a frame gets another column, or a column gets another type.

    The order of columns does not matter, nor do their units and descriptions.
    """
    columns_by_frame = [
        [frame.__name__, *sorted(f"{column.name} {column.type}" for column in frame.columns())] for frame in frames
    ]
    return hashlib.blake2b(repr(sorted(columns_by_frame)).encode(), digest_size=_BYTES).hexdigest()


def _check_fingerprints(fingerprints: Ints, declared_columns: Sequence[Column]) -> None:
    """Raise ColumnError, with the names of the declared columns, if any fingerprint belongs to other columns."""
    expected_fingerprint = _fingerprint(
        (column.name, np.dtype(column.type.to_pandas_dtype()).kind) for column in declared_columns
    )
    if (fingerprints != expected_fingerprint).any():
        names = ", ".join(column.name for column in declared_columns)
        msg = f"packed rows do not have the columns {names}: other names or types were packed"
        raise ColumnError(msg)


def _fingerprint(kinds: Iterable[tuple[str, str]]) -> int:
    """Return a number of 31 bits for columns, from the name and the numpy kind (i, f or b) of each, in any order."""
    return _hash_kinds(tuple(sorted(kinds)))


@cache
def _hash_kinds(kinds: tuple[tuple[str, str], ...]) -> int:
    return int.from_bytes(hashlib.blake2b(repr(kinds).encode(), digest_size=4).digest()) >> 1


def _to_numbers(values: Array) -> Ints:
    """Return values as 64-bit integers; a float becomes the integer with its bits."""
    numbers: Ints = values.view(np.int64) if values.dtype == np.float64 else values.astype(np.int64)
    return numbers


def _from_numbers(numbers: Ints, arrow_type: Any) -> Array:
    """Return the values that `_to_numbers` turned into integers; `arrow_type` is their Arrow type."""
    if pa.types.is_floating(arrow_type):
        return numbers.view(np.float64)
    return numbers.astype(np.bool_) if pa.types.is_boolean(arrow_type) else numbers
