"""The tasks of members in the document of a report."""

from __future__ import annotations

from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.member_tasks import CONNECTOR, Client, GroupTasks, MemberTasks, TaskChange
from tests.pipeline.report.example_histories import FROM, group, history
from tests.pipeline.report.json.test_document import errors_in

WORKER = Client("c-1", "/h", "http://a:8083/")
TASKS = frozenset({("", "file", CONNECTOR), ("", "file", 0)})
MEMBER = MemberTasks("m1", WORKER, TASKS, FROM, since_is_bound=True, last_row_ms=FROM)
CHANGE = TaskChange(FROM, "m1", WORKER, TASKS, frozenset())
IDENTITY = {"member_id": "m1", "client_id": "c-1", "host": "/h", "url": "http://a:8083/"}
CONNECTORS = {"connectors": [{"connector": "file", "has_connector": True, "tasks": [0]}], "tasks": None}


def test_workers_have_what_they_run_and_what_changed() -> None:
    document = history_document(history(group(tasks=GroupTasks((MEMBER,), (CHANGE,), unknown_members=("m2",)))))
    time = "2026-11-20T00:00:00.000Z"
    assert document["groups"][0]["tasks"] == {
        "members": [{**IDENTITY, "since": time, "since_is_bound": True, "last_row_at": time, **CONNECTORS}],
        "unknown_members": ["m2"],
        "changes": [{"at": time, **IDENTITY, "gained": CONNECTORS, "lost": {"connectors": [], "tasks": None}}],
    }
    assert errors_in(document) == []


def test_members_of_a_streams_group_have_tasks_by_role() -> None:
    member = MemberTasks("m1", Client(), frozenset({("active", "0", 1), ("standby", "1", 0)}), FROM, False, FROM)
    document = history_document(history(group(tasks=GroupTasks((member,), (), has_roles=True))))
    (shown,) = document["groups"][0]["tasks"]["members"]
    assert (shown["connectors"], shown["client_id"]) == (None, None)
    assert shown["tasks"] == {
        "active": [{"subtopology": "0", "partitions": [1]}],
        "standby": [{"subtopology": "1", "partitions": [0]}],
        "warmup": [],
    }
    assert errors_in(document) == []


def test_a_group_without_known_tasks_has_null() -> None:
    document = history_document(history(group()))
    assert document["groups"][0]["tasks"] is None
    assert errors_in(document) == []
