"""Arrow columns as arrays of numbers and back: what a kernel takes, and what a stage hands to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.kernels.segments import NULL, Flags, Ints, expand, first_rows
from kafka_groups.pipeline.tables.shape import shaped


def to_ints(column: Any) -> Ints:
    """Return a column of integers or times as 64-bit numbers, NULL where it has none."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.int64()), NULL))


def to_flags(column: Any) -> Flags:
    """Return a column of booleans, false where it has none."""
    return np.asarray(pc.fill_null(column, False))  # noqa: FBT003 - the value to fill in


def to_numbers(column: Any) -> Any:
    """Return a column of numbers, times or flags as a kernel takes it: NaN where it has no real number."""
    if pa.types.is_floating(column.type):
        return np.asarray(pc.fill_null(column, np.nan))
    return to_flags(column) if pa.types.is_boolean(column.type) else to_ints(column)


def to_keys(column: Any) -> Ints:
    """Return a column of texts, integers or booleans as numbers that differ where its values do."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return to_ints(whole.dictionary_encode().indices) if pa.types.is_string(whole.type) else to_ints(whole)


def to_codes(column: Any) -> tuple[Ints, list[str]]:
    """Return a column of texts as places in a sorted list of texts, NULL where a row has none; and that list."""
    texts = sorted({*pc.unique(column).to_pylist()} - {None})
    return to_ints(pc.index_in(column, pa.array(texts, pa.string()))), texts


def to_column(values: Any) -> Any:
    """Return an array as an Arrow column; NULL and NaN are null."""
    is_null = np.isnan(values) if values.dtype == np.float64 else values == NULL
    return pa.array(values, mask=is_null if is_null.any() else None)


def millis_of(values: Ints) -> Ints:
    """Return milliseconds as microseconds."""
    return np.where(values == NULL, NULL, values * 1_000)


def choose(texts: Sequence[str], places: Any) -> Any:
    """Return the texts at those places, or by flags the second one; NULL is null."""
    return pa.array(texts).take(to_column(places.astype(np.int64)))


def to_batch(schema: Any, columns: Mapping[str, Any]) -> Any:
    """Return a record batch of arrays, at least one, and other values repeated; null in columns that are not given."""
    given = {name: to_column(one) for name, one in columns.items() if isinstance(one, np.ndarray)}
    given |= {name: one for name, one in columns.items() if isinstance(one, pa.Array)}
    return shaped(schema, len(next(iter(given.values()))), given, columns)


def to_lists(values: Any, owner: Ints, size: int) -> Any:
    """Return values, ordered by owner, as one list for each of `size` owners."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=size))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def sort_rows(table: Any, names: Sequence[str]) -> Any:
    """Return the rows ordered by columns of texts and integers, null first, as Spark orders them."""
    keys = [to_codes(one)[0] if pa.types.is_string(one.type) else to_ints(one) for one in map(table.column, names)]
    return table.take(pa.array(np.lexsort(keys[::-1])))


def gather_keys(
    pieces: Iterator[Any], key: Sequence[str], size: int, parts: Sequence[str] = (), size_of: Callable[[Any], int] = len
) -> Iterator[Any]:
    """Yield tables of record batches, of some `size` each, so that rows that agree in the columns `key` are in one.

    Rows with the same key lie together in `pieces`. Without a key, any row may be the last one of a table. Where a key
    has more than `size`, its rows that agree in `parts`, too, are in one table.
    """
    waiting, waits, limit = list[Any](), 0, size
    for piece in pieces:
        waiting.append(piece)
        waits += size_of(piece)
        if waits < limit:
            continue
        table = pa.Table.from_batches(waiting)
        last = _last_key(table, key) or (_last_key(table, [*key, *parts]) if parts else 0)
        waiting = table.slice(last).to_batches()
        waits = sum(map(size_of, waiting))
        limit = size + waits  # a key with very many rows is not looked at again for each piece
        # The caller that works on a table needs the memory, so nothing here refers to its rows.
        whole = [table.slice(0, last)] if last else []
        del piece, table
        while whole:
            yield whole.pop()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _last_key(table: Any, key: Sequence[str]) -> int:
    """Return the place where the last key of a table begins; without a key, the end."""
    return int(np.flatnonzero(first_rows(*(to_keys(table[name]) for name in key)))[-1]) if key else len(table)


def pack(scalars: Sequence[Any], lists: Sequence[tuple[Ints, Sequence[Any]]], size: int) -> Any:
    """Return a binary column with a value for each of `size` owners: Spark moves that faster than nested columns.

    Lists are the owner of each row, ascending, and the rows' columns. A value holds 64-bit numbers, or the bits of real
    ones, in this machine's order: the owner's scalars, the lengths of its lists, and these row by row.
    """
    counts = [np.bincount(owner, minlength=size) for owner, _ in lists]
    heads, widths = [*scalars, *counts], [len(columns) for _, columns in lists]
    ends = np.cumsum(len(heads) + sum(map(np.multiply, counts, widths), np.zeros(size, np.int64)))
    offsets = np.concatenate([[0], ends])
    numbers, at = np.empty(offsets[-1], np.int64), offsets[:-1]
    found = zip(_places(at + len(heads), counts, widths), lists, strict=True)
    rows = ((first + place, column) for (_, first), (_, columns) in found for place, column in enumerate(columns))
    for places, column in chain(((at + place, column) for place, column in enumerate(heads)), rows):
        numbers[places] = column.view(np.int64) if column.dtype == np.float64 else column
    buffers = [None, pa.py_buffer(offsets * 8), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.large_binary(), size, buffers).cast(pa.binary())


def unpack(column: Any, scalars: int, widths: Sequence[int]) -> tuple[list[Ints], list[tuple[Ints, list[Ints]]]]:
    """Return the scalars and the lists, as `pack` took them, of a binary column without nulls; real ones as bits."""
    values = column.to_pylist()
    numbers, length = np.frombuffer(b"".join(values), np.int64), np.array([*map(len, values)], np.int64) // 8
    at = np.cumsum(length) - length
    heads = [numbers[at + place] for place in range(scalars + len(widths))]
    lists = zip(_places(at + len(heads), heads[scalars:], widths), widths, strict=True)
    return heads[:scalars], [(owner, [numbers[first + each] for each in range(n)]) for (owner, first), n in lists]


def _places(at: Ints, counts: Sequence[Ints], widths: Sequence[int]) -> Iterator[tuple[Ints, Ints]]:
    """Yield the owners of the rows of each list, and where each row begins; the first lists begin at `at`."""
    for count, width in zip(counts, widths, strict=True):
        owner, within = expand(np.zeros_like(count), count)
        yield owner, at[owner] + within * width
        at = at + count * width
