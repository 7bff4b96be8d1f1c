"""Record batches from values, and the lines of a text. Both move to where they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pyarrow as pa

from kafka_groups.surrogates import escape_bytes


def logical_lines(text: str) -> list[str]:
    """Return the lines of a text without their margin, each joined with those of a deeper margin behind it."""
    return re.sub(r"\n +", " ", dedent(text).strip()).splitlines()


def shaped(schema: pa.Schema, size: int, columns: Mapping[str, Any], same: Mapping[str, Any]) -> pa.RecordBatch:
    """Return `size` rows: columns, or values that all rows share (times: microseconds), else null."""

    def column(name: str, kind: pa.DataType) -> Any:
        if columns.get(name) is None:
            return pa.repeat(pa.scalar(same.get(name), kind), size)
        found = columns[name]
        return found.cast(kind) if isinstance(found, pa.Array) else _to_arrow(found, kind)

    return pa.RecordBatch.from_arrays([column(field.name, field.type) for field in schema], schema=schema)


def _to_arrow(values: Any, kind: pa.DataType) -> Any:
    """Return values as a column; a name that is not UTF-8, which some brokers return, has visible escapes in it."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(_escaped(values), kind)


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return escape_bytes(value)
    if isinstance(value, Mapping):
        return {name: _escaped(each) for name, each in value.items()}
    return [_escaped(each) for each in value] if isinstance(value, list | tuple) else value
