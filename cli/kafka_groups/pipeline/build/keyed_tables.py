"""Tables of rows with keys: sorting in Spark's order, and division so that the rows of a key stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.kernels.segments import is_segment_start
from kafka_groups.pipeline.frames.arrays import to_codes, to_ints, to_sorted_codes


def sort_rows(table: Any, names: Sequence[str]) -> Any:
    """Return the rows in ascending order of some columns of strings and integers, null first, as Spark sorts them."""
    codes = []
    for name in names:
        values = table[name]
        codes.append(to_sorted_codes(values)[0] if pa.types.is_string(values.type) else to_ints(values))
    return table.take(pa.array(np.lexsort(codes[::-1])))


def batch_by_key(
    batches: Iterator[Any],
    key: Sequence[str],
    size: int,
    parts: Sequence[str] = (),
    measure: Callable[[Any], int] = len,
) -> Iterator[Any]:
    """Yield the rows as tables of about `size` each, in their order; all rows of a key are in one table.

    `measure` returns the size of a batch, which is its number of rows by default. In `batches`, rows that are equal in
    the columns `key` must follow each other. Without key columns, a table may end at any row. A key that is larger than
    `size` is divided if possible; rows that are also equal in the columns `parts` stay together.
    """
    waiting: list[Any] = []
    waiting_size = 0
    limit = size
    for batch in batches:
        waiting.append(batch)
        waiting_size += measure(batch)
        if waiting_size < limit:
            continue
        table = pa.Table.from_batches(waiting)
        last = _find_last_key(table, key)
        if last == 0 and parts:
            last = _find_last_key(table, [*key, *parts])
        waiting = table.slice(last).to_batches()
        waiting_size = sum(measure(rest) for rest in waiting)
        # A key with very many rows is not searched again for each batch.
        limit = size + waiting_size
        complete = [table.slice(0, last)] if last else []
        # Drop these references: the caller needs the memory.
        del batch, table
        while complete:
            yield complete.pop()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _find_last_key(table: Any, key: Sequence[str]) -> int:
    """Return the index at which the last key of a table begins; without key columns, the number of rows."""
    if not key:
        return len(table)
    return int(np.flatnonzero(is_segment_start(*(to_codes(table[name]) for name in key)))[-1])
