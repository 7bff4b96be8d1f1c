"""Offsets for times, cluster ids and topics: several times per partition, few requests, a result for each key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_groups.admin import IsolationLevel, OffsetAndTimestamp, PartitionTime, Topic
from kafka_groups.admin.handlers import offsets_for_times
from kafka_groups.errors import BrokerError, TimeoutExceededError
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.reactions import Reaction, ReceivedRequest, changed, drops, silent
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "refunds": {0: 1}}
RECORDS = {("payments", 0): [100, 200, 300], ("payments", 1): [150], ("payments", 2): [], ("refunds", 0): [50, 400]}


def _cluster(versions: Mapping[str, tuple[int, int]] | None = None) -> ScriptedCluster:
    cluster = ScriptedCluster(topics=TOPICS, starts={("payments", 1): 7}, versions=versions)
    cluster.records.update(RECORDS)
    return cluster


def _partition_error(code: int) -> Reaction:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        return {
            "topics": [
                {**topic, "partitions": [{**row, "error_code": code} for row in topic["partitions"]]}
                for topic in response["topics"]
            ]
        }

    return react


def test_the_result_of_a_time_is_the_offset_and_the_timestamp_of_the_first_record_at_or_after_it() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.offsets_for_times([("payments", 0, 100), ("payments", 0, 101), ("payments", 1, 0)]).all() == {
            PartitionTime("payments", 0, 100): OffsetAndTimestamp(0, 100),
            PartitionTime("payments", 0, 101): OffsetAndTimestamp(1, 200),
            PartitionTime("payments", 1, 0): OffsetAndTimestamp(7, 150),
        }


def test_a_time_after_the_last_record_has_no_offset() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.offsets_for_times([("payments", 0, 301), ("payments", 2, 0)]).all() == {
            PartitionTime("payments", 0, 301): None,
            PartitionTime("payments", 2, 0): None,
        }


def test_a_request_has_each_partition_once_so_a_leader_gets_one_request_per_time() -> None:
    times = [(topic, partition, time) for topic in TOPICS for partition in TOPICS[topic] for time in range(0, 500, 100)]
    with _cluster() as cluster, cluster.admin() as admin:
        assert len(admin.offsets_for_times(times).all()) == 20
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 15}  # five times, three leaders


def test_many_partitions_are_split_over_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets_for_times, "MAX_PARTITIONS", 3)
    with ScriptedCluster(topics={"wide": dict.fromkeys(range(7), 1)}) as cluster, cluster.admin() as admin:
        assert len(admin.offsets_for_times([("wide", partition, 5) for partition in range(7)]).all()) == 7
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 3}


def test_leaders_that_are_known_are_not_looked_up() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_topics()
        admin.offsets_for_times([("payments", 0, 0)])
        admin.list_offsets([("payments", 0), ("payments", 2)])
        admin.offsets_for_times([("payments", 1, 0), ("payments", 2, 0)])
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 5}


def test_leaders_that_a_look_up_of_times_found_are_known_to_later_calls() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.offsets_for_times([("payments", 0, 0)])
        admin.offsets_for_times([("payments", 0, 1)])
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 2}


@pytest.mark.parametrize(("code", "lookups"), [(6, 2), (78, 1)])
def test_a_request_to_a_leader_that_moved_or_is_not_ready_is_retried(code: int, lookups: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(code), brokers=[2])
        assert admin.offsets_for_times([("payments", 1, 0), ("payments", 0, 0)]).all() == {
            PartitionTime("payments", 0, 0): OffsetAndTimestamp(0, 100),
            PartitionTime("payments", 1, 0): OffsetAndTimestamp(7, 150),
        }
        assert cluster.requests() == {"Metadata": lookups, "ListOffsets": 3}


def test_a_time_whose_partition_is_refused_fails_alone_and_names_the_partition() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(29), brokers=[2])
        results = admin.offsets_for_times([("payments", 1, 0), ("payments", 0, 0), ("absent", 4, 0)])
        assert list(results.succeeded) == [("payments", 0, 0)]
        assert {(failure.topic, failure.partition, failure.name) for failure in results.failed.values()} == {
            ("payments", 1, "TOPIC_AUTHORIZATION_FAILED"),
            ("absent", 4, "UNKNOWN_TOPIC_OR_PARTITION"),
        }


def test_requests_of_a_lost_connection_are_sent_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", drops, brokers=[1])
        assert len(admin.offsets_for_times([("payments", 0, time) for time in range(0, 300, 100)]).all()) == 3


def test_a_time_without_a_response_fails_at_the_deadline() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.4) as admin:
        admin.brokers()
        cluster.script("ListOffsets", *[silent] * 9, brokers=[2])
        results = admin.offsets_for_times([("payments", 0, 0), ("payments", 1, 0)])
        assert (list(results.succeeded), list(results.failed)) == ([("payments", 0, 0)], [("payments", 1, 0)])
        assert results.failed[PartitionTime("payments", 1, 0)].name == TimeoutExceededError.name


def test_with_read_committed_the_log_end_offset_is_the_last_stable_offset() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stable["payments", 0] = 1
        assert admin.list_offsets([("payments", 0)], isolation_level=IsolationLevel.READ_COMMITTED).all() == {
            TopicPartition("payments", 0): 1
        }
        assert admin.list_offsets([("payments", 0)]).all() == {TopicPartition("payments", 0): 3}
        requested = [
            (each.body["isolation_level"], each.body["topics"][0]["partitions"][0]["timestamp"])
            for each in cluster.requests_of("ListOffsets")
        ]
        assert requested == [(1, -1), (0, -1)]


def test_a_last_stable_offset_is_not_requested_from_a_broker_without_isolation_levels() -> None:
    with _cluster(versions={"ListOffsets": (0, 1)}) as cluster, cluster.admin() as admin:
        failure = admin.list_offsets([("payments", 0)], isolation_level=IsolationLevel.READ_COMMITTED).failed[
            TopicPartition("payments", 0)
        ]
        assert failure.name == "UNSUPPORTED_VERSION"


def test_the_id_of_the_cluster_is_returned() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.cluster_id() == "scripted"


def test_a_cluster_without_an_id_is_known_by_its_servers() -> None:
    with _cluster() as cluster:
        cluster.script("Metadata", changed(cluster_id=None))
        ports = sorted((str(broker.endpoint.port) for broker in cluster.brokers.values()), reverse=True)
        settings = ConnectionSettings(bootstrap=tuple(Endpoint(host="LocalHost", port=int(port)) for port in ports))
        with cluster.clock.client(settings) as admin:
            expected = ",".join(f"localhost:{port}" for port in reversed(ports))
            assert admin.cluster_id() == f"bootstrap.servers={expected}"
            assert admin.bootstrap_servers == tuple(f"LocalHost:{port}" for port in ports)


def test_a_cluster_without_an_id_is_known_by_the_name_that_the_user_gave_it() -> None:
    with _cluster() as cluster, cluster.admin(cluster_name="hub") as admin:
        cluster.script("Metadata", changed(cluster_id=None))
        assert admin.cluster_id() == "cluster.name=hub"


def test_the_id_that_brokers_return_counts_before_the_name_that_the_user_gave() -> None:
    with _cluster() as cluster, cluster.admin(cluster_name="hub") as admin:
        assert admin.cluster_id() == "scripted"


def test_all_topics_are_listed_with_ids_and_partitions() -> None:
    with ScriptedCluster(topics={"b": {1: 1, 0: -1}, "__state": {0: 2}}) as cluster, cluster.admin() as admin:
        assert admin.list_topics().all() == {
            "b": Topic(name="b", topic_id=topic_id("b"), internal=False, partitions=(0, 1), leaders={1: 1}),
            "__state": Topic(
                name="__state", topic_id=topic_id("__state"), internal=True, partitions=(0,), leaders={0: 2}
            ),
        }
        assert cluster.requests() == {"Metadata": 1}


def test_a_broker_before_2_8_returns_no_topic_ids() -> None:
    with _cluster(versions={"Metadata": (0, 9)}) as cluster, cluster.admin() as admin:
        assert {topic.topic_id for topic in admin.list_topics().all().values()} == {None}


def test_a_topic_with_an_error_fails_alone() -> None:
    def fail_first(_request: ReceivedRequest, response: Struct) -> Struct:
        return {**response, "topics": [{**response["topics"][0], "error_code": 29}, *response["topics"][1:]]}

    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", fail_first, brokers=[1])
        results = admin.list_topics()
        assert (list(results.succeeded), results.failed["payments"].name) == (["refunds"], "TOPIC_AUTHORIZATION_FAILED")


def test_topics_that_cannot_be_listed_are_an_error() -> None:
    with _cluster() as cluster:
        cluster.script("Metadata", changed(), changed(error_code=129), brokers=[1])
        with cluster.admin() as admin, pytest.raises(BrokerError, match="rebootstrap required"):
            admin.list_topics()
