"""golden/messages.jsonl as Python values: messages that Kafka's own classes wrote (by golden/Golden.java)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from kafka_groups.protocol import Struct


class Golden(NamedTuple):
    """One message: its bytes, and the values in them by the names of Kafka's schema."""

    api: str
    kind: str
    version: int
    variant: str
    values: Struct
    data: bytes


def _decode_object(value: dict[str, Any]) -> Any:
    match value:
        case {"$bytes": text}:
            return bytes.fromhex(text)
        case {"$uuid": text}:
            return UUID(text)
    return value


def _read(line: str) -> Golden:
    values = json.loads(line, object_hook=_decode_object)
    values["data"] = bytes.fromhex(values.pop("hex"))
    return Golden(**values)


_FILE = Path(__file__).with_name("golden") / "messages.jsonl"
GOLDEN = [_read(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
BY_NAME = {(golden.api, golden.kind, golden.version, golden.variant): golden for golden in GOLDEN}
