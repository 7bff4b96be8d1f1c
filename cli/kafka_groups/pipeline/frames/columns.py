"""A column: its name, its Arrow type, the unit of its values, and its description."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

STRING: Final = pa.string()
BINARY: Final = pa.binary()
BOOLEAN: Final = pa.bool_()
INT8: Final = pa.int8()
INT16: Final = pa.int16()
INT32: Final = pa.int32()
INT64: Final = pa.int64()
FLOAT64: Final = pa.float64()
DATE: Final = pa.date32()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
STRINGS: Final = pa.list_(STRING)

# Units of columns of numbers. A time is counted from 1970-01-01T00:00Z.
MICROSECONDS: Final = "µs"
MILLISECONDS: Final = "ms"
DAYS: Final = "days since 1970-01-01"
OFFSET: Final = "offset"
RECORDS: Final = "records"
PER_SECOND: Final = "records per second"
INDEX: Final = "index"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a frame; `unit` is empty if the values have no unit, and `about` is the description."""

    name: str
    type: pa.DataType
    unit: str
    about: str


def column(data_type: pa.DataType, description: str, *, unit: str = "") -> Any:
    """Declare a field of a frame as a column of this Arrow type. The field's annotation is for mypy only."""
    return field(metadata={"type": data_type, "unit": unit, "about": description})
