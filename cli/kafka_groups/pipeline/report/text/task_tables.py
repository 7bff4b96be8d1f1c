"""The tasks of the members of one Connect group as tables: those that they last ran, and the changes of the period."""

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
)
from kafka_groups.pipeline.report.notation import format_second
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.writers.table import write_table

# The last changes of the period. A group whose members come and go has thousands.
_MAX_CHANGES: Final = 20


class MemberRow(NamedTuple):
    """A member with the tasks that it last ran; None is an empty cell."""

    name: str
    client_id: str | None
    connectors: str | None
    tasks: str | None
    since: str


class ChangeRow(NamedTuple):
    """A change of the tasks of a member; None is an empty cell."""

    at: str
    name: str
    gained: str | None
    lost: str | None


_MEMBERS: Final = (
    Column("MEMBER", "name"),
    Column("CLIENT-ID", "client_id", when_narrow="cut"),
    Column("CONNECTORS", "connectors", when_narrow="fold"),
    Column("TASKS", "tasks", when_narrow="fold"),
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
    write_table(screen, _MEMBERS, [_member_row(member, at_most) for member in tasks.members])
    if any(member.since_is_bound for member in tasks.members):
        print_note(screen, f"SINCE of a member: {at_most} means at or before, because no earlier row names the member.")
    if not tasks.changes:
        return
    screen.out.write("\n")
    write_table(screen, _CHANGES, [_change_row(change) for change in tasks.changes[-_MAX_CHANGES:]])
    earlier = len(tasks.changes) - _MAX_CHANGES
    if earlier > 0:
        print_note(screen, f"{count_of(earlier, 'earlier change')} of tasks; --format json has them all.")


def _member_row(member: MemberTasks, at_most: str) -> MemberRow:
    return MemberRow(
        name=_name(member.member_id, member.client),
        client_id=member.client.client_id,
        connectors=_format_connectors(member.tasks),
        tasks=_format_tasks(member.tasks),
        since=f"{at_most if member.since_is_bound else ''}{format_second(member.since_ms)}",
    )


def _change_row(change: TaskChange) -> ChangeRow:
    return ChangeRow(
        at=format_second(change.at_ms),
        name=_name(change.member_id, change.client),
        gained=_format_all(change.gained),
        lost=_format_all(change.lost),
    )


def _name(member_id: str, client: Client) -> str:
    """Return the URL of a worker, which people know it by; the id of another member."""
    return client.url or member_id


def _format_all(tasks: Iterable[Task]) -> str | None:
    tasks = [*tasks]
    return " ".join(filter(None, (_format_connectors(tasks), _format_tasks(tasks)))) or None


def _format_connectors(tasks: Iterable[Task]) -> str | None:
    """Return the names of the connectors that are among the tasks themselves."""
    return ",".join(each.connector for each in group_connectors(tasks) if each.has_connector) or None


def _format_tasks(tasks: Iterable[Task]) -> str | None:
    """Return the tasks as `connector:0,1;other:2`."""
    shown = [f"{each.connector}:{','.join(map(str, each.tasks))}" for each in group_connectors(tasks) if each.tasks]
    return ";".join(shown) or None
