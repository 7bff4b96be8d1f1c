"""Keys or values of a chunk in one buffer; numbers and texts combine_options from it at many places at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Packed:
    """Bytes end to end: where each item starts, its size, and whether it is there (None is not)."""

    data: npt.NDArray[np.uint8]
    starts: Ints
    sizes: Ints
    present: Flags

    def numbers(self, layout: str, at: Ints) -> Ints:
        """Return the big-endian numbers at these places, which the caller knows are inside; layout is i2, i4 or i8."""
        width = np.dtype(layout).itemsize
        # Every byte is the start of a number: they overlap, and only those at `at` are looked at.
        windows = max(len(self.data) - width + 1, 0)
        numbers: Any = np.ndarray(windows, f">{layout}", self.data.data, strides=(1,))
        return numbers[at].astype(np.int64)  # type: ignore[no-any-return]  # numpy says Any

    def slices(self, at: Ints, sizes: Ints, *, known: Flags) -> Any:
        """Return a binary Arrow column of these stretches, null where they are not known."""
        ends = np.zeros(len(at) + 1, np.int32)
        np.cumsum(sizes, out=ends[1:])
        filled = np.flatnonzero(sizes)
        repeated = sizes[filled]
        places = np.repeat(at[filled] - ends[filled], repeated) + np.arange(ends[-1])
        validity = None if known.all() else pa.array(known).buffers()[1]
        buffers = [validity, pa.py_buffer(ends), pa.py_buffer(self.data[places])]
        return pa.Array.from_buffers(pa.binary(), len(at), buffers)


def pack(column: Any) -> Packed:
    """Return what is in a large_binary Arrow column, without a copy."""
    _, offsets, data = column.buffers()
    count = len(column)
    edges = np.frombuffer(offsets, np.int64, count + 1, column.offset * 8) if count else np.zeros(1, np.int64)
    return Packed(
        np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8),
        edges[:-1],
        np.diff(edges),
        column.is_valid().to_numpy(zero_copy_only=False),
    )


def as_text(column: Any) -> Any:
    """Return a binary column as text: bytes that are not UTF-8 become escapes, as everywhere (codec.primitives)."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        bodies: list[bytes | None] = column.to_pylist()
        texts = [None if body is None else body.decode("utf-8", "backslashreplace") for body in bodies]
        return pa.array(texts, pa.string())


def overlaid(column: Any, found: Mapping[int, Any]) -> Any:
    """Return the column with these values at these places, which ascend."""
    if not found:
        return column
    mask = np.zeros(len(column), np.bool_)
    mask[list(found)] = True
    return pc.replace_with_mask(column, pa.array(mask), pa.array(list(found.values()), column.type))


def spread(found: Mapping[int, Any], count: int, kind: Any) -> Any:
    """Return a column of so many rows with these values at these places, null everywhere else."""
    if not found:
        return pa.nulls(count, kind)
    places: Ints = np.full(count, -1, np.int64)
    places[list(found)] = np.arange(len(found))
    return pa.array(list(found.values()), kind).take(pa.array(places, mask=places < 0))
