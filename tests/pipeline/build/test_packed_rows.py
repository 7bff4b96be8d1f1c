"""Packed rows: what tasks get after Spark's shuffle are the rows that were packed, in order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.arrays import gather_keys
from kafka_groups.pipeline.build.engine import GROUP_LAYOUT, PARTITION_LAYOUT, Layout, LocalEngine
from kafka_groups.pipeline.build.group_rows import FILE, GROUP_INPUT, STATUS
from kafka_groups.pipeline.build.partition_batch import COMMIT, INPUT, KEY_STATE
from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.proof import facts_of

Rows = list[dict[str, Any]]


def shuffled(layout: Layout, rows: Any, *, tasks: int = 3, seed: int = 1) -> Iterator[Any]:
    """The packed rows of several tasks as Spark hands them on: in the order of the key, in small batches."""
    chance = random.Random(seed)
    order = chance.sample(range(len(rows)), len(rows))
    packed = [
        row
        for task in range(tasks)
        for batch in layout.pack(iter(rows.take(pa.array(order[task::tasks], pa.int64())).to_batches(max_chunksize=50)))
        for row in batch.to_pylist()
    ]
    packed.sort(key=lambda row: tuple((row[name] is not None, row[name]) for name in layout.key))
    yield from pa.Table.from_pylist(packed, schema=layout.packed_schema()).to_batches(max_chunksize=7)


def unpacked(layout: Layout, rows: Any, **options: Any) -> Rows:
    batches = layout.unpack(shuffled(layout, rows, **options))
    found: Rows = pa.Table.from_batches(batches, schema=layout.schema).to_pylist()
    return found


def in_order(layout: Layout, rows: Rows) -> Rows:
    """Rows that agree in all columns of the order, in any order that is the same each time."""
    return sorted(rows, key=lambda row: (*((row[n] is not None, row[n]) for n in layout.order), str(row)))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    storage = new_storage(tmp_path_factory.mktemp("facts"))
    put_all(storage, "b", facts_of(1, 3))
    files = {name: storage.files(TABLES[name]) for name in ("offset_commits", "partition_offsets", "group_events")}
    engine = LocalEngine()
    of_partitions = [*files["offset_commits"], *files["partition_offsets"]]
    return {
        "partitions": engine.collect(of_partitions, PARTITION_LAYOUT.read, INPUT),
        "groups": engine.collect(files["group_events"], GROUP_LAYOUT.read, GROUP_INPUT),
    }


@pytest.mark.parametrize(("name", "layout"), [("partitions", PARTITION_LAYOUT), ("groups", GROUP_LAYOUT)])
def test_rows_of_several_tasks_come_back_whole_and_in_order(facts: dict[str, Any], name: str, layout: Layout) -> None:
    rows = facts[name]
    found = unpacked(layout, rows)
    assert in_order(layout, found) == in_order(layout, rows.to_pylist())
    keys = [tuple((row[n] is not None, row[n]) for n in layout.order) for row in found]
    assert keys == sorted(keys)
    assert len(found) > 300


def status(group: str, at: int, **others: Any) -> dict[str, Any]:
    row = {"cluster_id": "c", "name": group, "kind": STATUS, "day": 3, "topic": "t", "partition": 0, "at_us": at}
    return dict.fromkeys(GROUP_INPUT.names) | row | {"consume": 0.3} | others


def test_a_status_keeps_its_share_its_numbers_and_what_is_null() -> None:
    rows = [status("g", 5, rank=2, consume=1 / 3, lag=-7), status("g", 4, consume=None, lag=2**62), status("h", 1)]
    found = unpacked(GROUP_LAYOUT, pa.Table.from_pylist(rows, schema=GROUP_INPUT))
    assert found == [rows[1], rows[0], rows[2]]


def test_a_state_and_a_file_keep_their_payload() -> None:
    state = dict.fromkeys(INPUT.names) | {"cluster_id": "c", "topic": "t", "partition": 1, "group": "g"}
    state |= {"kind": KEY_STATE, "day": 2, "state": b"\0\1\2", "at_us": None}
    assert unpacked(PARTITION_LAYOUT, pa.Table.from_pylist([state], schema=INPUT)) == [state]
    file = dict.fromkeys(GROUP_INPUT.names) | {"kind": FILE, "payload": b"{}"}
    assert unpacked(GROUP_LAYOUT, pa.Table.from_pylist([file], schema=GROUP_INPUT)) == [file]


def test_a_key_with_many_rows_is_cut_into_packed_rows_of_64_kib_at_most() -> None:
    size = 200_000
    rows = pa.Table.from_pydict(
        {
            "cluster_id": ["c"] * size,
            "topic": ["t"] * size,
            "partition": [0] * size,
            "group": ["g"] * size,
            "kind": [COMMIT] * size,
            "at_us": np.arange(size)[::-1],
            **{name: [None] * size for name in INPUT.names[5:] if name != "at_us"},
        }
    )
    rows = rows.select(INPUT.names).cast(INPUT)
    packed = pa.Table.from_batches(PARTITION_LAYOUT.pack(iter(rows.to_batches(max_chunksize=1_000))))
    assert max(len(value) for value in packed["state"].to_pylist()) <= 65_536
    assert len(packed) < 300
    batches = list(PARTITION_LAYOUT.unpack(iter(packed.to_batches(max_chunksize=10))))
    assert np.array_equal(pa.Table.from_batches(batches)["at_us"], np.arange(size))


def test_rows_of_a_key_are_gathered_in_one_table() -> None:
    keys = [1, 1, 2, 2, 2, 2, 2, 2, 3, 4, 4, 5]
    pieces = [pa.record_batch({"key": keys[at : at + 2]}) for at in range(0, len(keys), 2)]
    found = [table["key"].to_pylist() for table in gather_keys(iter(pieces), ("key",), 3)]
    assert [key for table in found for key in table] == keys
    assert all(set(one).isdisjoint(other) for at, one in enumerate(found) for other in found[at + 1 :])
    assert len(found) > 2
    assert [len(table) for table in gather_keys(iter(pieces), (), 4)] == [4, 4, 4]
    assert list(gather_keys(iter([]), ("key",), 3)) == []
