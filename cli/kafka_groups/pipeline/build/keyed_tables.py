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
    table_size: int,
    part_names: Sequence[str] = (),
    measure: Callable[[Any], int] = len,
) -> Iterator[Any]:
    """Yield the rows as tables of about `table_size` each, in their order; all rows of a key are in one table.

    `measure` returns the size of a batch, which is its number of rows by default. In `batches`, rows that are equal in
    the columns `key` must follow each other. Without key columns, a table may end at any row. A key that is larger than
    `table_size` is divided if possible; rows that are also equal in the columns `part_names` stay together.
    """
    waiting_batches: list[Any] = []
    size_of_waiting = 0
    size_limit = table_size
    for batch in batches:
        waiting_batches.append(batch)
        size_of_waiting += measure(batch)
        if size_of_waiting < size_limit:
            continue
        table = pa.Table.from_batches(waiting_batches)
        start_of_last_key = _find_last_key(table, key)
        if start_of_last_key == 0 and part_names:
            start_of_last_key = _find_last_key(table, [*key, *part_names])
        waiting_batches = table.slice(start_of_last_key).to_batches()
        size_of_waiting = sum(measure(waiting_batch) for waiting_batch in waiting_batches)
        # A key with very many rows is not searched again for each batch.
        size_limit = table_size + size_of_waiting
        complete_tables = [table.slice(0, start_of_last_key)] if start_of_last_key else []
        # Drop these references: the caller needs the memory.
        del batch, table
        while complete_tables:
            yield complete_tables.pop()
    if waiting_batches:
        yield pa.Table.from_batches(waiting_batches)


def _find_last_key(table: Any, key: Sequence[str]) -> int:
    """Return the index at which the last key of a table begins; without key columns, the number of rows."""
    if not key:
        return len(table)
    return int(np.flatnonzero(is_segment_start(*(to_codes(table[name]) for name in key)))[-1])
