"""Numbers of many owners as one binary value each: Spark moves one column of bytes faster than a hundred nested ones.

A value holds 64-bit numbers in this machine's order: the owner's scalars, the length of each of its lists, and the
lists, column by column within each row. Writer and reader are of the same build.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.transform.kernels.segments import Ints, expand

# The owner of each row, and the rows' columns. Rows of an owner lie together.
Lists = Sequence[tuple[Ints, Sequence[Ints]]]


def pack(scalars: Sequence[Ints], lists: Lists, size: int) -> Any:
    """Return a binary column with a value for each of `size` owners."""
    counts = [np.bincount(owner, minlength=size) for owner, _ in lists]
    heads = [*scalars, *counts]
    length = np.full(size, len(heads), np.int64)
    for count, (_, columns) in zip(counts, lists, strict=True):
        length += count * len(columns)
    ends = np.cumsum(length)
    starts = ends - length
    numbers = np.empty(int(length.sum()), np.int64)
    for place, values in enumerate(heads):
        numbers[starts + place] = values
    at = starts + len(heads)
    for count, (_, columns) in zip(counts, lists, strict=True):
        first = _row_places(at, count, len(columns))
        for place, values in enumerate(columns):
            numbers[first + place] = values
        at = at + count * len(columns)
    offsets = np.concatenate([[0], ends * 8]).astype(np.int64)
    whole = pa.Array.from_buffers(pa.large_binary(), size, [None, pa.py_buffer(offsets), pa.py_buffer(numbers)])
    return whole.cast(pa.binary())


def unpack(column: Any, scalars: int, widths: Sequence[int]) -> tuple[list[Ints], list[tuple[Ints, list[Ints]]]]:
    """Return the scalars and the lists, as `pack` took them, of a binary column without nulls."""
    values = column.to_pylist()
    numbers = np.frombuffer(b"".join(values), np.int64)
    length = np.array([len(value) // 8 for value in values], np.int64)
    starts = np.cumsum(length) - length
    at = starts + scalars + len(widths)
    lists: list[tuple[Ints, list[Ints]]] = []
    for place, width in enumerate(widths):
        count = numbers[starts + scalars + place]
        first = _row_places(at, count, width)
        lists.append((np.repeat(np.arange(len(count)), count), [numbers[first + each] for each in range(width)]))
        at = at + count * width
    return [numbers[starts + place] for place in range(scalars)], lists


def _row_places(at: Ints, counts: Ints, width: int) -> Ints:
    """Return where each row begins, of owners whose rows begin `at`."""
    owner, within = expand(np.zeros_like(counts), counts)
    return at[owner] + within * width
