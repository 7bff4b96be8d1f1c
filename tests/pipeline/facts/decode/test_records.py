"""The columns that every decoded record has."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords
from kafka_groups.pipeline.facts.decode.records import RawRecords, decode
from tests.pipeline.facts.decode.golden_records import BY_NAME, GOLDEN, raw, rows_of


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
