"""The tasks of the members of Connect groups in the report's document, with their schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.pipeline.report.member_tasks import GroupTasks, MemberTasks, Task, TaskChange, group_connectors
from kafka_groups.pipeline.report.notation import format_instant
from kafka_groups.rendering.schemas import (
    Document,
    Schema,
    array_schema,
    boolean_schema,
    object_schema,
    text_schema,
    time_schema,
)


def tasks_document(tasks: GroupTasks | None) -> Document | None:
    """Return the object of what the members of a group run; None if unknown."""
    if tasks is None:
        return None
    return {
        "members": [_member(member) for member in tasks.members],
        "changes": [_change(change) for change in tasks.changes],
    }


def _member(member: MemberTasks) -> Document:
    return {
        **_identity(member),
        "since": format_instant(member.since_ms),
        "since_is_bound": member.since_is_bound,
        **_tasks(member.tasks),
    }


def _change(change: TaskChange) -> Document:
    return {
        "at": format_instant(change.at_ms),
        **_identity(change),
        "gained": _tasks(change.gained),
        "lost": _tasks(change.lost),
    }


def _identity(member: MemberTasks | TaskChange) -> Document:
    client = member.client
    return {"member_id": member.member_id, "client_id": client.client_id, "host": client.host, "url": client.url}


def _tasks(tasks: Iterable[Task]) -> Document:
    connectors = [{**own._asdict(), "tasks": [*own.tasks]} for own in group_connectors(tasks)]
    return {"connectors": connectors}


_CONNECTORS: Final = array_schema(
    "Connectors, and their tasks.",
    object_schema(
        {
            "connector": text_schema("The name of the connector."),
            "has_connector": boolean_schema("Whether the connector itself is among them, beside its tasks."),
            "tasks": array_schema("The numbers of the tasks, ascending.", {"type": "integer", "minimum": 0}),
        }
    ),
)
_TASKS: Final = {"connectors": _CONNECTORS}
_IDENTITY: Final = {
    "member_id": text_schema("The id of the member."),
    "client_id": text_schema("Its client id; null if unknown.", nullable=True),
    "host": text_schema("Its host; null if unknown.", nullable=True),
    "url": text_schema("The URL of a worker's REST interface; null if unknown.", nullable=True),
}
_MEMBER: Final = {
    **_IDENTITY,
    "since": time_schema("Since when it has run exactly these tasks."),
    "since_is_bound": boolean_schema(
        "Whether it may have run them for longer: no earlier row of the period names the member."
    ),
    **_TASKS,
}
_CHANGE: Final = {
    "at": time_schema("The time of the change."),
    **_IDENTITY,
    "gained": {"description": "The tasks that the member did not run before.", **object_schema(_TASKS)},
    "lost": {"description": "The tasks that the member no longer runs.", **object_schema(_TASKS)},
}


def tasks_schema() -> Schema:
    """Return the schema of what `tasks_document` returns."""
    schema = object_schema(
        {
            "members": array_schema("The members with the tasks that they last ran, by id.", object_schema(_MEMBER)),
            "changes": array_schema("The changes in the period, in ascending order of time.", object_schema(_CHANGE)),
        }
    )
    description = (
        "What the workers of a Connect group run; null for other groups, and if no row of the period shows it."
    )
    return {"description": description, **schema, "type": ["object", "null"]}
