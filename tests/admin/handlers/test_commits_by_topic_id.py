"""Commits of topics whose ids are known go by id: a broker refuses a topic that was deleted and recreated."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.admin.handlers.test_alter_consumer_group_offsets import outcomes, with_codes
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster, topic_id

TOPICS = {"t": {0: 1, 1: 2}, "u": {0: 1}}
Commits = dict[str, dict[tuple[str, int], CommittedOffset]]
IDS = {name: topic_id(name) for name in TOPICS}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
START = CommittedOffset(0, None, "")


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` at broker 1, group `b` at broker 2."""
    with ScriptedCluster(groups={"a": Group(coordinator=1), "b": Group(coordinator=2)}, topics=TOPICS) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def test_topics_with_known_ids_are_requested_by_id_and_returned_by_name(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    commits: Commits = {"a": {T0: CommittedOffset(7, 3, "why"), T1: START, U0: START}}
    assert admin.alter_consumer_group_offsets(commits, topic_ids=IDS).all() == {"a": {T0: None, T1: None, U0: None}}
    (request,) = cluster.requests_of("OffsetCommit")
    assert request.version == 10
    assert [(topic["topic_id"], topic["name"]) for topic in request.body["topics"]] == [
        (topic_id("t"), ""),
        (topic_id("u"), ""),
    ]
    assert cluster.groups["a"].commits["t", 0] == Commit(7, 3, "why")


def test_a_topic_that_was_recreated_is_refused_and_the_others_are_committed(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    cluster.recreations["t"] = 1
    results = admin.alter_consumer_group_offsets({"a": {T0: START, U0: START}}, topic_ids=IDS)
    assert outcomes(results.succeeded["a"]) == {T0: "UNKNOWN_TOPIC_ID", U0: None}
    failure = results.succeeded["a"][T0]
    assert failure is not None
    assert (failure.code, failure.topic, failure.partition) == (100, "t", 0)
    assert failure.message == "the topic was deleted, or deleted and recreated"
    assert cluster.groups["a"].commits == {("u", 0): Commit(0, -1, "")}


def test_after_a_partly_retriable_commit_only_the_open_partitions_are_sent_again_by_id(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    cluster.script("OffsetCommit", with_codes(0, 27, 0), brokers=[1])
    commits: Commits = {"a": {T0: START, T1: START, U0: START}}
    assert outcomes(admin.alter_consumer_group_offsets(commits, topic_ids=IDS).all()["a"]) == dict.fromkeys(
        (T0, T1, U0)
    )
    first, second = cluster.requests_of("OffsetCommit")
    assert (first.version, second.version) == (10, 10)
    (topic,) = second.body["topics"]
    assert (topic["topic_id"], [row["partition_index"] for row in topic["partitions"]]) == (topic_id("t"), [1])


def test_a_group_with_a_topic_whose_id_is_unknown_is_requested_by_name(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    commits: Commits = {"a": {T0: START, U0: START}, "b": {T0: START}}
    results = admin.alter_consumer_group_offsets(commits, topic_ids={"t": topic_id("t")})
    assert results.all() == {"a": {T0: None, U0: None}, "b": {T0: None}}
    requests = cluster.requests_of("OffsetCommit")
    assert {each.body["group_id"]: each.version for each in requests} == {"a": 9, "b": 10}
    (by_name,) = (each for each in requests if each.version == 9)
    assert [(topic["name"], topic["topic_id"]) for topic in by_name.body["topics"]] == [
        ("t", UUID(int=0)),
        ("u", UUID(int=0)),
    ]


@pytest.mark.parametrize("version", [2, 8, 9])
def test_a_broker_without_topic_ids_gets_the_names(version: int) -> None:
    versions = {"OffsetCommit": (0, version)}
    with ScriptedCluster(groups={"a": Group()}, topics=TOPICS, versions=versions) as cluster, cluster.admin() as admin:
        assert admin.alter_consumer_group_offsets({"a": {T0: START}}, topic_ids=IDS).all() == {"a": {T0: None}}
        (request,) = cluster.requests_of("OffsetCommit")
    assert (request.version, [topic["name"] for topic in request.body["topics"]]) == (version, ["t"])
