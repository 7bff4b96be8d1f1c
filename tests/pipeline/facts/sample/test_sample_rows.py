"""The record batches of a sample, from what an Admin client returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.admin import Topic
from kafka_groups.commits import CommitTuple
from kafka_groups.members import ConnectorTasks, ConnectWorker, StreamsMember, SubtopologyTasks, TaskAssignment
from kafka_groups.model import GroupDescription, GroupListing, GroupOffsets, Member, TopicPartition
from kafka_groups.pipeline.facts import sample_rows
from kafka_groups.pipeline.facts.sample_rows import group_batches, offset_commit_batches, partition_batches
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS

if TYPE_CHECKING:
    import pytest

SHARED = {"cluster_id": "c", "origin": "sample"}


def test_a_partition_without_a_commit_has_no_row() -> None:
    commits = CommitTuple([(0, 5, 3, "here"), (1, None, None, None), (2, 0, None, "")])
    offsets = GroupOffsets([("empty", CommitTuple()), ("orders", commits)])
    (batch,) = offset_commit_batches({"g": offsets}, {"g": 3}, common_columns=SHARED)
    assert batch.schema == OFFSET_COMMITS.arrow()
    rows = batch.select(["group", "topic", "partition", "committed_offset", "leader_epoch", "metadata"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("g", "orders", 0, 5, 3, "here"),
        ("g", "orders", 2, 0, None, ""),
    ]


def test_commits_have_the_number_of_members_where_it_is_known() -> None:
    offsets = GroupOffsets([("orders", CommitTuple([(0, 1, None, ""), (1, 1, None, "")]))])
    (batch,) = offset_commit_batches(dict.fromkeys(["a", "b", "c"], offsets), {"a": 3, "b": 0}, common_columns=SHARED)
    assert batch["member_count"].to_pylist() == [3, 3, 0, 0, None, None]


def test_commits_of_a_group_are_in_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_rows, "_BATCH_ROWS", 3)
    offsets = GroupOffsets([("orders", CommitTuple([(0, 1, None, ""), (1, 1, None, "")]))])
    batches = offset_commit_batches(dict.fromkeys(["a", "b", "c"], offsets), {}, common_columns=SHARED)
    assert [batch["group"].to_pylist() for batch in batches] == [["a", "a", "b", "b"], ["c", "c"]]


def test_without_commits_there_is_no_batch() -> None:
    assert list(offset_commit_batches({"g": GroupOffsets()}, {}, common_columns=SHARED)) == []


def test_a_group_without_a_description_has_the_listed_state() -> None:
    listing = GroupListing(group="g", type="Share", state="Stable", protocol_type="share", coordinator=1)
    (batch,) = group_batches([listing], {}, common_columns=SHARED)
    assert batch.schema == GROUP_EVENTS.arrow()
    (row,) = batch.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        **SHARED,
        "group": "g",
        "record_name": "Snapshot",
        "event_type": "state_seen",
        "is_tombstone": False,
        "protocol_type": "share",
        "group_type": "Share",
        "state": "Stable",
    }


def test_the_workers_of_a_sampled_connect_group_have_what_they_run() -> None:
    worker = ConnectWorker("http://a:8083/", 7, (ConnectorTasks("file", True, (0, 2)),), scheduled_delay_ms=0)
    members = tuple(Member(name, None, "c", "/h", None, worker=own) for name, own in (("m1", worker), ("m2", None)))
    listing = GroupListing("g", "Classic", "Stable", "connect", 1)
    description = GroupDescription("g", "Classic", "Stable", "connect", None, members=members)
    (batch,) = group_batches([listing], {"g": description}, common_columns=SHARED)
    runs = [{"connector": "file", "has_connector": True, "tasks": [0, 2]}]
    assert batch["workers"].to_pylist() == [
        [
            {"member_id": "m1", "url": "http://a:8083/", "connectors": runs, "scheduled_delay_ms": 0},
            {"member_id": "m2", "url": None, "connectors": None, "scheduled_delay_ms": None},
        ]
    ]


def test_a_sampled_consumer_group_has_neither_workers_nor_tasks() -> None:
    listing = GroupListing("g", "Classic", "Stable", "consumer", 1)
    description = GroupDescription("g", "Classic", "Stable", "consumer", None)
    (batch,) = group_batches([listing], {"g": description}, common_columns=SHARED)
    assert (batch["workers"].to_pylist(), batch["tasks"].to_pylist()) == ([None], [None])


def test_the_members_of_a_sampled_streams_group_have_tasks() -> None:
    tasks = TaskAssignment(active=(SubtopologyTasks("0", (0, 1)),), standby=(SubtopologyTasks("1", (2,)),))
    member = Member("m1", None, "c", "/h", (), streams=StreamsMember("p", 0, tasks, TaskAssignment()))
    listing = GroupListing("g", "Streams", "Stable", "streams", 1)
    description = GroupDescription("g", "Streams", "Stable", "streams", None, members=(member,))
    (batch,) = group_batches([listing], {"g": description}, common_columns=SHARED)
    active, standby = ([{"subtopology": name, "partitions": own}] for name, own in (("0", [0, 1]), ("1", [2])))
    expected = [{"member_id": "m1", "active": active, "standby": standby, "warmup": []}]
    assert batch["tasks"].to_pylist() == [expected]
    assert batch["workers"].to_pylist() == [None]


def test_offsets_and_topic_ids_that_are_unknown_are_null() -> None:
    partitions = [TopicPartition("old", 0), TopicPartition("old", 1)]
    (batch,) = partition_batches(
        partitions,
        {"old": Topic("old", None, internal=False, partitions=(0, 1))},
        log_starts={partitions[0]: 0},
        log_ends={partitions[0]: 9, partitions[1]: None},
        last_stable_offsets={},
        common_columns=SHARED,
    )
    assert batch.schema == PARTITION_OFFSETS.arrow()
    columns = ["partition", "topic_id", "log_start_offset", "log_end_offset", "last_stable_offset"]
    rows = [tuple(row.values()) for row in batch.select(columns).to_pylist()]
    assert rows == [(0, None, 0, 9, None), (1, None, None, None, None)]
