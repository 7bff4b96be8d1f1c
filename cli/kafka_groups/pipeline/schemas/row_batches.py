"""Rows of a table from columns: what is not known is null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas.shape import Table


def shaped(table: Table, size: int, columns: Mapping[str, Any], same: Mapping[str, Any]) -> pa.RecordBatch:
    """Return `size` rows of a table: columns, or values that all rows share (times: microseconds), else null."""
    schema = table.arrow()
    arrays = [
        columns[field.name] if field.name in columns else pa.repeat(pa.scalar(same.get(field.name), field.type), size)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def spread(texts: Sequence[str | None], which: Sequence[int], sizes: Sequence[int]) -> pa.Array:
    """Return a column of runs: of texts, those at the places `which`, each as often as its run is long."""
    places = np.repeat(np.array(which, np.int32), np.array(sizes, np.int64))
    return pa.array(texts, pa.string()).take(pa.array(places))
