"""Samples and backfills of real clusters: equal to what librdkafka receives, and exact to the millisecond."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from kafka_groups.admin import PartitionTime
from kafka_groups.admin.handlers.offsets_for_times import OffsetsForTimesHandler
from kafka_groups.pipeline.facts.backfill import BackfillResult, backfill
from kafka_groups.pipeline.facts.sample import SampleResult, sample
from kafka_groups.pipeline.facts.time_grid import LookupPeriod
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from tests.live.groups.clients import open_admin
from tests.live.groups.members import simple, stable
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.topics import client_properties, make_topic, unique_name
from tests.live.pipeline.filled_tables import now_ms

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
_TIMEOUT_S = 30


@pytest.fixture(params=["cluster", "kafka_2_5"])
def any_cluster(request: pytest.FixtureRequest, cluster: Cluster, kafka_2_5: Cluster) -> Cluster:
    """The newest Kafka and the oldest one."""
    return {"cluster": cluster, "kafka_2_5": kafka_2_5}[request.param]


def take(cluster: Cluster, storage: Storage) -> SampleResult:
    with open_admin(cluster.bootstrap) as admin:
        return sample(admin, storage, now_ms=now_ms)


def fill_back(cluster: Cluster, storage: Storage, topic: str, grid: range) -> BackfillResult:
    with open_admin(cluster.bootstrap) as admin:
        return backfill(
            admin,
            storage,
            LookupPeriod(grid[0], grid[-1], step_ms=grid.step, now_ms=now_ms()),
            topics=[topic],
        )


def rows_of(storage: Storage, table: Table, **wanted: str) -> list[dict[str, Any]]:
    found = ds.dataset(storage.directory.join(table.name), partitioning="hive").to_table()
    for column, value in wanted.items():
        found = found.filter(pc.equal(found[column], value))
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def produce_at(cluster: Cluster, topic: str, times: list[int], *, partition: int = 0) -> None:
    producer = Producer(client_properties(cluster.bootstrap))
    for moment in times:
        producer.produce(topic, b"x", partition=partition, timestamp=moment)
    assert producer.flush(_TIMEOUT_S) == 0


def theirs(cluster: Cluster, topic: str, spec: OffsetSpec, isolation: Any = IsolationLevel.READ_UNCOMMITTED) -> int:
    partition = TopicPartition(topic, 0)
    client = AdminClient(client_properties(cluster.bootstrap))  # dropped before the result, it takes the request back
    asked = client.list_offsets({partition: spec}, isolation_level=isolation)
    offset: int = asked[partition].result(_TIMEOUT_S).offset
    return offset


def test_a_sample_has_the_commits_and_the_offsets_of_logs(any_cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(any_cluster.bootstrap, partitions=2, records=9)
    unread = make_topic(any_cluster.bootstrap, records=4)
    with (
        stable(any_cluster.bootstrap, topic, commits=[(topic, 0, 5), (topic, 1, 9)]) as live,
        simple(any_cluster.bootstrap, commits=[(topic, 0, 2)]) as idle,
    ):
        began = now_ms()
        done = take(any_cluster, storage)

    committed = {
        (row["group"], row["partition"], row["committed_offset"])
        for row in rows_of(storage, OFFSET_COMMITS, topic=topic)
    }
    assert committed == {(live, 0, 5), (live, 1, 9), (idle, 0, 2)}
    ends = {
        (row["topic"], row["partition"]): (row["log_start_offset"], row["last_stable_offset"], row["log_end_offset"])
        for row in rows_of(storage, PARTITION_OFFSETS)
    }
    assert (ends[topic, 0], ends[topic, 1], ends[unread, 0]) == ((0, 9, 9), (0, 9, 9), (0, 4, 4))
    (state,) = rows_of(storage, GROUP_EVENTS, group=live)
    assert (state["state"], len(state["members"])) == ("Stable", 1)
    assert sorted(state["members"][0]["assignment"][0]["partitions"]) == [0, 1]
    assert began <= ms(state["record_time"]) <= now_ms()
    assert rows_of(storage, GROUP_EVENTS, group=idle)[0]["members"] in (None, [])
    assert done.failures == ()


def test_a_sample_has_the_topic_id_that_the_broker_returns(cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(cluster.bootstrap, records=1)
    take(cluster, storage)

    described = AdminClient(client_properties(cluster.bootstrap)).list_topics(topic, _TIMEOUT_S)
    assert topic in described.topics
    (row,) = rows_of(storage, PARTITION_OFFSETS, topic=topic)
    assert len(row["topic_id"]) == 22
    with open_admin(cluster.bootstrap) as admin:
        assert row["cluster_id"] == admin.cluster_id() == described.cluster_id


def test_groups_of_every_kind_are_sampled_without_a_failure(cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2, records=3)
    with (
        share(cluster.bootstrap, topic) as shared,
        streams(cluster.bootstrap, topic) as streaming,
        stable(cluster.bootstrap, topic, consumer_protocol=True, commits=[(topic, 0, 1)]) as newer,
    ):
        done = take(cluster, storage)

    states = {row["group"]: row for row in rows_of(storage, GROUP_EVENTS)}
    assert [states[group]["group_type"] for group in (shared, streaming, newer)] == ["Share", "Streams", "Consumer"]
    assert (states[newer]["epoch"] > 0, states[newer]["protocol"]) == (True, "uniform")
    assert [len(states[group]["members"]) for group in (shared, streaming)] == [1, 1]
    assert done.failures == ()


def test_groups_of_a_broker_without_topic_ids_are_sampled(kafka_2_5: Cluster, storage: Storage) -> None:
    topic = make_topic(kafka_2_5.bootstrap, records=3)
    with simple(kafka_2_5.bootstrap, commits=[(topic, 0, 2)]) as group:
        take(kafka_2_5, storage)

    (row,) = rows_of(storage, PARTITION_OFFSETS, topic=topic)
    assert (row["topic_id"], row["log_end_offset"], row["last_stable_offset"]) == (None, 3, 3)
    (state,) = rows_of(storage, GROUP_EVENTS, group=group)
    assert (state["state"], state["group_type"], state["event_type"]) == ("Empty", "Classic", "state_seen")


def test_the_last_stable_offset_stops_before_an_open_transaction(cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(cluster.bootstrap, records=3)
    producer = Producer(client_properties(cluster.bootstrap) | {"transactional.id": unique_name("transaction")})
    producer.init_transactions(_TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"pending", partition=0)
    producer.flush(_TIMEOUT_S)

    take(cluster, storage)
    expected = (
        theirs(cluster, topic, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),
        theirs(cluster, topic, OffsetSpec.latest()),
    )
    producer.abort_transaction(_TIMEOUT_S)

    (row,) = rows_of(storage, PARTITION_OFFSETS, topic=topic)
    assert (row["last_stable_offset"], row["log_end_offset"]) == expected == (3, 4)


def test_the_index_of_times_is_exact(any_cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(any_cluster.bootstrap)
    noon = now_ms() // HOUR_MS * HOUR_MS - 6 * HOUR_MS
    times = [
        noon + 1,
        noon + 5 * MINUTE_MS,
        noon + 5 * MINUTE_MS + 1,
        *range(noon + HOUR_MS, noon + 2 * HOUR_MS, 7_777),
    ]
    produce_at(any_cluster, topic, times)
    grid = range(noon - HOUR_MS, noon + 3 * HOUR_MS, MINUTE_MS)

    done = fill_back(any_cluster, storage, topic, grid)

    expected = []
    for moment in grid:
        offset = next((place for place, made in enumerate(times) if made >= moment), None)
        expected.append(
            (moment, offset, len(times) if offset is None else offset, offset is not None and times[offset])
        )
    rows = sorted(rows_of(storage, PARTITION_OFFSETS, topic=topic), key=lambda row: row["observed_at"])
    assert [
        (
            ms(row["observed_at"]),
            row["lookup_offset"],
            row["log_end_offset"],
            row["lookup_timestamp"] is not None and ms(row["lookup_timestamp"]),
        )
        for row in rows
    ] == expected
    assert done.lookups < len(grid)
    for moment in grid[60:130:23]:
        row = rows[grid.index(moment)]
        if row["lookup_offset"] is not None:
            assert theirs(any_cluster, topic, OffsetSpec.for_timestamp(moment)) == row["lookup_offset"]


def test_records_out_of_order_are_found_as_brokers_find_them(any_cluster: Cluster, storage: Storage) -> None:
    topic = make_topic(any_cluster.bootstrap)
    base = now_ms() // HOUR_MS * HOUR_MS - 3 * HOUR_MS
    produce_at(any_cluster, topic, [base + (number * 37 % 60) * MINUTE_MS for number in range(60)])
    grid = range(base - MINUTE_MS, base + 61 * MINUTE_MS, 30 * SECOND_MS)

    fill_back(any_cluster, storage, topic, grid)

    with open_admin(any_cluster.bootstrap) as admin:
        each = admin.offsets_for_times([(topic, 0, moment) for moment in grid]).all()
    found = {ms(row["observed_at"]): row["lookup_offset"] for row in rows_of(storage, PARTITION_OFFSETS, topic=topic)}
    assert found == {key.time_ms: None if point is None else point.offset for key, point in each.items()}


def test_a_partition_twice_in_a_request_is_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = make_topic(cluster.bootstrap, records=1)
    rows = [{"partition_index": 0, "timestamp": moment} for moment in (1, 2)]
    monkeypatch.setattr(
        OffsetsForTimesHandler,
        "build_requests",
        lambda _self, keys, _version: [(keys, {"topics": [{"name": topic, "partitions": rows}]})],
    )
    with open_admin(cluster.bootstrap) as admin:
        failed = admin.offsets_for_times([(topic, 0, 1), (topic, 0, 2)]).failed
    assert failed[PartitionTime(topic, 0, 2)].name == "INVALID_REQUEST"
