"""Packed rows: what tasks get after a shuffle is what was packed, and the rows of a key stay together."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.frames import CommittedOffsets, ObservedOffsets
from kafka_groups.pipeline.build.group_frames import EventRows
from kafka_groups.pipeline.build.keyed_tables import batch_by_key, sort_rows
from kafka_groups.pipeline.build.packing import columns_of, unpack
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.stage_rows import (
    KEY,
    RowKind,
    StageRows,
    make_file_rows,
    pack_commits,
    pack_events,
    read_results,
    select_kind,
    unpack_events,
)
from kafka_groups.pipeline.store import DataFile
from kafka_groups.pipeline.store.data_files import from_rows
from tests.pipeline.build.facts import StageFacts, stage_facts
from tests.pipeline.proof import facts_of


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return facts_of(1, 3)


@pytest.fixture(scope="module")
def packed(facts: dict[str, Any]) -> StageFacts:
    return stage_facts(facts)


@pytest.mark.parametrize(
    ("name", "kind", "frame"),
    [
        ("offset_commits", RowKind.COMMITS, CommittedOffsets),
        ("partition_offsets", RowKind.OBSERVATIONS, ObservedOffsets),
    ],
)
def test_every_fact_of_a_partition_is_packed_once(
    facts: dict[str, Any], packed: StageFacts, name: str, kind: RowKind, frame: Any
) -> None:
    rows, _ = select_kind(packed.rows, kind)
    (numbers,) = unpack(rows["payload"], [columns_of(frame)])
    assert len(numbers.owner) == len(facts[name])
    assert len(rows) < len(facts[name]) / 3


def test_every_event_of_a_group_is_packed_once(facts: dict[str, Any], packed: StageFacts) -> None:
    rows, _ = select_kind(packed.rows, RowKind.EVENTS)
    events, owner = unpack_events(rows["payload"])
    assert len(events) == len(owner) == len(facts["group_events"])
    assert events.schema == EventRows.schema()
    assert {*events["event_type"].to_pylist()} == {row["event_type"] for row in facts["group_events"]}


def test_a_batch_does_not_depend_on_the_order_of_the_packed_rows(packed: StageFacts) -> None:
    is_event, indices = select_kind(packed.rows, RowKind.EVENTS)
    assert len(is_event)
    of_partitions = [index for index in range(len(packed.rows)) if index not in {*indices.tolist()}]
    order = random.Random(1).sample(of_partitions, len(of_partitions))
    first = PartitionBatch.from_rows(packed.rows.take(pa.array(of_partitions)))
    second = PartitionBatch.from_rows(packed.rows.take(pa.array(order)))
    names = ("key", "at_us", "source_offset", "is_record", "is_deletion", "committed_offset")
    for name in names:
        assert np.array_equal(*(getattr(batch.commits.sort_by(*names), name) for batch in (first, second)))
    assert first.group.equals(second.group)


def test_a_key_with_many_rows_has_payloads_of_about_64_kib() -> None:
    size = 200_000
    rows = pa.record_batch(
        {
            "cluster_id": ["c"] * size,
            "topic": ["t"] * size,
            "partition": pa.array([0] * size, pa.int32()),
            "group": ["g"] * size,
            "day": pa.array([1] * size, pa.int32()),
            "at_us": np.arange(size),
            "source_offset": np.arange(size),
            "is_record": [True] * size,
            "is_deletion": [False] * size,
            "committed_offset": np.arange(size),
            "topic_id": pa.nulls(size, pa.int64()),
            "member_count": pa.nulls(size, pa.int64()),
        }
    )
    parts = [rows.slice(first, 1_000) for first in range(0, size, 1_000)]
    packed = pa.Table.from_batches(pack_commits(iter(parts)))
    assert max(len(value) for value in packed["payload"].to_pylist()) <= 65_536
    assert len(packed) < 300
    (commits,) = unpack(packed["payload"], [columns_of(CommittedOffsets)])
    assert np.array_equal(np.sort(commits.columns["at_us"]), np.arange(size))


def test_events_of_a_group_on_a_day_are_one_record_batch() -> None:
    empty = dict.fromkeys(EventRows.names())
    rows = [empty | {"origin": "topic", "at_us": at_us, "topics": ["t"]} for at_us in (3, 1, 2)]
    batch = pa.RecordBatch.from_pylist(rows, EventRows.schema())
    keys = {"cluster_id": pa.array(["c"] * 3), "group": pa.array(["g", "h", "g"]), "day": pa.array([4] * 3, pa.int32())}
    columns = dict(zip(batch.schema.names, batch.columns, strict=True)) | keys
    packed = pa.Table.from_batches(pack_events(iter([pa.record_batch(columns)])))
    assert packed["group"].to_pylist() == ["g", "h"]
    events, owner = unpack_events(packed["payload"])
    assert (events["at_us"].to_pylist(), owner.tolist()) == ([3, 2, 1], [0, 0, 1])


def test_files_for_the_driver_are_typed_rows_beside_other_rows() -> None:
    files = [DataFile("lag_history", "2026-11-26", "/tables/x.parquet", 3, 4)]
    empty = StageRows.schema().empty_table()
    rows = pa.concat_tables([empty, pa.Table.from_batches([make_file_rows(files)])])
    assert from_rows(read_results(rows, "file")) == files
    assert read_results(rows, "topic_day").num_rows == 0


def test_rows_of_a_key_are_gathered_in_one_table() -> None:
    keys = [1, 1, 2, 2, 2, 2, 2, 2, 3, 4, 4, 5]
    batches = [pa.record_batch({"key": keys[index : index + 2]}) for index in range(0, len(keys), 2)]
    tables = [table["key"].to_pylist() for table in batch_by_key(iter(batches), ("key",), 3)]
    assert [key for table in tables for key in table] == keys
    assert all(set(first).isdisjoint(second) for index, first in enumerate(tables) for second in tables[index + 1 :])
    assert len(tables) > 2
    assert [len(table) for table in batch_by_key(iter(batches), (), 4)] == [4, 4, 4]
    assert list(batch_by_key(iter([]), ("key",), 3)) == []


def test_rows_are_sorted_as_spark_sorts_them_with_null_first() -> None:
    rows = pa.table({"group": ["b", None, "a", "b"], "index": [2, 3, 1, 1]})
    assert sort_rows(rows, ("group", "index")).to_pylist() == [
        {"group": None, "index": 3},
        {"group": "a", "index": 1},
        {"group": "b", "index": 1},
        {"group": "b", "index": 2},
    ]
    assert KEY[-1] == "group"
