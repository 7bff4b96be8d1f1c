"""Conversion of times and topic ids of records to the form that they have in the tables."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.frames.arrays import Ints
from kafka_groups.pipeline.frames.columns import TIMESTAMP

# The years 1 to 9999, which every program that reads the tables can represent.
EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
NO_TIME_MS: Final = -1  # Kafka's value for an unknown time.


def topic_id_text(topic_id: bytes) -> str | None:
    """Return a topic id of 16 bytes as Kafka's tools print it, in base64 for URLs; None for the zero id."""
    if not any(topic_id):
        return None
    return urlsafe_b64encode(topic_id)[:-2].decode()


def microseconds(milliseconds: int) -> int | None:
    """Return a time in ms since 1970 as µs since 1970; None for -1, and outside of the years 1 to 9999."""
    if milliseconds == NO_TIME_MS or not EARLIEST_MS <= milliseconds <= LATEST_MS:
        return None
    return milliseconds * 1000


def timestamp_column(milliseconds: Ints) -> Any:
    """Return an Arrow column of timestamps from times in ms since 1970; null where `microseconds` returns None."""
    is_null = (milliseconds == NO_TIME_MS) | (milliseconds < EARLIEST_MS) | (milliseconds > LATEST_MS)
    # In microseconds, a time that is too large would overflow.
    times_ms = np.where(is_null, 0, milliseconds)
    return pa.array(times_ms * 1000, mask=is_null).cast(TIMESTAMP)
