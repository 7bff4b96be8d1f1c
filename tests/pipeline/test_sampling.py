"""A sample of a scripted cluster: every row, in which order things are asked, and what fails alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import ConnectionFailedError, StorageError
from kafka_groups.pipeline import sampling
from kafka_groups.pipeline.records.texts import topic_id_text
from kafka_groups.pipeline.sampling import Sampled, sample
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from tests.fakes.scripted_broker import silent
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster, topic_id

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "unread": {0: 2}, "__consumer_offsets": {0: 1}, "__state": {0: 1}}
NOON_MS = 1_790_000_000_000
MEMBER = {
    "member_id": "m-1",
    "instance_id": "i-1",
    "client_id": "c-1",
    "client_host": "/10.0.0.1",
    "assignment": {"topic_partitions": [{"topic_name": "payments", "partitions": [0, 2]}]},
}
GROUPS = {
    "orders": Group(
        coordinator=2,
        type="Consumer",
        assignor="uniform",
        epoch=9,
        commits={("payments", 0): Commit(offset=5, epoch=3, metadata="here"), ("payments", 1): 7, ("gone", 0): 1},
        members=[MEMBER],
    ),
    "billing": Group(coordinator=1, state="Empty", commits={("payments", 0): 0, ("__state", 0): 2}),
    "shared": Group(coordinator=3, type="Share", protocol_type="share", state="Stable"),
    "connect": Group(coordinator=3, protocol_type="connect", state="Stable"),
}


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path / "tables"), create=True)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with ScriptedCluster(
        groups=GROUPS, topics=TOPICS, ends={("payments", 0): 12}, starts={("payments", 0): 2}
    ) as found:
        found.stable["payments", 0] = 11
        yield found


def clock() -> Callable[[], int]:
    ticks = itertools.count(NOON_MS, 1000)
    return lambda: next(ticks)


def take(cluster: ScriptedCluster, storage: Storage, **settings: Any) -> Sampled:
    with cluster.admin(**settings) as admin:
        return sample(admin, storage, cluster_id="scripted", now_ms=clock())


def rows_of(storage: Storage, table: Table) -> list[dict[str, Any]]:
    """All rows, without what is null."""
    found = ds.dataset(storage.path(table), partitioning="hive").to_table().to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in found]


def ms(row: dict[str, Any], column: str) -> int:
    return round(row[column].timestamp() * 1000)


def test_commits_of_all_groups_are_rows(cluster: ScriptedCluster, storage: Storage) -> None:
    done = take(cluster, storage)

    rows = rows_of(storage, OFFSET_COMMITS)
    assert sorted((row["group"], row["topic"], row["partition"], row["committed_offset"]) for row in rows) == [
        ("billing", "__state", 0, 2),
        ("billing", "payments", 0, 0),
        ("orders", "gone", 0, 1),
        ("orders", "payments", 0, 5),
        ("orders", "payments", 1, 7),
    ]
    told = next(row for row in rows if row["metadata"])
    assert ms(told, "commit_time") == ms(told, "record_time") == NOON_MS + 1000
    assert {name: told[name] for name in told if not name.endswith("_time")} == {
        "cluster_id": "scripted",
        "origin": "sample",
        "group": "orders",
        "topic": "payments",
        "partition": 0,
        "committed_offset": 5,
        "leader_epoch": 3,
        "metadata": "here",
        "tombstone": False,
        "date": "2026-09-21",
        "batch": done.batch,
    }
    assert done.rows == {"offset_commits": 5, "group_events": 4, "partition_offsets": 5}


def test_a_described_group_is_told_with_its_epoch_and_members(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    orders = next(row for row in rows_of(storage, GROUP_EVENTS) if row["group"] == "orders")
    members = orders.pop("members")
    assert ms(orders, "record_time") == NOON_MS
    assert {name: orders[name] for name in orders if name not in ("record_time", "date", "batch")} == {
        "cluster_id": "scripted",
        "origin": "sample",
        "group": "orders",
        "tombstone": False,
        "type": "Snapshot",
        "meaning": "state_seen",
        "epoch": 9,
        "protocol": "uniform",
        "protocol_type": "consumer",
        "group_type": "Consumer",
        "state": "Stable",
    }
    assert members[0]["member_id"] == "m-1"
    assert members[0]["assignment"] == [{"topic": "payments", "topic_id": None, "partitions": [0, 2]}]


def test_groups_that_the_listing_tells_all_of_are_not_described(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    told = {row["group"]: (row["group_type"], row["state"], "members" in row) for row in rows_of(storage, GROUP_EVENTS)}
    assert told == {
        "billing": ("Classic", "Empty", False),
        "connect": ("Classic", "Stable", False),
        "orders": ("Consumer", "Stable", True),
        "shared": ("Share", "Stable", False),
    }
    assert cluster.requests()["DescribeGroups"] == 0
    assert cluster.requests()["ConsumerGroupDescribe"] == 1


def test_logs_of_all_topics_are_rows_and_internal_ones_only_where_they_are_read(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    take(cluster, storage)

    rows = rows_of(storage, PARTITION_OFFSETS)
    found = {(row["topic"], row["partition"]): row for row in rows}
    assert sorted(found) == [("__state", 0), ("payments", 0), ("payments", 1), ("payments", 2), ("unread", 0)]
    first = found["payments", 0]
    assert (first["log_start_offset"], first["last_stable_offset"], first["log_end_offset"]) == (2, 11, 12)
    assert first["topic_id"] == topic_id_text(topic_id("payments").bytes)
    assert {ms(row, "observed_at") for row in rows} == {NOON_MS + 2000}
    assert {row["origin"] for row in rows} == {"sample"}


def test_commits_are_asked_for_before_log_ends(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    fetched = max(asked.at for asked in cluster.asked("OffsetFetch"))
    assert fetched < min(asked.at for asked in cluster.asked("ListOffsets"))
    at = [
        (asked.body["isolation_level"], asked.body["topics"][0]["partitions"][0]["timestamp"])
        for asked in cluster.asked("ListOffsets")
    ]
    assert at == [(0, -2)] * 3 + [(1, -1)] * 3 + [(0, -1)] * 3


def test_a_sample_costs_few_requests(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    assert cluster.requests() == {
        "ListGroups": 3,
        "ConsumerGroupDescribe": 1,
        "OffsetFetch": 3,
        "Metadata": 1,
        "ListOffsets": 9,
    }


def test_what_fails_is_told_once_and_the_rest_is_written(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.groups["billing"].error = 30
    cluster.topics["payments"] = {0: 1, 1: -1, 2: 3}

    done = take(cluster, storage)

    assert [(each.group, each.topic, each.partition, each.name) for each in done.failures] == [
        ("billing", None, None, "GROUP_AUTHORIZATION_FAILED"),
        (None, "payments", 1, "LEADER_NOT_AVAILABLE"),
    ]
    assert done.rows == {"offset_commits": 3, "group_events": 4, "partition_offsets": 3}
    cluster.groups["billing"].error = 0


def test_a_silent_broker_does_not_use_up_the_time_of_the_others(cluster: ScriptedCluster, storage: Storage) -> None:
    with cluster.admin() as admin:
        admin.brokers()
    for api in ("ListGroups", "ListOffsets"):
        cluster.script(api, *[silent] * 9, brokers=[3])
    settings = cluster.settings(timeout_s=2.0)
    with GroupAdmin(settings, one_deadline=True) as admin:
        done = sample(admin, storage, cluster_id="scripted", now_ms=clock())

    assert {(row["topic"], row["partition"]) for row in rows_of(storage, PARTITION_OFFSETS)} == {
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


def test_a_group_that_is_gone_by_now_has_no_state(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script(
        "ConsumerGroupDescribe", lambda _asked, _answer: {"groups": [{"group_id": "orders", "error_code": 69}]}
    )

    done = take(cluster, storage)

    assert done.failures == ()
    assert sorted(row["group"] for row in rows_of(storage, GROUP_EVENTS)) == ["billing", "connect", "shared"]


def test_a_described_failure_leaves_what_the_listing_told(cluster: ScriptedCluster, storage: Storage) -> None:
    cluster.script(
        "ConsumerGroupDescribe", lambda _asked, _answer: {"groups": [{"group_id": "orders", "error_code": 29}]}
    )

    done = take(cluster, storage)

    orders = next(row for row in rows_of(storage, GROUP_EVENTS) if row["group"] == "orders")
    assert (orders["state"], orders["group_type"]) == ("Stable", "Consumer")
    assert [failure.group for failure in done.failures] == ["orders"]


def test_two_samples_are_two_batches(cluster: ScriptedCluster, storage: Storage) -> None:
    first, second = take(cluster, storage), take(cluster, storage)

    assert first.batch != second.batch
    assert first.batch.startswith("sample-20260921T")
    assert {each.batch for each in storage.batches(GROUP_EVENTS)} == {first.batch, second.batch}


def test_many_commits_are_written_in_parts(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(sampling, "_GROUPS_AT_ONCE", 3)

    done = take(cluster, storage)

    assert done.rows == {"offset_commits": 5, "group_events": 4, "partition_offsets": 5}
    assert len(rows_of(storage, OFFSET_COMMITS)) == 5
    assert len(rows_of(storage, GROUP_EVENTS)) == 4


def test_a_cluster_without_anything_leaves_no_rows(storage: Storage) -> None:
    with ScriptedCluster() as cluster:
        done = take(cluster, storage)

    assert (done.groups, set(done.rows.values()), done.failures) == (0, {0}, ())


def test_a_cluster_that_cannot_be_reached_leaves_the_tables_as_they_were(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    for number in cluster.brokers:
        cluster.stop(number)
    with pytest.raises(ConnectionFailedError):
        take(cluster, storage)
    assert storage.batches(OFFSET_COMMITS) == []


def test_rows_that_cannot_be_published_are_in_no_table(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(storage, "publish", refuse)
    with pytest.raises(StorageError, match="full"):
        take(cluster, storage)
    assert storage.batches(GROUP_EVENTS) == []
    assert list(Path(storage.into).rglob("*.parquet")) == []
