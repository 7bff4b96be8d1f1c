"""Assignments that identify topics only by their ids, as those of franz-go's kfake do: the ids are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups.descriptions import DescribedGroups, describe_groups, description_steps
from kafka_groups.groups.lag.rows import offset_rows
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.model import Assignment
from kafka_groups.protocol import Struct
from kafka_groups.protocol.topic_ids import format_topic_id
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

TOPICS = {"a": {0: 1, 1: 2}, "b": {0: 1}, "c": {0: 1}}


def _member(
    *topics: tuple[str, Sequence[int]], name: str | None = "", target: Sequence[Struct] | None = None
) -> Struct:
    """Return a member; `name` is the name of all its topics in the response, or None for their own names."""
    assigned = [
        {"topic_id": topic_id(topic), "topic_name": topic if name is None else name, "partitions": partitions}
        for topic, partitions in topics
    ]
    return {
        "member_id": "m",
        "member_epoch": 4,
        "client_id": "c",
        "client_host": "/h",
        "assignment": {"topic_partitions": assigned},
        "target_assignment": {"topic_partitions": assigned if target is None else target},
    }


def _group(*members: Struct, coordinator: int = 1) -> Group:
    return Group(type="Consumer", coordinator=coordinator, members=members, commits={("a", 0): 5})


def _describe(cluster: ScriptedCluster, *groups: str, timeout_s: float = 5.0) -> DescribedGroups:
    with cluster.admin(timeout_s=timeout_s) as admin:
        selectors = Selectors(named=groups)
        selection = select_groups(admin, selectors, operation=Operation.DESCRIBE)
        details = Details(offsets=True)
        plan = TimePlan(admin.deadline(), description_steps(details))
        return describe_groups(admin, selection, details=details, plan=plan)


def test_topics_of_all_groups_are_looked_up_in_one_request() -> None:
    groups = {
        "first": _group(_member(("b", [0]), ("a", [1, 0]))),
        "second": _group(_member(("a", [0])), _member(("c", [0]), target=[]), coordinator=2),
    }
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster, cluster.admin() as admin:
        described = admin.describe_consumer_groups(["first", "second"]).all()
        (lookup,) = (request for request in cluster.requests_of("Metadata") if request.body["topics"])
        assert cluster.requests()["Metadata"] == 1
    expected = (Assignment(topic="a", partitions=(0, 1)), Assignment(topic="b", partitions=(0,)))
    (member,) = described["first"].members
    assert (member.assignment, member.target_assignment) == (expected, expected)
    second = described["second"].members
    assert [member.assignment for member in second] == [
        (Assignment(topic="a", partitions=(0,)),),
        (Assignment(topic="c", partitions=(0,)),),
    ]
    assert second[1].target_assignment == ()
    ids = {(topic["topic_id"], topic["name"]) for topic in lookup.body["topics"]}
    assert ids == {(topic_id(name), None) for name in TOPICS}


def test_names_that_the_broker_returns_are_not_looked_up() -> None:
    groups = {"g": _group(_member(("a", [0]), name=None))}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster, cluster.admin() as admin:
        (member,) = admin.describe_consumer_groups(["g"]).all()["g"].members
        assert member.assignment == (Assignment(topic="a", partitions=(0,)),)
        assert cluster.requests()["Metadata"] == 0


def test_partitions_of_topic_ids_have_one_row_with_the_name_of_the_topic() -> None:
    with ScriptedCluster(groups={"g": _group(_member(("a", [0, 1])))}, topics=TOPICS) as cluster:
        described = _describe(cluster, "g")
    rows = [(row.topic, row.partition, row.committed_offset, row.member_id) for row in offset_rows(described, "g")]
    assert rows == [("a", 0, 5, "m"), ("a", 1, None, "m")]
    assert (described.failures, described.notes) == ((), ())


def test_partitions_of_a_topic_id_that_no_topic_has_are_skipped_with_a_note() -> None:
    groups = {"g": _group(_member(("gone", [0, 1]), ("a", [0]))), "h": _group(_member(("gone", [2])))}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster:
        described = _describe(cluster, "g", "h")
    assert [(row.topic, row.partition, row.member_id) for row in offset_rows(described, "g")] == [("a", 0, "m")]
    assert [(row.topic, row.partition, row.member_id) for row in offset_rows(described, "h")] == [("a", 0, None)]
    assert described.failures == ()
    gone = format_topic_id(topic_id("gone"))
    text = f"Assigned partitions were skipped, because no topic has their topic id ({gone})."
    assert described.notes == (Note(NoteKind.UNKNOWN_TOPIC_ID, None, text),)


def test_a_note_on_many_topic_ids_shows_the_first_five() -> None:
    groups = {"g": _group(_member(*((f"gone-{number}", [0]) for number in range(6))))}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster:
        (note,) = _describe(cluster, "g").notes
    ids = sorted(format_topic_id(topic_id(f"gone-{number}")) for number in range(6))
    assert note.text.endswith(f"({', '.join(ids[:5])}, …).")


@pytest.mark.parametrize(("code", "name"), [(29, "TOPIC_AUTHORIZATION_FAILED"), (-1, "UNKNOWN_SERVER_ERROR")])
def test_a_topic_id_that_may_not_be_looked_up_is_a_failure_of_its_group(code: int, name: str) -> None:
    groups = {"g": _group(_member(("secret", [0]), ("a", [0])))}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster:
        refused: Struct = {"error_code": code, "name": None, "topic_id": topic_id("secret"), "partitions": []}
        with_name = {"name": "a", "topic_id": topic_id("a"), "partitions": []}
        cluster.script("Metadata", changed(topics=[]), changed(topics=[refused, with_name]), brokers=[1])
        described = _describe(cluster, "g")
    assert [(row.topic, row.partition, row.member_id) for row in offset_rows(described, "g")] == [("a", 0, "m")]
    (failure,) = described.failures
    assert (failure.group, failure.code, failure.name) == ("g", code, name)
    assert failure.message.startswith(f"topic id {format_topic_id(topic_id('secret'))}: ")
    assert described.notes == ()


def test_a_broker_without_requests_by_topic_id_is_a_failure_that_names_the_version() -> None:
    groups = {"g": _group(_member(("b", [0])))}
    with ScriptedCluster(groups=groups, topics=TOPICS, versions={"Metadata": (0, 11)}) as cluster:
        described = _describe(cluster, "g")
    assert [(row.topic, row.partition) for row in offset_rows(described, "g")] == [("a", 0)]
    (failure,) = described.failures
    assert (failure.group, failure.name) == ("g", "UNSUPPORTED_VERSION")
    assert failure.message == (
        f"topic id {format_topic_id(topic_id('b'))}: "
        "topics by id need Metadata version 12 (Kafka 3.1); the broker supports up to 11"
    )


def test_topic_ids_that_were_not_looked_up_before_the_deadline_are_failures() -> None:
    groups = {"g": _group(_member(("b", [0]))), "stuck": _group(coordinator=2)}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster:
        stuck = changed(groups=[{"group_id": "stuck", "error_code": 14}])
        cluster.script("ConsumerGroupDescribe", *[stuck] * 50, brokers=[2])
        described = _describe(cluster, "g", "stuck", timeout_s=1.0)
    assert described.descriptions["g"].members[0].assignment == ()
    assert {(each.group, each.name) for each in described.failures} == {
        ("g", "MISSING_FROM_RESPONSE"),
        ("stuck", "TIMEOUT"),
    }


def test_a_topic_with_neither_name_nor_id_is_skipped_and_reported() -> None:
    nameless = {"topic_id": UUID(int=0), "topic_name": "", "partitions": [0]}
    groups = {"g": _group({**_member(), "assignment": {"topic_partitions": [nameless]}})}
    with ScriptedCluster(groups=groups, topics=TOPICS) as cluster, cluster.admin() as admin:
        group = admin.describe_consumer_groups(["g"]).all()["g"]
        assert cluster.requests()["Metadata"] == 0
    assert group.members[0].assignment == ()
    assert [failure.name for failure in group.unnamed_topics.values()] == ["MISSING_FROM_RESPONSE"]
