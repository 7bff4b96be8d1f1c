"""The types of columns in Spark's notation."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_groups.pipeline.frames import columns

_SPARK_NAMES: Final = {
    columns.STRING: "STRING",
    columns.BINARY: "BINARY",
    columns.BOOLEAN: "BOOLEAN",
    columns.INT8: "TINYINT",
    columns.INT16: "SMALLINT",
    columns.INT32: "INT",
    columns.INT64: "BIGINT",
    columns.FLOAT64: "DOUBLE",
    columns.DATE: "DATE",
    columns.TIMESTAMP: "TIMESTAMP",
}


def spark_type_name(arrow_type: pa.DataType, *, is_short: bool = False) -> str:
    """Return the name of an Arrow type in Spark's DDL; `is_short` omits the fields of structs."""
    if pa.types.is_struct(arrow_type):
        fields = (
            "…" if is_short else ", ".join(f"`{field.name}`: {spark_type_name(field.type)}" for field in arrow_type)
        )
        return f"STRUCT<{fields}>"
    if pa.types.is_list(arrow_type):
        return f"ARRAY<{spark_type_name(arrow_type.value_type, is_short=is_short)}>"
    return _SPARK_NAMES[arrow_type]


def render_ddl(schema: pa.Schema) -> str:
    """Return the columns of an Arrow schema in the notation of Spark's DDL."""
    return ", ".join(f"`{field.name}` {spark_type_name(field.type)}" for field in schema)
