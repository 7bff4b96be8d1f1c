"""Committed offsets are altered by one OffsetCommit a group; each partition has its own outcome."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafka_groups.admin.driver import MIN_KEYS_PER_CONNECTION
from kafka_groups.admin.network import connection
from kafka_groups.model import CommittedOffset, Failure, TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest, drops, plain
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

TOPICS = {"t": {0: 1, 1: 2}, "u": {0: 1}}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
START = CommittedOffset(0, None, "")


def _cluster(groups: dict[str, Group] | None = None, **versions: tuple[int, int]) -> ScriptedCluster:
    known = {"a": Group(coordinator=1), "b": Group(coordinator=2), "c": Group(coordinator=3)}
    return ScriptedCluster(groups=groups if groups is not None else known, topics=TOPICS, versions=versions)


def with_codes(*codes: int) -> Reaction:
    """Return a reaction that replaces the error codes of the partitions, in their order."""

    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        left = iter(codes)
        topics = [
            {**topic, "partitions": [{**row, "error_code": next(left)} for row in topic["partitions"]]}
            for topic in response["topics"]
        ]
        return {**response, "topics": topics}

    return react


def outcomes(partitions: dict[TopicPartition, Failure | None] | object) -> dict[TopicPartition, str | None]:
    """Return the name of each partition's failure."""
    assert isinstance(partitions, dict)
    return {key: failure.name if failure else None for key, failure in partitions.items()}


def test_each_group_has_one_request_without_a_generation_and_a_member() -> None:
    commits = {("t", 0): CommittedOffset(7, 3, "why"), ("t", 1): START, ("u", 0): START}
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.alter_consumer_group_offsets({"a": commits, "b": {("t", 0): START}, "c": {("u", 0): START}})
        assert results.all() == {"a": {T0: None, T1: None, U0: None}, "b": {T0: None}, "c": {U0: None}}
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetCommit": 3}
        request = next(each for each in cluster.requests_of("OffsetCommit") if each.broker == 1)
    rows = [
        {"partition_index": 0, "committed_offset": 7, "committed_leader_epoch": 3, "committed_metadata": "why"},
        {"partition_index": 1, "committed_offset": 0, "committed_leader_epoch": -1, "committed_metadata": ""},
    ]
    assert request.version == 9
    # Version 9 has no topic ids; the all-zero one is the default of the reader.
    assert request.body["topics"][0] == {"name": "t", "topic_id": UUID(int=0), "partitions": rows}
    del request.body["topics"]
    assert request.body == {
        "group_id": "a",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "retention_time_ms": -1,
    }


def test_a_commit_is_read_back_and_creates_a_group_that_did_not_exist() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.alter_consumer_group_offsets({"new": {("t", 1): CommittedOffset(5, 2, "x")}}).all()
        assert cluster.groups["new"].commits == {("t", 1): Commit(5, 2, "x")}
        assert admin.list_consumer_group_offsets({"new": None}).all()["new"]["t", 1] == CommittedOffset(5, 2, "x")
        assert admin.describe_consumer_groups(["new"]).all()["new"].state == "Empty"


def test_a_partition_that_does_not_exist_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START, ("t", 9): START}})
    failure = results.succeeded["a"][TopicPartition("t", 9)]
    assert results.failed == {}
    assert results.succeeded["a"][T0] is None
    assert failure == Failure(3, "UNKNOWN_TOPIC_OR_PARTITION", "the topic or partition does not exist", "a", "t", 9)


def test_a_group_with_members_fails_with_the_reason() -> None:
    with _cluster({"a": Group(members=[{"member_id": "m"}]), "b": Group()}) as cluster, cluster.admin() as admin:
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START, ("t", 1): START}, "b": {("t", 0): START}})
    assert list(results.succeeded) == ["b"]
    assert results.failed["a"].name == "UNKNOWN_MEMBER_ID"
    assert results.failed["a"].message == "the group has members now, and only they may commit; stop them and try again"


def test_the_rights_that_a_commit_needs_are_named() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["b"].error = 30
        cluster.script("OffsetCommit", with_codes(29), brokers=[1])
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START}, "b": {("t", 0): START}})
    topic = results.succeeded["a"][T0]
    assert topic is not None
    assert topic.message == "not allowed: this needs READ on the topic"
    assert results.failed["b"].message == "not allowed: this needs READ on the group"


def test_a_refused_lookup_names_the_right_of_the_change() -> None:
    def refuse(_request: ReceivedRequest, response: Struct) -> Struct:
        return {"coordinators": [{**row, "error_code": 30} for row in response["coordinators"]]}

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", refuse)
        failure = admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).failed["a"]
    assert failure.message == "not allowed: this needs READ on the group"


@pytest.mark.parametrize("code", [14, 27])
def test_a_group_that_is_loading_or_rebalancing_is_sent_again_to_the_same_broker(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", with_codes(code), brokers=[1])
        assert admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).all() == {"a": {T0: None}}
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetCommit": 2}


