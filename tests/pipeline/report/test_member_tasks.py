"""The tasks of members, followed from row to row."""

from __future__ import annotations

from typing import Any

from kafka_groups.members import ConnectorTasks, SubtopologyTasks, TaskAssignment
from kafka_groups.pipeline.report.member_tasks import (
    CONNECTOR,
    Client,
    ShownTasks,
    Task,
    TaskChange,
    follow_tasks,
    group_connectors,
    group_subtopologies,
)

FILE: Task = ("", "file", CONNECTOR)
FIRST: Task = ("", "file", 0)
SECOND: Task = ("", "file", 1)


def row(at_ms: int, tasks: dict[str, set[Task] | None], **given: Any) -> ShownTasks:
    """Return a row that names all members, unless given otherwise."""
    shown = {name: None if own is None else frozenset(own) for name, own in tasks.items()}
    return ShownTasks(at_ms, shown, **({"is_complete": True} | given))


def changed(change: TaskChange) -> tuple[Any, ...]:
    return change.at_ms, change.member_id, set(change.gained), set(change.lost)


def test_the_first_row_is_no_change_and_its_time_a_bound() -> None:
    shown = follow_tasks([row(10, {"a": {FILE}})])
    assert shown.changes == ()
    assert [(member.since_ms, member.since_is_bound) for member in shown.members] == [(10, True)]


def test_a_row_with_the_same_tasks_changes_nothing() -> None:
    shown = follow_tasks([row(10, {"a": {FILE}}), row(20, {"a": {FILE}})])
    first = follow_tasks([row(10, {"a": {FILE}})])
    assert shown == first._replace(members=(first.members[0]._replace(last_row_ms=20),))


def test_a_member_that_a_complete_row_omits_lost_its_tasks() -> None:
    shown = follow_tasks([row(10, {"a": {FILE}, "b": {FIRST}}), row(20, {"a": {FILE, FIRST}})])
    assert [changed(change) for change in shown.changes] == [(20, "b", set(), {FIRST}), (20, "a", {FIRST}, set())]
    assert [member.member_id for member in shown.members] == ["a"]


def test_a_member_without_tasks_leaves_without_a_change() -> None:
    shown = follow_tasks([row(10, {"a": set()}), row(20, {})])
    assert (shown.members, shown.changes) == ((), ())


def test_unknown_tasks_leave_those_that_were_known_before() -> None:
    rows = [row(10, {"a": {FILE}, "b": {FIRST}}), row(20, {"a": None}, is_complete=False), row(30, {"a": {FILE}})]
    assert [changed(change) for change in follow_tasks(rows).changes] == [(30, "b", set(), {FIRST})]
    assert [member.since_ms for member in follow_tasks(rows).members] == [10]


def test_a_member_that_is_named_late_may_have_run_its_tasks_before() -> None:
    rows = [row(10, {"a": {FILE}}, is_complete=False), row(20, {"b": {FIRST}}, is_complete=False)]
    shown = follow_tasks(rows)
    assert shown.changes == ()
    assert [(member.since_ms, member.since_is_bound) for member in shown.members] == [(10, True), (20, True)]


def test_a_member_that_has_just_joined_gains_its_tasks() -> None:
    rows = [row(10, {"a": {FILE}}, is_complete=False), row(20, {"b": {FIRST}}, is_complete=False, joined={"b"})]
    shown = follow_tasks(rows)
    assert [changed(change) for change in shown.changes] == [(20, "b", {FIRST}, set())]
    assert shown.members[1].since_is_bound is False


def test_a_member_that_left_loses_its_tasks_and_others_stay() -> None:
    rows = [row(10, {"a": {FILE}, "b": {FIRST}}), row(20, {}, is_complete=False, left={"b"})]
    shown = follow_tasks(rows)
    assert [changed(change) for change in shown.changes] == [(20, "b", set(), {FIRST})]
    assert [member.member_id for member in shown.members] == ["a"]


def test_members_have_the_client_that_any_row_has_shown() -> None:
    client = Client("c-1", "/127.0.0.1", "http://a:8083/")
    rows = [row(10, {}, clients={"a": client}), row(20, {"a": {FILE}}), row(30, {})]
    assert [change.client for change in follow_tasks(rows).changes] == [client, client]


def test_tasks_of_connect_are_grouped_by_connector() -> None:
    tasks = [SECOND, ("", "sink", 10), ("", "sink", 2), FILE, FIRST]
    assert group_connectors(tasks) == (ConnectorTasks("file", True, (0, 1)), ConnectorTasks("sink", False, (2, 10)))


def test_tasks_of_streams_groups_are_grouped_by_role() -> None:
    tasks = [("active", "0", 1), ("active", "0", 0), ("warmup", "1", 3)]
    assert group_subtopologies(tasks) == TaskAssignment(
        active=(SubtopologyTasks("0", (0, 1)),), warmup=(SubtopologyTasks("1", (3,)),)
    )
