"""Records that a table has already are left out of its files."""

from __future__ import annotations

import pyarrow as pa

from kafka_groups.pipeline.source.task_reader import _without


def rows(column: str, *places: tuple[int, int]) -> pa.RecordBatch:
    partitions, offsets = zip(*places, strict=True)
    return pa.RecordBatch.from_pydict(
        {"source_partition": pa.array(partitions, pa.int32()), column: pa.array(offsets, pa.int64())}
    )


def test_records_below_the_offset_of_their_partition_are_left_out() -> None:
    found = _without(rows("source_offset", (0, 6), (0, 7), (0, 8), (1, 0), (2, 3)), {0: 7, 2: 4})
    assert found["source_offset"].to_pylist() == [7, 8, 0]


def test_gaps_are_left_out_by_their_first_offset() -> None:
    assert _without(rows("from_offset", (0, 6), (0, 9)), {0: 7})["from_offset"].to_pylist() == [9]


def test_usually_nothing_is_left_out() -> None:
    whole = rows("source_offset", (0, 6))
    assert _without(whole, {}) is whole
