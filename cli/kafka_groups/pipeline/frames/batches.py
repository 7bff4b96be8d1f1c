"""Arrow record batches with exactly the columns of a frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.frames.arrays import to_column
from kafka_groups.pipeline.frames.frame import ColumnError, Frame
from kafka_groups.surrogates import escape_bytes


def make_batch(
    frame: type[Frame], columns: Mapping[str, Any], *, size: int | None = None, fill_null: bool = False
) -> Any:
    """Return a record batch of a frame from columns by name, each cast to its declared type.

    A column is an Arrow array, a numpy array (NULL and NaN are null), a list, or one value, which all rows share; times
    are microseconds since 1970. `size`, the number of rows, is needed if no column is an array or a list. With
    `fill_null`, columns that are not given are null. Raises ColumnError for columns that the frame does not declare,
    and for missing columns without `fill_null`.
    """
    undeclared = [name for name in columns if name not in frame.names()]
    if undeclared:
        msg = f"{frame.__name__} does not declare the columns {', '.join(undeclared)}"
        raise ColumnError(msg)
    if size is None:
        size = next(len(values) for values in columns.values() if isinstance(values, np.ndarray | pa.Array | list))
    arrays = []
    for column in frame.columns():
        if column.name in columns:
            arrays.append(_to_arrow(columns[column.name], column.type, size))
        elif fill_null:
            arrays.append(pa.nulls(size, column.type))
        else:
            msg = f"{frame.__name__} needs the column {column.name!r}, and is given {', '.join(columns)}"
            raise ColumnError(msg)
    return pa.RecordBatch.from_arrays(arrays, schema=frame.schema())


def _to_arrow(values: Any, kind: Any, size: int) -> Any:
    if isinstance(values, np.ndarray):
        values = to_column(values)
    if isinstance(values, pa.Array):
        return values.cast(kind)
    if not isinstance(values, list | tuple):
        return pa.repeat(pa.scalar(values, kind), size)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:  # Some brokers return names that are not UTF-8: these get visible escapes.
        return pa.array(_escape(values), kind)


def _escape(value: Any) -> Any:
    if isinstance(value, str):
        return escape_bytes(value)
    if isinstance(value, Mapping):
        return {name: _escape(inner) for name, inner in value.items()}
    return [_escape(inner) for inner in value] if isinstance(value, list | tuple) else value
