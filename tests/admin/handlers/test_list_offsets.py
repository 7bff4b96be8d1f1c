"""Log offsets and partitions of topics: leaders are looked up, and each partition fails alone."""

from __future__ import annotations

import pytest

from kafka_groups.admin import OffsetSpec, Topic
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest, drops
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "refunds": {0: 1}}
ENDS = {("payments", 0): 10, ("payments", 1): 0, ("payments", 2): 2**62}
PAYMENTS = [("payments", 0), ("payments", 1), ("payments", 2)]


def _cluster() -> ScriptedCluster:
    return ScriptedCluster(topics=TOPICS, ends=ENDS, starts={("payments", 0): 3})


def _partition_error(code: int) -> Reaction:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        topic = response["topics"][0]
        rows = [{"partition_index": row["partition_index"], "error_code": code} for row in topic["partitions"]]
        return {"topics": [{"name": topic["name"], "partitions": rows}]}

    return react


def _topic_error(code: int) -> Reaction:
    return lambda _request, response: {
        **response,
        "topics": [{**topic, "error_code": code} for topic in response["topics"]],
    }


def test_log_end_and_log_start_offsets_are_returned_by_partition() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.list_offsets(PAYMENTS).all() == {
            TopicPartition("payments", 0): 10,
            TopicPartition("payments", 1): 0,
            TopicPartition("payments", 2): 4611686018427387904,
        }
        assert admin.list_offsets([("payments", 0)], spec=OffsetSpec.earliest()).all() == {
            TopicPartition("payments", 0): 3
        }


def test_a_time_without_records_after_it_has_no_offset() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.list_offsets([("payments", 0)], spec=OffsetSpec.for_timestamp(1_700_000_000_000)).all() == {
            TopicPartition("payments", 0): None
        }
        request = cluster.requests_of("ListOffsets")[0]
        assert request.body["topics"][0]["partitions"][0]["timestamp"] == 1_700_000_000_000
        assert request.body["replica_id"] == -1


def test_a_lookup_of_leaders_does_not_create_topics() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_offsets([("absent", 0)])
        admin.describe_topics(["absent"])
        assert [request.body["allow_auto_topic_creation"] for request in cluster.requests_of("Metadata")] == [False] * 3


@pytest.mark.parametrize("code", [3, 5, 6])
def test_a_partition_whose_leader_moved_is_looked_up_again_alone(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(code), brokers=[2])
        assert len(admin.list_offsets(PAYMENTS).all()) == 3
        assert cluster.requests() == {"Metadata": 2, "ListOffsets": 4}
        assert cluster.requests_of("ListOffsets")[-1].body["topics"][0]["partitions"][0]["partition_index"] == 1


def test_a_leader_that_moved_since_the_last_call_is_looked_up_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_offsets(PAYMENTS)
        cluster.topics["payments"] = {0: 3, 1: 2, 2: 3}
        assert admin.list_offsets(PAYMENTS).all()[TopicPartition("payments", 0)] == 10
        admin.list_offsets(PAYMENTS)
        assert cluster.requests()["Metadata"] == 2


@pytest.mark.parametrize("code", [7, 9, 13, 56, 74, 75, 78])
def test_a_request_to_a_leader_that_is_not_ready_is_retried_without_a_lookup(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(code), brokers=[3])
        assert len(admin.list_offsets(PAYMENTS).all()) == 3
        assert cluster.requests() == {"Metadata": 1, "ListOffsets": 4}


@pytest.mark.parametrize(("code", "name"), [(29, "TOPIC_AUTHORIZATION_FAILED"), (-1, "UNKNOWN_SERVER_ERROR")])
def test_a_refused_partition_fails_alone(code: int, name: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(code), brokers=[2])
        results = admin.list_offsets(PAYMENTS)
        assert sorted(results.succeeded) == [("payments", 0), ("payments", 2)]
        failure = results.failed[TopicPartition("payments", 1)]
        assert (failure.topic, failure.partition, failure.broker, failure.name) == ("payments", 1, 2, name)


