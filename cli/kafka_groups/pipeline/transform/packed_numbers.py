"""Numbers of many owners as one binary value each: Spark moves one column of bytes faster than a hundred nested ones.

A value holds 64-bit numbers in this machine's order: the owner's scalars, the length of each of its lists, and the
lists, column by column within each row. Writer and reader are of the same build.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.transform.kernels.segments import Ints

# The owner of each row, and the rows' columns. Rows of an owner lie together.
Lists = Sequence[tuple[Ints, Sequence[Ints]]]


def pack(scalars: Sequence[Ints], lists: Lists, size: int) -> Any:
    """Return a binary column with a value for each of `size` owners."""
    counts = [np.bincount(owner, minlength=size) if len(owner) else np.zeros(size, np.int64) for owner, _ in lists]
    widths = [len(columns) for _, columns in lists]
    length = np.full(size, len(scalars) + len(lists), np.int64)
    for count, width in zip(counts, widths, strict=True):
        length += count * width
    ends = np.cumsum(length)
    starts = ends - length
    numbers = np.empty(int(ends[-1]) if size else 0, np.int64)
    for place, values in enumerate([*scalars, *counts]):
        numbers[starts + place] = values
    at = starts + len(scalars) + len(lists)
    for (owner, columns), count, width in zip(lists, counts, widths, strict=True):
        if len(owner):
            within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
            first = at[owner] + within * width
            for place, values in enumerate(columns):
                numbers[first + place] = values
        at = at + count * width
    offsets = np.concatenate([[0], ends * 8]).astype(np.int64)
    whole = pa.Array.from_buffers(pa.large_binary(), size, [None, pa.py_buffer(offsets), pa.py_buffer(numbers)])
    return whole.cast(pa.binary())


def unpack(column: Any, scalars: int, widths: Sequence[int]) -> tuple[list[Ints], list[tuple[Ints, list[Ints]]]]:
    """Return the scalars and the lists, as `pack` took them, of a binary column without nulls."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    size = len(whole)
    if not size:
        nothing = np.zeros(0, np.int64)
        return [nothing] * scalars, [(nothing, [nothing] * width) for width in widths]
    offsets = np.frombuffer(whole.buffers()[1], np.int32)[whole.offset : whole.offset + size + 1]
    data = np.frombuffer(whole.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    numbers = data.copy().view(np.int64)
    starts = (offsets[:-1].astype(np.int64) - offsets[0]) // 8
    at = starts + scalars + len(widths)
    lists: list[tuple[Ints, list[Ints]]] = []
    for place, width in enumerate(widths):
        count = numbers[starts + scalars + place]
        owner = np.repeat(np.arange(size), count)
        first = at[owner] + (np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)) * width
        lists.append((owner, [numbers[first + column] for column in range(width)]))
        at = at + count * width
    return [numbers[starts + place] for place in range(scalars)], lists
