"""The tables of a Connect or streams group on the page: what its members run, and the last changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.html.markup import Cell, name, row, table, text
from kafka_groups.pipeline.report.member_tasks import GroupTasks, MemberTasks, TaskChange
from kafka_groups.pipeline.report.notation import describe_minute
from kafka_groups.pipeline.report.task_notation import (
    describe_unseen_members,
    format_all,
    format_connectors,
    format_roles,
    format_tasks,
    member_name,
)
from kafka_groups.rendering.counts import count_of

# A group whose members come and go has thousands of changes.
_MAX_CHANGES: Final = 100
_ROLES: Final = {"active": "Active", "standby": "Standby", "warmup": "Warm-up"}


def task_tables(history: History, group: GroupHistory) -> str:
    """Return the tables of what the members of a group run; nothing if that is unknown."""
    tasks = group.tasks
    if tasks is None:
        return ""
    return "".join(_details(history, group, tasks))


def _details(history: History, group: GroupHistory, tasks: GroupTasks) -> Iterator[str]:
    notes = "".join(
        f'<p class="hint">{text(note)}</p>\n' for note in describe_unseen_members(tasks, from_ms=history.from_ms)
    )
    if tasks.members:
        rows = [_member_row(history, member, has_roles=tasks.has_roles) for member in tasks.members]
        headers = [Cell(None, label) for label in ("Member", "Client", *_labels(has_roles=tasks.has_roles), "Since")]
        inner = table(headers, rows, label=f"Tasks of {text(group.group)}")
        summary = f"tasks of {count_of(len(tasks.members), 'member')}"
        yield f"<details><summary>{summary}</summary>\n{notes}{inner}</details>\n"
    else:
        yield notes
    if tasks.changes:
        yield _changes(history, group, tasks)


def _changes(history: History, group: GroupHistory, tasks: GroupTasks) -> str:
    """Return the last changes of tasks, the newest first."""
    newest = tasks.changes[::-1][:_MAX_CHANGES]
    count = count_of(len(tasks.changes), "change of tasks", "changes of tasks")
    summary = count if len(newest) == len(tasks.changes) else f"{count}, the last {len(newest)} of them"
    rows = [_change_row(history, change, has_roles=tasks.has_roles) for change in newest]
    headers = [Cell(None, label) for label in ("At", "Member", "Gained", "Lost")]
    inner = table(headers, rows, label=f"Changes of tasks of {text(group.group)}")
    return f"<details><summary>{summary}</summary>\n{inner}</details>\n"


def _labels(*, has_roles: bool) -> tuple[str, ...]:
    return tuple(_ROLES.values()) if has_roles else ("Connectors", "Tasks")


def _member_row(history: History, member: MemberTasks, *, has_roles: bool) -> str:
    if has_roles:
        roles = format_roles(member.tasks)
        values = [roles[role] for role in _ROLES]
    else:
        values = [format_connectors(member.tasks), format_tasks(member.tasks)]
    cells = [
        _cell(member.client.client_id, "Client"),
        *(_cell(value, label) for value, label in zip(values, _labels(has_roles=has_roles), strict=True)),
        Cell(_since(history, member), "Since"),
    ]
    return row(Cell(name(member_name(member.member_id, member.client)), "Member"), cells)


def _since(history: History, member: MemberTasks) -> str:
    """Return since when a member has run exactly its tasks."""
    since = describe_minute(member.since_ms, beside_ms=history.to_ms)
    return f"{since} or before" if member.since_is_bound else since


def _change_row(history: History, change: TaskChange, *, has_roles: bool) -> str:
    return row(
        Cell(describe_minute(change.at_ms, beside_ms=history.to_ms), "At"),
        [
            _cell(member_name(change.member_id, change.client), "Member"),
            _cell(format_all(change.gained, has_roles=has_roles), "Gained"),
            _cell(format_all(change.lost, has_roles=has_roles), "Lost"),
        ],
    )


def _cell(value: str | None, label: str) -> Cell:
    return Cell(None if value is None else name(value), label)
