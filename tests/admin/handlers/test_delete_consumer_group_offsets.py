"""Committed offsets are deleted by one OffsetDelete a group; each partition has its own outcome."""

from __future__ import annotations

import pytest

from kafka_groups.model import TopicPartition
from tests.admin.handlers.test_alter_consumer_group_offsets import outcomes, with_codes
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
COMMITS = {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {
        "a": Group(coordinator=1, commits=COMMITS),
        "b": Group(coordinator=2, commits=COMMITS, members=[{"member_id": "m"}], subscribed=["t"]),
    }
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2}, "u": {0: 1}}, versions=versions)


def test_each_group_has_one_request_with_its_partitions() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.delete_consumer_group_offsets({"a": [("t", 0), ("u", 0), ("t", 0)], "b": [("u", 0)]})
        assert results.all() == {"a": {T0: None, U0: None}, "b": {U0: None}}
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetDelete": 2}
        assert cluster.groups["a"].commits == {("t", 1): 6}
        assert [each.version for each in cluster.requests_of("OffsetDelete")] == [0, 0]


def test_a_topic_that_members_subscribe_to_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.delete_consumer_group_offsets({"b": [("t", 0), ("u", 0), ("u", 9)]})
        assert cluster.groups["b"].commits == {("t", 0): 5, ("t", 1): 6}
    assert outcomes(results.succeeded["b"]) == {
        T0: "GROUP_SUBSCRIBED_TO_TOPIC",
        U0: None,
        TopicPartition("u", 9): "UNKNOWN_TOPIC_OR_PARTITION",
    }


def test_a_group_that_is_absent_and_one_that_has_members_of_another_kind_fail() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["connect"] = Group(protocol_type="connect", members=[{"member_id": "m"}])
        results = admin.delete_consumer_group_offsets({"absent": [("t", 0)], "connect": [("t", 0)]})
    assert results.succeeded == {}
    assert {group: failure.name for group, failure in results.failed.items()} == {
        "absent": "GROUP_ID_NOT_FOUND",
        "connect": "NON_EMPTY_GROUP",
    }
    assert results.failed["connect"].message == "the group is not empty: it has members"


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
def test_a_coordinator_that_is_loading_or_moved_is_requested_again(code: int, lookups: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetDelete", changed(error_code=code, topics=[]), brokers=[1])
        assert admin.delete_consumer_group_offsets({"a": [("t", 0)]}).all() == {"a": {T0: None}}
        assert cluster.requests() == {"FindCoordinator": lookups, "OffsetDelete": 2}


def test_the_rights_that_a_deletion_needs_are_named() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetDelete", with_codes(29), brokers=[1])
        cluster.groups["b"].error = 30
        results = admin.delete_consumer_group_offsets({"a": [("t", 0)], "b": [("u", 0)]})
    topic = results.succeeded["a"][T0]
    assert topic is not None
    assert topic.message == "not allowed: this needs READ on the topic"
    assert results.failed["b"].message == "not allowed: this needs DELETE on the group"


def test_a_broker_before_2_4_is_too_old() -> None:
    with _cluster(OffsetDelete=(0, -1)) as cluster, cluster.admin() as admin:
        failure = admin.delete_consumer_group_offsets({"a": [("t", 0)]}).failed["a"]
    assert failure.name == "UNSUPPORTED_VERSION"
    assert failure.message == ("the broker does not support OffsetDelete; this tool needs version 0 to 0 (Kafka 2.4)")
