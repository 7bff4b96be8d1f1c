"""The tasks of the members of Connect and streams groups in the report's document, with their schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.members import TaskAssignment
from kafka_groups.pipeline.report.member_tasks import (
    GroupTasks,
    MemberTasks,
    Task,
    TaskChange,
    group_connectors,
    group_subtopologies,
)
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
        "members": [_make_member(member, has_roles=tasks.has_roles) for member in tasks.members],
        "unknown_members": [*tasks.unknown_members],
        "changes": [_make_change(change, has_roles=tasks.has_roles) for change in tasks.changes],
    }


def _make_member(member: MemberTasks, *, has_roles: bool) -> Document:
    return {
        **_make_identity(member),
        "since": format_instant(member.since_ms),
        "since_is_bound": member.since_is_bound,
        "last_row_at": format_instant(member.last_row_ms),
        **_make_tasks(member.tasks, has_roles=has_roles),
    }


def _make_change(change: TaskChange, *, has_roles: bool) -> Document:
    return {
        "at": format_instant(change.at_ms),
        **_make_identity(change),
        "gained": _make_tasks(change.gained, has_roles=has_roles),
        "lost": _make_tasks(change.lost, has_roles=has_roles),
    }


def _make_identity(member: MemberTasks | TaskChange) -> Document:
    client = member.client
    return {"member_id": member.member_id, "client_id": client.client_id, "host": client.host, "url": client.url}


def _make_tasks(tasks: Iterable[Task], *, has_roles: bool) -> Document:
    if has_roles:
        return {"connectors": None, "tasks": _make_roles(group_subtopologies(tasks))}
    connectors = [
        {**connector_tasks._asdict(), "tasks": [*connector_tasks.tasks]} for connector_tasks in group_connectors(tasks)
    ]
    return {"connectors": connectors, "tasks": None}


def _make_roles(tasks: TaskAssignment) -> Document:
    return {
        role: [
            {**subtopology_tasks._asdict(), "partitions": [*subtopology_tasks.partitions]}
            for subtopology_tasks in getattr(tasks, role)
        ]
        for role in tasks._fields
    }


_CONNECTORS: Final = array_schema(
    "Connectors, and their tasks; null for a streams group.",
    object_schema(
        {
            "connector": text_schema("The name of the connector."),
            "has_connector": boolean_schema("Whether the connector itself is among them, beside its tasks."),
            "tasks": array_schema("The numbers of the tasks, ascending.", {"type": "integer", "minimum": 0}),
        }
    ),
    nullable=True,
)
_SUBTOPOLOGIES: Final = array_schema(
    "The tasks, by subtopology.",
    object_schema(
        {
            "subtopology": text_schema("The id of the subtopology."),
            "partitions": array_schema("The numbers of the tasks, ascending.", {"type": "integer", "minimum": 0}),
        }
    ),
)
_ROLES: Final[Schema] = {
    "description": "The tasks of a streams group by what the member does with them; null for a Connect group.",
    **object_schema(dict.fromkeys(TaskAssignment._fields, _SUBTOPOLOGIES)),
    "type": ["object", "null"],
}
_TASKS: Final = {"connectors": _CONNECTORS, "tasks": _ROLES}
_IDENTITY: Final = {
    "member_id": text_schema("The id of the member."),
    "client_id": text_schema("Its client id; null if unknown.", nullable=True),
    "host": text_schema("Its host; null if unknown.", nullable=True),
    "url": text_schema("The URL of a worker's REST interface; null if unknown.", nullable=True),
}
_MEMBER: Final = {
    **_IDENTITY,
    "since": time_schema("Since when it has run exactly these tasks."),
    "since_is_bound": boolean_schema("Whether it may have run them for longer: no earlier row names the member."),
    "last_row_at": time_schema(
        "The time of the last row that shows its tasks; if it is before the period, no row of the period does."
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
            "unknown_members": array_schema(
                "The ids of members whose tasks no row shows.", text_schema("The id of a member.")
            ),
            "changes": array_schema("The changes in the period, in ascending order of time.", object_schema(_CHANGE)),
        }
    )
    description = (
        "What the members of a Connect or streams group run, or ran last before the period; null for other groups, "
        "and if no row shows it."
    )
    return {"description": description, **schema, "type": ["object", "null"]}
