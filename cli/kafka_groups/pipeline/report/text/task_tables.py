"""The tasks of the members of one Connect or streams group as tables: the last ones, and the changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.member_tasks import (
    Client,
    GroupTasks,
    MemberTasks,
    Task,
    TaskChange,
    group_connectors,
    group_subtopologies,
)
from kafka_groups.pipeline.report.notation import format_second
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.writers.table import write_table

# The last changes of the period. A group whose members come and go has thousands.
_MAX_CHANGES: Final = 20


class MemberRow(NamedTuple):
    """A member with the tasks that it last ran; None is an empty cell.

    A member of a Connect group has `connectors` and `tasks`, one of a streams group tasks by role.
    """

    name: str
    client_id: str | None
    since: str
    connectors: str | None = None
    tasks: str | None = None
    active: str | None = None
    standby: str | None = None
    warmup: str | None = None


class ChangeRow(NamedTuple):
    """A change of the tasks of a member; None is an empty cell."""

    at: str
    name: str
    gained: str | None
    lost: str | None


_WORKERS: Final = (
    Column("MEMBER", "name"),
    Column("CLIENT-ID", "client_id", when_narrow="cut"),
    Column("CONNECTORS", "connectors", when_narrow="fold"),
    Column("TASKS", "tasks", when_narrow="fold"),
    Column("SINCE", "since"),
)
_STREAMS_MEMBERS: Final = (
    Column("MEMBER", "name"),
    Column("CLIENT-ID", "client_id", when_narrow="cut"),
    Column("ACTIVE", "active", when_narrow="fold"),
    Column("STANDBY", "standby", when_narrow="fold"),
    Column("WARMUP", "warmup", when_narrow="fold"),
    Column("SINCE", "since"),
)
_CHANGES: Final = (
    Column("AT", "at"),
    Column("MEMBER", "name"),
    Column("GAINED", "gained", when_narrow="fold"),
    Column("LOST", "lost", when_narrow="fold"),
)


def draw_tasks(screen: Screen, tasks: GroupTasks) -> None:
    """Print the members, then the last changes; stderr has the number of the earlier ones."""
    at_most = "≤" if screen.is_unicode else "<="
    screen.out.write("\n")
    columns = _STREAMS_MEMBERS if tasks.has_roles else _WORKERS
    write_table(screen, columns, [_member_row(member, at_most, has_roles=tasks.has_roles) for member in tasks.members])
    if any(member.since_is_bound for member in tasks.members):
        print_note(screen, f"SINCE of a member: {at_most} means at or before, because no earlier row names the member.")
    if not tasks.changes:
        return
    last_changes = tasks.changes[-_MAX_CHANGES:]
    screen.out.write("\n")
    write_table(screen, _CHANGES, [_change_row(change, has_roles=tasks.has_roles) for change in last_changes])
    earlier_count = len(tasks.changes) - _MAX_CHANGES
    if earlier_count > 0:
        print_note(screen, f"{count_of(earlier_count, 'earlier change')} of tasks; --format json has them all.")


def _member_row(member: MemberTasks, at_most: str, *, has_roles: bool) -> MemberRow:
    row = MemberRow(
        name=_name(member.member_id, member.client),
        client_id=member.client.client_id,
        since=f"{at_most if member.since_is_bound else ''}{format_second(member.since_ms)}",
    )
    if has_roles:
        roles = _format_roles(member.tasks)
        return row._replace(active=roles["active"], standby=roles["standby"], warmup=roles["warmup"])
    return row._replace(connectors=_format_connectors(member.tasks), tasks=_format_tasks(member.tasks))


def _change_row(change: TaskChange, *, has_roles: bool) -> ChangeRow:
    format_tasks = _format_streams_tasks if has_roles else _format_connect_tasks
    return ChangeRow(
        at=format_second(change.at_ms),
        name=_name(change.member_id, change.client),
        gained=format_tasks(change.gained),
        lost=format_tasks(change.lost),
    )


def _name(member_id: str, client: Client) -> str:
    """Return the URL of a worker, which people know it by; the id of another member."""
    return client.url or member_id


def _format_connect_tasks(tasks: Iterable[Task]) -> str | None:
    tasks = [*tasks]
    return " ".join(filter(None, (_format_connectors(tasks), _format_tasks(tasks)))) or None


def _format_streams_tasks(tasks: Iterable[Task]) -> str | None:
    """Return the tasks of a streams group as `active 0:1 standby 1:0,2`."""
    return " ".join(f"{role} {tasks_text}" for role, tasks_text in _format_roles(tasks).items() if tasks_text) or None


def _format_roles(tasks: Iterable[Task]) -> dict[str, str | None]:
    """Return the tasks of each role as `subtopology:0,1;other:2`."""
    return {
        role: ";".join(
            f"{subtopology_tasks.subtopology}:{','.join(map(str, subtopology_tasks.partitions))}"
            for subtopology_tasks in tasks_of_role
        )
        or None
        for role, tasks_of_role in group_subtopologies(tasks)._asdict().items()
    }


def _format_connectors(tasks: Iterable[Task]) -> str | None:
    """Return the names of the connectors that are among the tasks themselves."""
    return (
        ",".join(
            connector_tasks.connector for connector_tasks in group_connectors(tasks) if connector_tasks.has_connector
        )
        or None
    )


def _format_tasks(tasks: Iterable[Task]) -> str | None:
    """Return the tasks as `connector:0,1;other:2`."""
    connector_texts = [
        f"{connector_tasks.connector}:{','.join(map(str, connector_tasks.tasks))}"
        for connector_tasks in group_connectors(tasks)
        if connector_tasks.tasks
    ]
    return ";".join(connector_texts) or None
