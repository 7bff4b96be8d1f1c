"""Producers of partitions: one request a leader, and each partition fails alone."""

from __future__ import annotations

import pytest

from kafka_groups.admin import ProducerState
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest, drops
from tests.fakes.scripted_cluster import ScriptedCluster

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "refunds": {0: 1}}
PAYMENTS = [("payments", 0), ("payments", 1), ("payments", 2)]
OPEN = {
    "producer_id": 4001,
    "producer_epoch": 3,
    "last_sequence": 17,
    "last_timestamp": 1_790_000_000_000,
    "coordinator_epoch": 5,
    "current_txn_start_offset": 42,
}
IDLE = {"producer_id": 7, "producer_epoch": 0, "coordinator_epoch": -1}


def _cluster(**values: object) -> ScriptedCluster:
    cluster = ScriptedCluster(topics=TOPICS, **values)  # type: ignore[arg-type]
    cluster.producers[("payments", 0)] = [OPEN, IDLE]
    return cluster


def _partition_error(code: int, message: str | None = None) -> Reaction:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        topic = response["topics"][0]
        row: Struct = {"partition_index": 1, "error_code": code, "error_message": message, "active_producers": []}
        return {"topics": [{"name": topic["name"], "partitions": [row]}]}

    return react


def test_producers_are_returned_by_partition_and_what_is_unknown_is_none() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.describe_producers(PAYMENTS).all() == {
            TopicPartition("payments", 0): (
                ProducerState(7, 0, None, None, None, None),
                ProducerState(4001, 3, 17, 1_790_000_000_000, 5, 42),
            ),
            TopicPartition("payments", 1): (),
            TopicPartition("payments", 2): (),
        }


def test_each_leader_gets_one_request_with_all_its_partitions() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert len(admin.describe_producers([*PAYMENTS, ("refunds", 0)]).all()) == 4
        assert cluster.requests() == {"Metadata": 1, "DescribeProducers": 3}
        request = next(each for each in cluster.requests_of("DescribeProducers") if each.broker == 1)
        assert [topic["name"] for topic in request.body["topics"]] == ["payments", "refunds"]


def test_leaders_that_are_known_are_not_looked_up() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_offsets(PAYMENTS)
        admin.describe_producers(PAYMENTS)
        admin.list_offsets(PAYMENTS)
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 6, "DescribeProducers": 3}


@pytest.mark.parametrize(("code", "lookups"), [(3, 2), (5, 2), (6, 2), (7, 1)])
def test_a_leader_that_moved_is_looked_up_again_and_one_that_is_late_is_not(code: int, lookups: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DescribeProducers", _partition_error(code), brokers=[2])
        assert len(admin.describe_producers(PAYMENTS).all()) == 3
        assert cluster.requests() == {"Metadata": lookups, "DescribeProducers": 4}


def test_a_lost_connection_is_looked_up_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DescribeProducers", drops, brokers=[3])
        assert len(admin.describe_producers(PAYMENTS).all()) == 3


def test_a_denied_partition_fails_alone_with_the_message_of_the_broker() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DescribeProducers", _partition_error(29, "READ is denied"), brokers=[2])
        results = admin.describe_producers(PAYMENTS)
        assert sorted(results.succeeded) == [("payments", 0), ("payments", 2)]
        failure = results.failed[TopicPartition("payments", 1)]
        assert (failure.topic, failure.partition, failure.broker) == ("payments", 1, 2)
        assert (failure.name, failure.message) == ("TOPIC_AUTHORIZATION_FAILED", "READ is denied")


def test_absent_partitions_and_those_without_a_leader_fail_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.topics["payments"] = {0: 1, 1: -1}
        results = admin.describe_producers([("payments", 0), ("payments", 1), ("absent", 0)])
        assert list(results.succeeded) == [("payments", 0)]
        assert {key: failure.name for key, failure in results.failed.items()} == {
            ("payments", 1): "LEADER_NOT_AVAILABLE",
            ("absent", 0): "UNKNOWN_TOPIC_OR_PARTITION",
        }


def test_a_partition_that_is_missing_from_a_response_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DescribeProducers", lambda _request, _response: {"topics": []}, brokers=[2])
        results = admin.describe_producers(PAYMENTS)
        assert {key: failure.name for key, failure in results.failed.items()} == {
            ("payments", 1): "MISSING_FROM_RESPONSE"
        }


def test_a_broker_before_2_8_is_a_failure_of_each_partition_with_the_reason() -> None:
    with _cluster(versions={"DescribeProducers": (0, -1)}) as cluster, cluster.admin() as admin:
        results = admin.describe_producers(PAYMENTS)
        assert results.succeeded == {}
        assert {(failure.name, failure.message) for failure in results.failed.values()} == {
            (
                "UNSUPPORTED_VERSION",
                "the broker does not support DescribeProducers; this tool needs version 0 to 0 (Kafka 2.8)",
            )
        }
