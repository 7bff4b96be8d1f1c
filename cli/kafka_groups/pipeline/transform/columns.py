"""Arrow columns as arrays of numbers and back: what a kernel takes, and what a stage hands to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.decode.columns import TIME
from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Floats, Ints


def to_ints(column: Any) -> Ints:
    """Return a column of integers or times as 64-bit numbers, NULL where it has none."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    return np.asarray(pc.fill_null(column.cast(pa.int64()), NULL))


def to_flags(column: Any) -> Flags:
    """Return a column of booleans, false where it has none."""
    return np.asarray(pc.fill_null(column, False))  # noqa: FBT003 - the value to fill in


def to_floats(column: Any) -> Floats:
    """Return a column of real numbers, NaN where it has none."""
    return np.asarray(pc.fill_null(column, np.nan))


def to_keys(column: Any) -> Ints:
    """Return a column of texts, integers or booleans as numbers that differ where its values do."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return to_ints(whole.dictionary_encode().indices) if pa.types.is_string(whole.type) else to_ints(whole)


def to_codes(*columns: Any) -> tuple[tuple[Ints, ...], list[str]]:
    """Return columns of texts as places in one sorted list of texts, NULL where a row has none; and that list."""
    texts = sorted({text for column in columns for text in pc.unique(column).to_pylist()} - {None})
    return tuple(to_ints(pc.index_in(column, pa.array(texts, pa.string()))) for column in columns), texts


def nullable(values: Ints, kind: Any = None) -> Any:
    """Return numbers as an Arrow column; NULL is null."""
    found = pa.array(values, pa.int64(), mask=values == NULL)
    return found if kind is None else found.cast(kind) if not pa.types.is_timestamp(kind) else found.view(kind)


def times_of(values: Ints) -> Any:
    """Return microseconds as an Arrow column; NULL is null."""
    return nullable(values, TIME)


def millis_of(values: Ints) -> Any:
    """Return milliseconds as an Arrow column of microseconds; NULL is null."""
    return times_of(np.where(values == NULL, NULL, values * 1_000))


def reals_of(values: Floats) -> Any:
    """Return real numbers as an Arrow column; NaN is null."""
    return pa.array(values, mask=np.isnan(values))


def to_batch(schema: Any, size: int, columns: Mapping[str, Any]) -> Any:
    """Return a record batch: arrays as they are, other values repeated, null in columns that are not given."""
    arrays = []
    for field in schema:
        found: Any = columns.get(field.name)
        is_column = isinstance(found, pa.Array)
        arrays.append(found.cast(field.type) if is_column else pa.repeat(pa.scalar(found, field.type), size))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def to_lists(values: Any, owner: Ints, size: int) -> Any:
    """Return values, ordered by owner, as one list for each of `size` owners."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=size))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def sort_rows(table: Any, names: Sequence[str]) -> Any:
    """Return the rows ordered by columns of texts and integers, null first, as Spark orders them."""
    columns = [table[name] for name in names]
    keys = [to_codes(one)[0][0] if pa.types.is_string(one.type) else to_ints(one) for one in columns]
    return table.take(pa.array(np.lexsort(keys[::-1])))


def gather_keys(
    pieces: Iterator[Any],
    key: Sequence[str],
    size: int,
    *,
    parts: Sequence[str] = (),
    size_of: Callable[[Any], int] = lambda piece: int(piece.num_rows),
) -> Iterator[Any]:
    """Yield tables of record batches, of some `size` each, so that rows that agree in the columns `key` are in one.

    Rows with the same key lie together in `pieces`. Without a key, any row may be the last one of a table. Where a key
    has more than `size`, its rows that agree in `parts`, too, are in one table.
    """
    waiting: list[Any] = []
    waits, limit = 0, size
    for piece in pieces:
        waiting.append(piece)
        waits += size_of(piece)
        if waits < limit:
            continue
        table = pa.Table.from_batches(waiting)
        last = _last_key(table, key) or (_last_key(table, [*key, *parts]) if parts else 0)
        waiting = table.slice(last).to_batches()
        waits = sum(map(size_of, waiting))
        # A key with very many rows is not looked at again for each piece.
        limit = size + waits
        # The caller that works on a table needs the memory, so nothing here refers to its rows.
        whole = [table.slice(0, last)] if last else []
        del piece, table
        while whole:
            yield whole.pop()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _last_key(table: Any, key: Sequence[str]) -> int:
    """Return the place where the last key of a table begins; without a key, the end."""
    if not key:
        return len(table)
    is_last = np.ones(len(table), np.bool_)
    for column, value in ((table[name], table[name][-1]) for name in key):
        is_last &= to_flags(pc.equal(column, value) if value.is_valid else pc.is_null(column))
    return int(is_last.argmax())
