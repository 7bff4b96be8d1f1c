"""Topic ids as Kafka's tools print them: base64 for URLs, without padding (Uuid.java)."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Final
from uuid import UUID

_PADDING: Final = "=="
_SIZE: Final = 16


def format_topic_id(topic_id: UUID) -> str:
    """Return the text of a topic id."""
    return urlsafe_b64encode(topic_id.bytes)[:-2].decode()


def parse_topic_id(text: str) -> UUID:
    """Return the topic id of a text; raise ValueError if it is none."""
    try:
        content = urlsafe_b64decode(text.encode() + _PADDING.encode())
    except (Error, UnicodeError) as error:
        msg = f"'{text}' is not a topic id"
        raise ValueError(msg) from error
    if len(content) != _SIZE or format_topic_id(UUID(bytes=content)) != text:
        msg = f"'{text}' is not a topic id"
        raise ValueError(msg)
    return UUID(bytes=content)
