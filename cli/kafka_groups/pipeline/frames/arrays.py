"""Conversion of Arrow columns to numpy arrays and back. Numpy has no null: integers have NULL instead, floats NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

NULL: Final = int(np.iinfo(np.int64).min)
LARGEST: Final = int(np.iinfo(np.int64).max)


def to_ints(column: Any) -> Ints:
    """Return a column of integers, or of times in microseconds since 1970, as 64-bit integers; null is NULL."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.int64()), NULL))


def to_flags(column: Any) -> Flags:
    """Return a column of booleans as an array; null is false."""
    return np.asarray(pc.fill_null(column, fill_value=False))


def to_floats(column: Any) -> Floats:
    """Return a column of floating-point numbers as an array; null is NaN."""
    return np.asarray(pc.fill_null(column, np.nan))


def to_array(column: Any) -> Array:
    """Return a column of numbers, times or booleans as an array, by `to_floats`, `to_flags` or `to_ints`."""
    if pa.types.is_floating(column.type):
        return to_floats(column)
    return to_flags(column) if pa.types.is_boolean(column.type) else to_ints(column)


def to_codes(column: Any) -> Ints:
    """Return a column of strings, integers or booleans as numbers, which are equal where the values are equal.

    Integers are their own numbers, booleans are 0 or 1, null is NULL. The numbers of strings, from 0, have no order.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return to_ints(whole.dictionary_encode().indices) if pa.types.is_string(whole.type) else to_ints(whole)


def to_sorted_codes(column: Any) -> tuple[Ints, list[str]]:
    """Return a column of strings as indices in the sorted list of its distinct strings, and that list.

    The index of null is NULL.
    """
    strings = sorted({*pc.unique(column).to_pylist()} - {None})
    return to_ints(pc.index_in(column, pa.array(strings, pa.string()))), strings


def to_column(values: Array) -> Any:
    """Return an array of integers, floats or booleans as an Arrow column; NULL and NaN are null."""
    is_null = np.isnan(values) if values.dtype == np.float64 else values == NULL
    return pa.array(values, mask=is_null if is_null.any() else None)


def to_lists(values: Any, owner: Ints, size: int) -> Any:
    """Return an Arrow column of `size` lists: list i has the values whose owner is i, in the same order.

    `values` is an Arrow column. `owner` has the index of the list for each value, from 0 to `size` - 1, ascending. A
    list without values is empty.
    """
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=size))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def take_strings(strings: Sequence[str], indices: Array) -> Any:
    """Return an Arrow column of the strings at these indices of a list; flags are indices 0 and 1, and NULL is null."""
    return pa.array(strings, pa.string()).take(to_column(indices.astype(np.int64)))


def milliseconds_to_microseconds(values: Ints) -> Ints:
    """Return times or durations in milliseconds as microseconds; NULL stays NULL."""
    return np.where(values == NULL, NULL, values * 1_000)
