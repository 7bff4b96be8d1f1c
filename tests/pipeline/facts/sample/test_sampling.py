"""A sample of a scripted cluster: every row, and the order of the requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.pipeline.facts.decode.conversions import topic_id_text
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SAMPLE_RUNS, SHARE_OFFSETS
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id
from tests.pipeline.facts.sample.samples import NOON_MS, ms, rows_of, take

if TYPE_CHECKING:
    import pytest


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
    reported = next(row for row in rows if row["metadata"])
    assert ms(reported, "commit_time") == ms(reported, "record_time") == NOON_MS + 1000
    assert {name: reported[name] for name in reported if not name.endswith("_time")} == {
        "cluster_id": "scripted",
        "origin": "sample",
        "group": "orders",
        "topic": "payments",
        "partition": 0,
        "committed_offset": 5,
        "leader_epoch": 3,
        "metadata": "here",
        "is_tombstone": False,
        "member_count": 1,
        "date": "2026-09-21",
    }
    assert done.rows == {"offset_commits": 5, "group_events": 4, "partition_offsets": 6, "share_offsets": 2}


def test_a_described_group_has_a_row_with_its_epoch_and_members(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    orders = next(row for row in rows_of(storage, GROUP_EVENTS) if row["group"] == "orders")
    members = orders.pop("members")
    assert ms(orders, "record_time") == NOON_MS
    assert {name: orders[name] for name in orders if name not in ("record_time", "date")} == {
        "cluster_id": "scripted",
        "origin": "sample",
        "group": "orders",
        "is_tombstone": False,
        "record_name": "Snapshot",
        "event_type": "state_seen",
        "epoch": 9,
        "protocol": "uniform",
        "protocol_type": "consumer",
        "group_type": "Consumer",
        "state": "Stable",
    }
    assert members[0]["member_id"] == "m-1"
    assert members[0]["assignment"] == [{"topic": "payments", "topic_id": None, "partitions": [0, 2]}]


def test_groups_that_the_listing_returns_as_a_whole_are_not_described(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    take(cluster, storage)

    reported = {
        row["group"]: (row["group_type"], row["state"], "members" in row) for row in rows_of(storage, GROUP_EVENTS)
    }
    assert reported == {
        "billing": ("Classic", "Empty", False),
        "connect": ("Classic", "Stable", True),
        "orders": ("Consumer", "Stable", True),
        "shared": ("Share", "Stable", True),
    }
    (request,) = cluster.requests_of("DescribeGroups")
    assert request.body["groups"] == ["connect"]
    assert cluster.requests()["ConsumerGroupDescribe"] == 1


def test_partitions_of_topics_are_rows_and_of_internal_ones_that_are_read(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    take(cluster, storage)

    rows = rows_of(storage, PARTITION_OFFSETS)
    found = {(row["topic"], row["partition"]): row for row in rows}
    assert sorted(found) == [
        ("__consumer_offsets", 0),
        ("__state", 0),
        ("payments", 0),
        ("payments", 1),
        ("payments", 2),
        ("unread", 0),
    ]
    first = found["payments", 0]
    assert (first["log_start_offset"], first["last_stable_offset"], first["log_end_offset"]) == (2, 11, 12)
    assert first["topic_id"] == topic_id_text(topic_id("payments").bytes)
    assert {ms(row, "observed_at") for row in rows} == {NOON_MS + 2000}
    assert {row["origin"] for row in rows} == {"sample"}


def test_start_offsets_and_lags_of_share_groups_are_rows_of_their_own(
    cluster: ScriptedCluster, storage: Storage
) -> None:
    take(cluster, storage)

    rows = sorted(rows_of(storage, SHARE_OFFSETS), key=lambda row: int(row["partition"]))
    # The coordinator knows neither the offset nor the lag of partition 1.
    known = ("group", "topic", "partition", "start_offset", "lag")
    assert [tuple(row.get(name) for name in known) for row in rows] == [
        ("shared", "payments", 0, 3, 4),
        ("shared", "payments", 1, None, None),
    ]
    (run,) = rows_of(storage, SAMPLE_RUNS)
    assert {ms(row, "observed_at") for row in rows} == {ms(run, "sampled_at")}
    assert run["share_offsets"] == 2
    assert "shared" not in {row["group"] for row in rows_of(storage, OFFSET_COMMITS)}


def test_commits_are_requested_before_log_ends(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    fetched = max(asked.at for asked in cluster.requests_of("OffsetFetch"))
    assert fetched < min(asked.at for asked in cluster.requests_of("ListOffsets"))
    at = [
        (asked.body["isolation_level"], asked.body["topics"][0]["partitions"][0]["timestamp"])
        for asked in cluster.requests_of("ListOffsets")
    ]
    assert at == [(0, -2)] * 3 + [(1, -1)] * 3 + [(0, -1)] * 3


def test_a_sample_costs_few_requests(cluster: ScriptedCluster, storage: Storage) -> None:
    take(cluster, storage)

    assert cluster.requests() == {
        "ListGroups": 3,
        "ConsumerGroupDescribe": 1,
        "DescribeGroups": 1,
        "ShareGroupDescribe": 1,
        "DescribeShareGroupOffsets": 1,
        "OffsetFetch": 2,
        "Metadata": 2,
        "ListOffsets": 9,
    }


def test_two_samples_are_two_batches(cluster: ScriptedCluster, storage: Storage) -> None:
    first, second = take(cluster, storage), take(cluster, storage)

    assert first.batch_name != second.batch_name
    assert first.batch_name.startswith("sample-20260921T")
    assert {each.batch for each in storage.files(GROUP_EVENTS)} == {first.batch_name, second.batch_name}


def test_many_rows_are_written_in_parts(
    cluster: ScriptedCluster, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_groups.pipeline.facts.sample_rows._BATCH_ROWS", 3)

    done = take(cluster, storage)

    assert done.rows == {"offset_commits": 5, "group_events": 4, "partition_offsets": 6, "share_offsets": 2}
    assert len(rows_of(storage, OFFSET_COMMITS)) == 5
    assert len(rows_of(storage, GROUP_EVENTS)) == 4


def test_a_cluster_without_anything_leaves_no_rows(storage: Storage) -> None:
    with ScriptedCluster() as cluster:
        done = take(cluster, storage)

    assert (done.groups, set(done.rows.values()), done.failures) == (0, {0}, ())
