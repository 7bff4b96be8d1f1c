"""Rows for ranges of offsets without a record."""

from __future__ import annotations

from datetime import UTC, datetime

from kafka_groups.pipeline.facts.decode.data_gaps import DataGap, gap_row
from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords


def test_a_gap_is_one_row() -> None:
    gap = DataGap(first_offset=10, last_offset=19, missing=4, reason="retention")
    batch = gap_row("c1", 3, gap, found_at_ms=1_700_000_000_000)
    assert batch.schema == DecodedRecords.schema()
    [row] = batch.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "cluster_id": "c1",
        "kind": "gap",
        "source_partition": 3,
        "source_offset": 10,
        "record_time": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "gap": {"first_offset": 10, "last_offset": 19, "missing": 4, "reason": "retention"},
    }
