"""What every row has, whatever its record; rows for offsets without a record; where a group's records are."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kafka_groups.pipeline.facts.decode.data_gaps import DataGap, gap_row
from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords
from kafka_groups.pipeline.facts.decode.partitioner import partition_of
from kafka_groups.pipeline.facts.decode.raw_records import RawRecords
from kafka_groups.pipeline.facts.decode.records import decode
from tests.pipeline.facts.decode.golden_records import BY_NAME, GOLDEN, ROUTED, raw, rows_of


def test_a_row_has_the_place_and_the_time_of_its_record() -> None:
    rows = rows_of([(golden.key_bytes, golden.value_bytes) for golden in GOLDEN[:3]])
    assert [(row["cluster_id"], row["source_partition"], row["source_offset"]) for row in rows] == [
        ("c1", 7, 100),
        ("c1", 7, 101),
        ("c1", 7, 102),
    ]
    assert rows[2]["record_time"] == datetime(2023, 11, 14, 22, 13, 22, tzinfo=UTC)


@pytest.mark.parametrize("count", [1, 2, len(GOLDEN)])
def test_decoded_rows_have_the_columns_of_the_frame(count: int) -> None:
    batch = decode(raw([(golden.key_bytes, golden.value_bytes) for golden in GOLDEN[:count]]), "c1", 7)
    batch.validate(full=True)
    assert batch.schema == DecodedRecords.schema()


@pytest.mark.parametrize("timestamp", [-1, 2**63 - 1, -(2**63)])
def test_a_record_with_an_impossible_timestamp_has_no_time(timestamp: int) -> None:
    key = BY_NAME["GroupMetadata-vNone-tombstone"].key_bytes
    records = pa.record_batch([[5], [timestamp], [key], [None]], schema=RawRecords.schema())
    [row] = decode(records, "c1", 0).to_pylist()
    assert row["record_time"] is None


def test_a_gap_is_one_row() -> None:
    gap = DataGap(from_offset=10, until_offset=19, missing=4, reason="retention")
    batch = gap_row("c1", 3, gap, found_at_ms=1_700_000_000_000)
    assert batch.schema == DecodedRecords.schema()
    [row] = batch.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "cluster_id": "c1",
        "kind": "gap",
        "source_partition": 3,
        "source_offset": 10,
        "record_time": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "gap": {"from_offset": 10, "until_offset": 19, "missing": 4, "reason": "retention"},
    }


def test_the_partition_of_a_group_is_that_of_kafka() -> None:
    assert [partition_of(routed.group, routed.of) for routed in ROUTED] == [routed.partition for routed in ROUTED]


def test_the_smallest_hash_gives_the_first_partition() -> None:
    # String.hashCode of this word is Integer.MIN_VALUE, which Math.abs leaves negative.
    assert partition_of("polygenelubricants", 50) == 0