@pytest.mark.parametrize("code", [15, 16])
def test_a_group_whose_coordinator_moved_is_looked_up_again(code: int) -> None:
    def move(request: ReceivedRequest, response: Struct) -> Struct:
        cluster.groups["a"].coordinator = 3
        moved: Struct = with_codes(code)(request, response)
        return moved

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", move, brokers=[1])
        assert admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).all() == {"a": {T0: None}}
        assert [each.broker for each in cluster.requests_of("OffsetCommit")] == [1, 3]
        assert cluster.requests()["FindCoordinator"] == 2


def test_after_a_partly_retriable_commit_only_the_open_partitions_are_sent_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", with_codes(0, 27, 12), brokers=[1])
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START, ("t", 1): START, ("u", 0): START}})
        bodies = [each.body["topics"] for each in cluster.requests_of("OffsetCommit")]
    assert outcomes(results.succeeded["a"]) == {T0: None, T1: None, U0: "OFFSET_METADATA_TOO_LARGE"}
    assert [(topic["name"], [row["partition_index"] for row in topic["partitions"]]) for topic in bodies[1]] == [
        ("t", [1])
    ]


def test_partitions_that_are_done_are_known_even_if_the_others_time_out() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", with_codes(0, 27), *[with_codes(27)] * 20, brokers=[1])
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START, ("t", 1): START}}, timeout=0.5)
    assert results.failed == {}
    assert outcomes(results.succeeded["a"]) == {T0: None, T1: "TIMEOUT"}
    failure = results.succeeded["a"][T1]
    assert failure is not None
    assert (failure.group, failure.topic, failure.partition) == ("a", "t", 1)
    assert failure.message.endswith("; last: the group is rebalancing")


def test_a_partition_that_the_response_lacks_is_unknown_and_not_sent_again() -> None:
    def without_last(_request: ReceivedRequest, response: Struct) -> Struct:
        return {"topics": response["topics"][:1]}

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetCommit", without_last, brokers=[1])
        results = admin.alter_consumer_group_offsets({"a": {("t", 0): START, ("u", 0): START}})
        assert len(cluster.requests_of("OffsetCommit")) == 1
    assert outcomes(results.succeeded["a"]) == {T0: None, U0: "OUTCOME_UNKNOWN"}


def test_many_groups_of_a_broker_do_not_wait_for_each_other() -> None:
    connections = connection._MAX_IN_FLIGHT // MIN_KEYS_PER_CONNECTION
    groups = [f"g{number}" for number in range(connection._MAX_IN_FLIGHT)]
    with _cluster({}) as cluster, cluster.admin() as admin:
        cluster.brokers[1].hold("OffsetCommit", until=MIN_KEYS_PER_CONNECTION)
        results = admin.alter_consumer_group_offsets({group: {("t", 0): START} for group in groups}, timeout=5)
        assert len(results.all()) == len(groups)
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetCommit": len(groups)}
        assert len(cluster.requests_of("ApiVersions")) == connections


def test_after_a_lost_connection_the_other_groups_use_the_first_one() -> None:
    groups = [f"g{number}" for number in range(2 * MIN_KEYS_PER_CONNECTION)]
    with _cluster({}) as cluster, cluster.admin() as admin:
        # The second connection is lost before a group was sent on it.
        cluster.script("ApiVersions", plain, drops, brokers=[1])
        results = admin.alter_consumer_group_offsets({group: {("t", 0): START} for group in groups})
        assert len(results.all()) == len(groups)
        assert cluster.requests()["OffsetCommit"] == len(groups)
        assert len(cluster.requests_of("ApiVersions")) == 2


def test_a_group_without_partitions_needs_no_request() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.alter_consumer_group_offsets({"a": {}}).all() == {"a": {}}
        assert cluster.requests() == {}


@pytest.mark.parametrize("version", [2, 4, 5, 6, 7, 8])
def test_older_versions_commit_the_same_offset(version: int) -> None:
    with _cluster(OffsetCommit=(0, version)) as cluster, cluster.admin() as admin:
        admin.alter_consumer_group_offsets({"a": {("t", 0): CommittedOffset(7, 3, "x")}}).all()
        assert cluster.requests_of("OffsetCommit")[0].version == version
        assert cluster.groups["a"].commits == {("t", 0): Commit(7, 3 if version >= 6 else -1, "x")}


def test_a_broker_that_is_too_old_is_named_with_the_version_of_kafka() -> None:
    with _cluster(OffsetCommit=(0, 1)) as cluster, cluster.admin() as admin:
        failure = admin.alter_consumer_group_offsets({"a": {("t", 0): START}}).failed["a"]
    assert failure.name == "UNSUPPORTED_VERSION"
    assert failure.message.endswith("supports OffsetCommit versions 0 to 1; this tool needs version 2 to 9 (Kafka 0.9)")
