"""Times, ids and topics through the door: many times a partition, few requests, each item answered for itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetAndTimestamp, PartitionTime, Topic
from kafka_groups.admin.handlers import offsets_for_times
from kafka_groups.errors import BrokerError, MalformedResponseError, TimeoutExceededError
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.scripted_broker import Reaction, ReceivedRequest, changed, drops, silent
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "refunds": {0: 1}}
RECORDS = {("payments", 0): [100, 200, 300], ("payments", 1): [150], ("payments", 2): [], ("refunds", 0): [50, 400]}


def _cluster(versions: Mapping[str, tuple[int, int]] | None = None) -> ScriptedCluster:
    cluster = ScriptedCluster(topics=TOPICS, starts={("payments", 1): 7}, versions=versions)
    cluster.records.update(RECORDS)
    return cluster


def _partition_error(code: int) -> Reaction:
    def react(_asked: ReceivedRequest, answer: Struct) -> Struct:
        return {
            "topics": [
                {**topic, "partitions": [{**row, "error_code": code} for row in topic["partitions"]]}
                for topic in answer["topics"]
            ]
        }

    return react


def test_a_time_is_answered_with_the_first_record_at_or_after_it_and_that_records_own_time() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.offsets_for_times([("payments", 0, 100), ("payments", 0, 101), ("payments", 1, 0)]).all() == {
            PartitionTime("payments", 0, 100): OffsetAndTimestamp(0, 100),
            PartitionTime("payments", 0, 101): OffsetAndTimestamp(1, 200),
            PartitionTime("payments", 1, 0): OffsetAndTimestamp(7, 150),
        }


def test_a_time_after_the_last_record_has_no_point() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.offsets_for_times([("payments", 0, 301), ("payments", 2, 0)]).all() == {
            PartitionTime("payments", 0, 301): None,
            PartitionTime("payments", 2, 0): None,
        }


def test_a_request_names_each_partition_once_and_there_are_no_more_than_the_times_of_one_partition() -> None:
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


@pytest.mark.parametrize(("code", "look_ups"), [(6, 2), (78, 1)])
def test_a_leader_that_moved_or_is_not_ready_is_asked_again(code: int, look_ups: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(code), brokers=[2])
        assert admin.offsets_for_times([("payments", 1, 0), ("payments", 0, 0)]).all() == {
            PartitionTime("payments", 0, 0): OffsetAndTimestamp(0, 100),
            PartitionTime("payments", 1, 0): OffsetAndTimestamp(7, 150),
        }
        assert cluster.requests() == {"Metadata": look_ups, "ListOffsets": 3}


def test_a_time_that_cannot_be_looked_up_fails_alone_and_names_its_partition() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", _partition_error(29), brokers=[2])
        answers = admin.offsets_for_times([("payments", 1, 0), ("payments", 0, 0), ("absent", 4, 0)])
        assert list(answers.succeeded) == [("payments", 0, 0)]
        assert {(failure.topic, failure.partition, failure.name) for failure in answers.failed.values()} == {
            ("payments", 1, "TOPIC_AUTHORIZATION_FAILED"),
            ("absent", 4, "UNKNOWN_TOPIC_OR_PARTITION"),
        }


def test_a_lost_connection_costs_a_second_request_and_no_answer() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListOffsets", drops, brokers=[1])
        assert len(admin.offsets_for_times([("payments", 0, time) for time in range(0, 300, 100)]).all()) == 3


def test_the_deadline_is_kept() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.4) as admin:
        admin.brokers()
        cluster.script("ListOffsets", *[silent] * 9, brokers=[2])
        answers = admin.offsets_for_times([("payments", 0, 0), ("payments", 1, 0)])
        assert (list(answers.succeeded), list(answers.failed)) == ([("payments", 0, 0)], [("payments", 1, 0)])
        assert answers.failed[PartitionTime("payments", 1, 0)].name == TimeoutExceededError.name


def test_the_last_stable_offset_is_the_end_as_read_committed_sees_it() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stable["payments", 0] = 1
        assert admin.list_offsets([("payments", 0)], isolation_level=IsolationLevel.READ_COMMITTED).all() == {
            TopicPartition("payments", 0): 1
        }
        assert admin.list_offsets([("payments", 0)]).all() == {TopicPartition("payments", 0): 3}
        told = [
            (each.body["isolation_level"], each.body["topics"][0]["partitions"][0]["timestamp"])
            for each in cluster.requests_of("ListOffsets")
        ]
        assert told == [(1, -1), (0, -1)]


def test_a_broker_that_knows_no_isolation_is_not_asked_for_the_last_stable_offset() -> None:
    with _cluster(versions={"ListOffsets": (0, 1)}) as cluster, cluster.admin() as admin:
        failure = admin.list_offsets([("payments", 0)], isolation_level=IsolationLevel.READ_COMMITTED).failed[
            TopicPartition("payments", 0)
        ]
        assert failure.name == "UNSUPPORTED_VERSION"


def test_the_cluster_tells_its_id() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.cluster_id() == "scripted"


def test_a_cluster_without_an_id_is_told_as_what_it_is() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("Metadata", changed(cluster_id=None), brokers=[1])
        with pytest.raises(MalformedResponseError, match="no cluster id"):
            admin.cluster_id()


def test_all_topics_are_listed_with_ids_and_partitions() -> None:
    with ScriptedCluster(topics={"b": {1: 1, 0: -1}, "__state": {0: 2}}) as cluster, cluster.admin() as admin:
        assert admin.list_topics().all() == {
            "b": Topic(name="b", topic_id=topic_id("b"), internal=False, partitions=(0, 1)),
            "__state": Topic(name="__state", topic_id=topic_id("__state"), internal=True, partitions=(0,)),
        }
        assert cluster.requests() == {"Metadata": 1}


def test_a_broker_before_2_8_tells_no_topic_ids() -> None:
    with _cluster(versions={"Metadata": (0, 9)}) as cluster, cluster.admin() as admin:
        assert {topic.topic_id for topic in admin.list_topics().all().values()} == {None}


def test_a_topic_with_an_error_fails_alone() -> None:
    def spoil(_asked: ReceivedRequest, answer: Struct) -> Struct:
        return {**answer, "topics": [{**answer["topics"][0], "error_code": 29}, *answer["topics"][1:]]}

    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", spoil, brokers=[1])
        answers = admin.list_topics()
        assert (list(answers.succeeded), answers.failed["payments"].name) == (["refunds"], "TOPIC_AUTHORIZATION_FAILED")


def test_topics_that_cannot_be_listed_are_an_error() -> None:
    with _cluster() as cluster:
        cluster.script("Metadata", changed(), changed(error_code=129), brokers=[1])
        with GroupAdmin(cluster.settings()) as admin, pytest.raises(BrokerError, match="rebootstrap required"):
            admin.list_topics()
