"""The frame of records as they are read: bytes that are not decoded yet."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_groups.pipeline.frames.columns import INT64, MILLISECONDS, OFFSET, column
from kafka_groups.pipeline.frames.frame import Frame, frame


@frame
class RawRecords(Frame):
    """A row is a record of one partition of `__consumer_offsets`, undecoded. Rows ascend by offset."""

    offset: Any = column(INT64, "offset of the record in its partition", unit=OFFSET)
    timestamp_ms: Any = column(INT64, "when the broker appended it, since 1970; -1 if unknown", unit=MILLISECONDS)
    key: Any = column(pa.large_binary(), "the key's bytes; null if the record has none")
    value: Any = column(pa.large_binary(), "the value's bytes; null for a tombstone")
