"""Rows of a table from columns: what is not known is null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kafka_groups.pipeline.schemas.shape import Table


def shaped(table: Table, size: int, columns: Mapping[str, Any], same: Mapping[str, Any]) -> pa.RecordBatch:
    """Return `size` rows of a table: columns, or values that all rows share (times: microseconds), else null."""
    schema = table.arrow()
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            values = pa.repeat(pa.scalar(same.get(field.name), field.type), size)
        arrays.append(values if isinstance(values, pa.Array) else pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