def test_a_partition_without_a_leader_fails_at_once() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.topics["payments"] = {0: 1, 1: -1, 2: 3}
        started = cluster.clock()
        results = admin.list_offsets(PAYMENTS)
        assert cluster.clock() - started < 1
        assert sorted(results.succeeded) == [("payments", 0), ("payments", 2)]
        failure = results.failed[TopicPartition("payments", 1)]
        assert (failure.name, failure.message) == ("LEADER_NOT_AVAILABLE", "the partition has no leader")


def test_unknown_topics_and_partitions_fail_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.list_offsets([("absent", 0), ("payments", 0), ("payments", 77)])
        assert list(results.succeeded) == [("payments", 0)]
        assert {key: failure.name for key, failure in results.failed.items()} == {
            ("absent", 0): "UNKNOWN_TOPIC_OR_PARTITION",
            ("payments", 77): "UNKNOWN_TOPIC_OR_PARTITION",
        }


def test_a_topic_that_is_missing_from_the_metadata_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script(
            "Metadata", lambda _request, response: {**response, "topics": response["topics"][1:]}, brokers=[1]
        )
        results = admin.list_offsets([("payments", 0), ("refunds", 0)])
        assert list(results.succeeded) == [("refunds", 0)]
        assert results.failed[TopicPartition("payments", 0)].name == "MISSING_FROM_RESPONSE"


def test_a_partition_that_is_missing_from_a_response_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", lambda _request, _response: {"topics": []}, brokers=[2])
        results = admin.list_offsets(PAYMENTS)
        assert {key: failure.name for key, failure in results.failed.items()} == {
            ("payments", 1): "MISSING_FROM_RESPONSE"
        }


def test_a_topic_without_a_leader_yet_is_looked_up_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", _topic_error(5), _topic_error(5), brokers=[1])
        assert admin.list_offsets([("payments", 0)]).all() == {TopicPartition("payments", 0): 10}
        assert cluster.requests() == {"Metadata": 3, "ListOffsets": 1}


def test_a_topic_with_an_error_in_the_metadata_fails_with_that_error() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", _topic_error(29), _topic_error(17), brokers=[1])
        assert admin.list_offsets([("payments", 0)]).failed[TopicPartition("payments", 0)].code == 29
        assert admin.describe_topics(["payments"]).failed["payments"].message == "the topic's name is not valid"


def test_the_partitions_of_a_leader_that_closes_the_connection_are_looked_up_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", drops, brokers=[3])
        assert len(admin.list_offsets(PAYMENTS).all()) == 3
        assert cluster.requests() == {"Metadata": 2, "ListOffsets": 4}


@pytest.mark.parametrize("version", [1, 2, 4, 5, 6, 7, 10])
def test_every_version_of_list_offsets_returns_offsets(version: int) -> None:
    with (
        ScriptedCluster(topics=TOPICS, ends=ENDS, versions={"ListOffsets": (0, version)}) as cluster,
        cluster.admin() as admin,
    ):
        assert admin.list_offsets([("payments", 0)]).all() == {TopicPartition("payments", 0): 10}
        assert cluster.requests_of("ListOffsets")[0].version == version


@pytest.mark.parametrize("version", [4, 5, 7, 8, 9, 10, 12, 13])
def test_every_version_of_metadata_returns_leaders(version: int) -> None:
    with (
        ScriptedCluster(topics=TOPICS, ends=ENDS, versions={"Metadata": (0, version)}) as cluster,
        cluster.admin() as admin,
    ):
        assert admin.list_offsets([("payments", 0)]).all() == {TopicPartition("payments", 0): 10}
        assert {request.version for request in cluster.requests_of("Metadata")} == {version}


def test_a_topic_is_described_with_ascending_partitions_and_an_absent_one_fails_alone() -> None:
    with ScriptedCluster(topics={"odd": {7: 1, 0: 2, 3: -1}}) as cluster, cluster.admin() as admin:
        results = admin.describe_topics(["odd", "absent", "odd"])
        assert results.succeeded == {
            "odd": Topic("odd", topic_id("odd"), internal=False, partitions=(0, 3, 7), leaders={0: 2, 7: 1})
        }
        assert results.failed["absent"].topic == "absent"
        assert results.failed["absent"].name == "UNKNOWN_TOPIC_OR_PARTITION"
        assert results.failed["absent"].broker is None
