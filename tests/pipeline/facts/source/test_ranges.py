"""Chunks of records: their limits, and their content."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from kafka_groups.pipeline.facts.decode.data_gaps import DataGap
from kafka_groups.pipeline.facts.source.range_plan import Range
from kafka_groups.pipeline.facts.source.ranges import CHUNK_RECORDS, RangeReader


class Log:
    """A consumer of one partition that has a record with the same value at every offset."""

    def __init__(self, value: bytes) -> None:
        self._value = value
        self._next = 0

    def assign(self, places: list[Any]) -> None:
        self._next = places[0].offset

    def consume(self, number: int, _timeout: float) -> list[Message]:
        """Return the requested number of records without a wait."""
        start, self._next = self._next, self._next + number
        return [
            Message(topic="t", partition=3, offset=at, key=b"k", value=self._value, timestamp=(1, 1_000 + at))
            for at in range(start, self._next)
        ]


def chunks_of(value: bytes, records: int) -> list[pa.RecordBatch]:
    reader: Any = RangeReader(Log(value), Range(3, 5, 5 + records), {}, 1.0)  # type: ignore[arg-type]  # it acts as a Consumer
    found: list[pa.RecordBatch | DataGap] = list(reader.read())
    chunks = [part for part in found if isinstance(part, pa.RecordBatch)]
    assert len(chunks) == len(found)
    offsets = [offset for chunk in chunks for offset in chunk["offset"].to_pylist()]
    assert offsets == list(range(5, 5 + records))
    return chunks


@pytest.mark.parametrize(
    ("bytes_of_value", "records", "sizes"),
    [
        (10, CHUNK_RECORDS + 1, [CHUNK_RECORDS, 1]),
        (10, 3_000, [3_000]),
        (10_000, 5_000, [2_048, 2_048, 904]),
    ],
)
def test_a_chunk_has_a_limit_of_records_and_of_bytes(bytes_of_value: int, records: int, sizes: list[int]) -> None:
    assert [len(chunk) for chunk in chunks_of(b"x" * bytes_of_value, records)] == sizes


def test_batches_of_a_chunk_keep_their_values_and_times() -> None:
    (chunk,) = chunks_of(b"value", 5_000)
    assert set(chunk["value"].to_pylist()) == {b"value"}
    assert chunk["timestamp_ms"].to_pylist() == [1_000 + at for at in range(5, 5_005)]
