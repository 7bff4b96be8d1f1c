"""The tasks of the members of one Connect or streams group as tables: the last ones, and the changes."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.pipeline.report.member_tasks import GroupTasks, MemberTasks, TaskChange
from kafka_groups.pipeline.report.notation import format_second
from kafka_groups.pipeline.report.task_notation import (
    describe_unseen_members,
    format_all_tasks,
    format_connectors,
    format_roles,
    format_tasks,
    member_name,
)
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


def draw_tasks(screen: Screen, tasks: GroupTasks, *, from_ms: int) -> None:
    """Print the members, then the last changes; stderr has the number of the earlier ones.

    `from_ms` is the start of the report's period, in ms since 1970.
    """
    at_most_sign = "≤" if screen.is_unicode else "<="
    screen.out.write("\n")
    columns = _STREAMS_MEMBERS if tasks.has_roles else _WORKERS
    write_table(
        screen, columns, [_member_row(member, at_most_sign, has_roles=tasks.has_roles) for member in tasks.members]
    )
    if any(member.since_is_bound for member in tasks.members):
        print_note(
            screen, f"SINCE of a member: {at_most_sign} means at or before, because no earlier row names the member."
        )
    for note in describe_unseen_members(tasks, from_ms=from_ms):
        print_note(screen, note)
    if not tasks.changes:
        return
    last_changes = tasks.changes[-_MAX_CHANGES:]
    screen.out.write("\n")
    write_table(screen, _CHANGES, [_change_row(change, has_roles=tasks.has_roles) for change in last_changes])
    earlier_count = len(tasks.changes) - _MAX_CHANGES
    if earlier_count > 0:
        print_note(screen, f"{count_of(earlier_count, 'earlier change')} of tasks; --format json has them all.")


def _member_row(member: MemberTasks, at_most_sign: str, *, has_roles: bool) -> MemberRow:
    row = MemberRow(
        name=member_name(member.member_id, member.client),
        client_id=member.client.client_id,
        since=f"{at_most_sign if member.since_is_bound else ''}{format_second(member.since_ms)}",
    )
    if has_roles:
        roles = format_roles(member.tasks)
        return row._replace(active=roles["active"], standby=roles["standby"], warmup=roles["warmup"])
    return row._replace(connectors=format_connectors(member.tasks), tasks=format_tasks(member.tasks))


def _change_row(change: TaskChange, *, has_roles: bool) -> ChangeRow:
    return ChangeRow(
        at=format_second(change.at_ms),
        name=member_name(change.member_id, change.client),
        gained=format_all_tasks(change.gained, has_roles=has_roles),
        lost=format_all_tasks(change.lost, has_roles=has_roles),
    )
