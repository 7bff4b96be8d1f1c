"""The topics to which a reading is narrowed: which requests it costs, and which partitions they name."""

from __future__ import annotations

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.groups.lag.measurement import measure_lag
from kafka_groups.groups.selection import Selectors
from kafka_groups.groups.topic_scope import TopicScope, note_others
from kafka_groups.model import TopicPartition
from tests.fakes.cluster_of_kinds import kinds_cluster
from tests.fakes.scripted_cluster import Group, ScriptedCluster

TOPICS = {"t": {0: 1, 1: 2, 2: 3}, "u": {0: 1, 1: 2}, "unread": {0: 3}}


def cluster_of_topics() -> ScriptedCluster:
    """Return a cluster with a group on `t` alone, one on `u` alone, and one on both."""
    of_t = {("t", partition): 20 for partition in range(3)}
    of_u = {("u", partition): 20 for partition in range(2)}
    commits = {"t": of_t, "u": of_u, "both": {**of_t, **of_u}}
    return ScriptedCluster(
        groups={name: Group(state="Empty", commits=found) for name, found in commits.items()}, topics=TOPICS
    )


def partitions_with_log_offsets(cluster: ScriptedCluster) -> set[tuple[str, int]]:
    """Return the partitions that ListOffsets requests named."""
    return {
        (topic["name"], row["partition_index"])
        for request in cluster.requests_of("ListOffsets")
        for topic in request.body["topics"]
        for row in topic["partitions"]
    }


def groups_of(admin: GroupAdmin, topics: dict[str, tuple[int, ...]], **selectors: object) -> list[str]:
    """Return the groups that a narrowed measurement has."""
    chosen = Selectors(**selectors or {"all_groups": True})  # type: ignore[arg-type]
    return sorted(measure_lag(admin, chosen, topics=topics).described.descriptions)


@pytest.mark.parametrize(
    ("topics", "log_offsets", "partitions"),
    [
        ({"u": ()}, 4, {("u", 0), ("u", 1)}),
        ({"t": (2,)}, 2, {("t", 2)}),
        ({"t": (0,), "u": (0,)}, 2, {("t", 0), ("u", 0)}),
        ({"unread": ()}, 0, set()),
    ],
)
def test_log_offsets_of_other_partitions_are_not_requested(
    topics: dict[str, tuple[int, ...]], log_offsets: int, partitions: set[tuple[str, int]]
) -> None:
    with cluster_of_topics() as cluster, cluster.admin() as admin:
        groups_of(admin, topics)
        requests = {"ListGroups": 3, "OffsetFetch": 1, "Metadata": 1, "ListOffsets": log_offsets}
        assert cluster.requests() == {api: number for api, number in requests.items() if number}
        assert partitions_with_log_offsets(cluster) == partitions


def test_all_topics_cost_more_log_offsets_and_no_less_metadata() -> None:
    with cluster_of_topics() as cluster, cluster.admin() as admin:
        groups_of(admin, {})
        assert cluster.requests() == {"ListGroups": 3, "OffsetFetch": 1, "Metadata": 1, "ListOffsets": 6}


def test_named_groups_cost_no_listing() -> None:
    with cluster_of_topics() as cluster, cluster.admin() as admin:
        assert groups_of(admin, {"u": (1,)}, named=("both", "t")) == ["both"]
        assert cluster.requests()["ListGroups"] == 0
        assert partitions_with_log_offsets(cluster) == {("u", 1)}


def test_a_later_poll_needs_no_metadata() -> None:
    with cluster_of_topics() as cluster, cluster.admin() as admin:
        groups_of(admin, {"u": ()})
        groups_of(admin, {"u": ()})
        assert cluster.requests()["Metadata"] == 1


@pytest.mark.parametrize("topic", ["lines", "clicks", "orders"])
def test_groups_of_every_kind_are_those_that_read_the_topic(topic: str) -> None:
    with kinds_cluster() as cluster, cluster.admin() as admin:
        every = measure_lag(admin, Selectors())
        expected = {description.group for description, rows in every.partitions() if topic in {r.topic for r in rows}}
        found = measure_lag(admin, Selectors(), topics={topic: ()})
        rows = [row for _, part in found.partitions() for row in part]
        assert {row.group for row in rows} == expected != set()
        assert rows == [row for _, part in every.partitions() for row in part if row.topic == topic]
        assert found.failures == every.failures


def test_a_topic_that_does_not_exist_costs_no_log_offset() -> None:
    with cluster_of_topics() as cluster, cluster.admin() as admin:
        cluster.groups["late"] = Group(state="Empty", commits={("deleted", 0): 5})
        measurement = measure_lag(admin, Selectors(), topics={"deleted": ()})
        assert [(each.topic, each.name) for each in measurement.failures] == [("deleted", "UNKNOWN_TOPIC_OR_PARTITION")]
        assert [*measurement.described.descriptions] == ["late"]
        assert cluster.requests()["ListOffsets"] == 0


def test_a_scope_has_the_named_partitions() -> None:
    scope = TopicScope({"t": frozenset(), "u": frozenset({1, 7})}, {"u": frozenset({0, 1})}, frozenset({"t"}))
    assert [scope.has("t", 5), scope.has("u", 1), scope.has("u", 0), scope.has("v", 0)] == [True, True, False, False]
    assert scope.missing() == [TopicPartition("u", 7)]
    assert [scope.may_exist(TopicPartition(*key)) for key in (("t", 0), ("u", 1), ("u", 7))] == [False, True, False]
    assert scope.partitions_of("u") == {1}


def test_beyond_a_limit_one_note_counts_the_groups_without_the_topic() -> None:
    notes = note_others(f"g{number}" for number in range(25))
    assert [note.subject for note in notes[19:]] == ["g19", None]
    assert notes[-1].text.startswith("5 more groups have no commits")
