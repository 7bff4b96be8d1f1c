"""Ids, times and whole values as Kafka or JSON spell them."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

# Years 1 to 9999, which every consumer of a timestamp can hold; whatever lies outside is no time.
EARLIEST_MS: Final = -62_135_596_800_000
LATEST_MS: Final = 253_402_300_799_999
NO_TIME_MS: Final = -1


def topic_id_text(topic_id: bytes) -> str | None:
    """Return an id as Kafka's tools print it (Uuid.toString: base64 for URLs, no padding); None for the zero id."""
    return urlsafe_b64encode(topic_id)[:-2].decode() if any(topic_id) else None


def microseconds(milliseconds: int) -> int | None:
    """Return the time in microseconds; None if Kafka says that there is none (-1), or if it is no time at all."""
    if milliseconds == NO_TIME_MS or not EARLIEST_MS <= milliseconds <= LATEST_MS:
        return None
    return milliseconds * 1000


def json_text(values: Mapping[str, Any]) -> str:
    """Return all of a value as one compact JSON object: bytes in base64, ids as Kafka prints them."""
    return _JSON.encode(values)


def _plain(value: Any) -> str:
    if isinstance(value, UUID):
        return urlsafe_b64encode(value.bytes)[:-2].decode()
    return b64encode(value).decode()


_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)
