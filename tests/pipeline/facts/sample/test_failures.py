"""What of a sample fails alone, and what leaves the tables as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import ConnectionFailedError, StorageError
from kafka_groups.pipeline.facts.sample import sample
from kafka_groups.pipeline.store import Storage, open_storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SAMPLE_RUNS
from tests.fakes.raw_names import with_bytes
from tests.fakes.reactions import plain, silent
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster
from tests.pipeline.facts.sample.samples import clock, rows_of, take
from tests.pipeline.store.commits import count_rows, delta_rows


def test_failures_are_reported_once_and_the_rest_is_written(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.groups["billing"].error = 30
    cluster.topics["payments"] = {0: 1, 1: -1, 2: 3}

    done = take(cluster, storage)

    assert [(each.group, each.topic, each.partition, each.name) for each in done.failures] == [
        ("billing", None, None, "GROUP_AUTHORIZATION_FAILED"),
        (None, "payments", 1, "LEADER_NOT_AVAILABLE"),
    ]
    assert done.rows == {"offset_commits": 3, "group_events": 4, "partition_offsets": 5, "share_offsets": 2}
    cluster.groups["billing"].error = 0


def test_a_partition_with_an_unknown_log_end_has_a_row(cluster: ScriptedCluster, storage: Storage) -> None:
    """Of topic `gone` the brokers know nothing any more, though a group has a commit on it."""
    cluster.topics["payments"] = {0: 1, 1: -1, 2: 3}

    take(cluster, storage)

    rows = {(row["topic"], row["partition"]): row for row in rows_of(storage, PARTITION_OFFSETS)}
    assert "log_end_offset" not in rows["payments", 1]
    assert rows["payments", 2]["log_end_offset"] == 100
    assert "gone" not in {topic for topic, _ in rows}


def test_committed_partitions_of_a_topic_that_fails_have_rows(cluster: ScriptedCluster, storage: Storage) -> None:
    def forget(_asked: object, answer: dict[str, Any]) -> dict[str, Any]:
        topics = [
            topic | {"error_code": 5, "partitions": []} if topic["name"] == "payments" else topic
            for topic in answer["topics"]
        ]
        return answer | {"topics": topics}

    with cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", plain, forget)
        done = sample(admin, storage, now_ms=clock())

    found = {(row["topic"], row["partition"]) for row in rows_of(storage, PARTITION_OFFSETS)}
    assert {("payments", 0), ("payments", 1), ("unread", 0)} <= found
    assert ("payments", None) in {(each.topic, each.partition) for each in done.failures}


def test_names_that_are_not_utf_8_are_written_with_visible_escapes(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script("ListGroups", with_bytes("billing", b"b\xff\xff\xff\xff\xff\xff"), brokers=[1])
    cluster.script("OffsetFetch", with_bytes("here", b"her\xff"), brokers=[2])
    cluster.script("ConsumerGroupDescribe", with_bytes("c-1", b"c-\xff"), brokers=[2])

    done = take(cluster, storage)

    groups = {row["group"]: row for row in rows_of(storage, GROUP_EVENTS)}
    assert {"orders", r"b\xff\xff\xff\xff\xff\xff"} <= {*groups}
    assert groups["orders"]["members"][0]["client_id"] == r"c-\xff"
    assert r"her\xff" in {row["metadata"] for row in rows_of(storage, OFFSET_COMMITS)}
    # Its commits cannot be requested, and no commits of another group stand for them.
    assert [each.group for each in done.failures] == ["b" + 6 * "\udcff"]


@pytest.mark.timed
def test_a_silent_broker_does_not_use_up_the_time_of_the_others(cluster: ScriptedCluster, storage: Storage) -> None:
    with cluster.admin() as admin:
        admin.brokers()
    for api in ("ListGroups", "ListOffsets"):
        cluster.script(api, *[silent] * 9, brokers=[3])
    settings = cluster.settings(timeout_s=2.0)
    with GroupAdmin(settings) as admin:
        done = sample(admin, storage, now_ms=clock())

    known = [row for row in rows_of(storage, PARTITION_OFFSETS) if "log_end_offset" in row]
    assert {(row["topic"], row["partition"]) for row in known} == {
        ("__consumer_offsets", 0),
        ("__state", 0),
        ("payments", 0),
        ("payments", 1),
        ("unread", 0),
    }
    assert done.rows["offset_commits"] == 5
    assert [(each.topic, each.partition, each.name) for each in done.failures] == [
        (None, None, "TIMEOUT"),
        ("payments", 2, "TIMEOUT"),
    ]


def test_a_refused_partition_is_a_failure_of_its_own(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.groups["orders"] = Group(
        coordinator=2, commits={("payments", 0): 5, ("payments", 1): Commit(offset=-1, error=29)}
    )

    done = take(cluster, storage)

    assert [(each.group, each.topic, each.partition, each.code) for each in done.failures] == [
        ("orders", "payments", 1, 29)
    ]


def test_a_group_that_is_deleted_meanwhile_has_no_row(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script(
        "ConsumerGroupDescribe", lambda _asked, _answer: {"groups": [{"group_id": "orders", "error_code": 69}]}
    )

    done = take(cluster, storage)

    assert done.failures == ()
    assert sorted(row["group"] for row in rows_of(storage, GROUP_EVENTS)) == ["billing", "connect", "shared"]


def test_unreadable_commits_of_a_group_deleted_meanwhile_are_a_failure(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    """A group that has become a classic one is not found either when it is described, and still has commits."""
    cluster.script(
        "ConsumerGroupDescribe", lambda _asked, _answer: {"groups": [{"group_id": "orders", "error_code": 69}]}
    )
    cluster.groups["orders"].error = 30

    done = take(cluster, storage)

    cluster.groups["orders"].error = 0
    assert [(each.group, each.name) for each in done.failures] == [("orders", "GROUP_AUTHORIZATION_FAILED")]
    assert [row["failures"] for row in rows_of(storage, SAMPLE_RUNS)] == [1]


def test_a_group_that_cannot_be_described_has_the_listed_state(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script(
        "ConsumerGroupDescribe", lambda _asked, _answer: {"groups": [{"group_id": "orders", "error_code": 29}]}
    )

    done = take(cluster, storage)

    orders = next(row for row in rows_of(storage, GROUP_EVENTS) if row["group"] == "orders")
    assert (orders["state"], orders["group_type"]) == ("Stable", "Consumer")
    assert [failure.group for failure in done.failures] == ["orders"]


def test_a_cluster_that_cannot_be_reached_leaves_the_tables_as_they_were(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    for number in cluster.brokers:
        cluster.stop(number)
    with pytest.raises(ConnectionFailedError):
        take(cluster, storage)
    assert storage.files(OFFSET_COMMITS) == []


def test_the_directory_is_made_once_the_cluster_can_be_reached(cluster: ScriptedCluster, tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "new"), create=True)
    with ScriptedCluster() as stopped:
        for number in stopped.brokers:
            stopped.stop(number)
        with pytest.raises(ConnectionFailedError):
            take(stopped, storage)
    assert [*tmp_path.iterdir()] == []

    assert take(cluster, storage).cluster_id == "scripted"
    assert (tmp_path / "new" / "kafka-groups-pipeline.json").is_file()


def test_a_sample_that_is_not_finished_does_not_count(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = DeltaLog.commit

    def until_the_last(log: DeltaLog, **changes: Any) -> None:
        if log._table == SAMPLE_RUNS:
            raise StorageError("the disk is full")
        commit(log, **changes)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "commit", until_the_last)
        with pytest.raises(StorageError, match="full"):
            take(cluster, storage)
    assert delta_rows(storage, GROUP_EVENTS).num_rows == 4
    for table in (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, SAMPLE_RUNS):
        assert storage.files(table) == []
    take(cluster, storage)
    assert (count_rows(storage, GROUP_EVENTS), count_rows(storage, SAMPLE_RUNS)) == (4, 1)
