"""golden/records.jsonl: records that Kafka's own classes wrote (by golden/GoldenRecords.java)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_groups.pipeline.facts.decode.records import RawRecords, decode

Row = dict[str, Any]


class Golden(NamedTuple):
    """A record: its bytes, and the fields that Kafka's JSON converters read from them."""

    type: int
    name: str
    version: int | None
    variant: str
    key: dict[str, Any]
    value: dict[str, Any] | None
    key_bytes: bytes
    value_bytes: bytes | None

    def __str__(self) -> str:
        return f"{self.name}-v{self.version}-{self.variant}"


class Routed(NamedTuple):
    """A group, and the partition that Kafka's code gives it."""

    group: str
    of: int
    partition: int


def _snake(found: dict[str, Any]) -> dict[str, Any]:
    return {re.sub("([A-Z])", lambda part: "_" + part[0].lower(), name): value for name, value in found.items()}


_TEXT = (Path(__file__).with_name("golden") / "records.jsonl").read_text(encoding="utf-8")
_LINES = [json.loads(line, object_hook=_snake) for line in _TEXT.splitlines()]
GOLDEN = [
    Golden(
        key_bytes=bytes.fromhex(line.pop("key_hex")),
        value_bytes=None if (value := line.pop("value_hex")) is None else bytes.fromhex(value),
        **line,
    )
    for line in _LINES
    if "type" in line
]
ROUTED = [Routed(**line) for line in _LINES if "of" in line]
BY_NAME = {str(golden): golden for golden in GOLDEN}


def raw(pairs: Sequence[tuple[bytes | None, bytes | None]]) -> pa.RecordBatch:
    """Return keys and values as RawRecords, one a second, from offset 100."""
    keys, values = [key for key, _ in pairs], [value for _, value in pairs]
    offsets = list(range(100, 100 + len(pairs)))
    times = [1_700_000_000_000 + 1000 * index for index in range(len(pairs))]
    return pa.record_batch([offsets, times, keys, values], schema=RawRecords.schema())


def rows_of(pairs: Sequence[tuple[bytes | None, bytes | None]]) -> list[Row]:
    """Return the decoded rows of keys and values, after Arrow's validation."""
    batch = decode(raw(pairs), "c1", 7)
    batch.validate(full=True)
    rows: list[Row] = batch.to_pylist()
    return rows


def row_of(key: bytes | None, value: bytes | None) -> Row:
    """Return the decoded row of one record."""
    [row] = rows_of([(key, value)])
    return row
