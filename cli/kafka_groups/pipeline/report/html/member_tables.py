"""The tables of a Connect or streams group on the page: what its members run, and the last changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.html.markup import Cell, escape_name, escape_text, make_row, make_table
from kafka_groups.pipeline.report.member_tasks import GroupTasks, MemberTasks, TaskChange
from kafka_groups.pipeline.report.notation import describe_minute
from kafka_groups.pipeline.report.task_notation import (
    describe_unseen_members,
    format_all_tasks,
    format_connectors,
    format_roles,
    format_tasks,
    member_name,
)
from kafka_groups.rendering.counts import count_of

# A group whose members come and go has thousands of changes.
_MAX_CHANGES: Final = 100
_ROLES: Final = {"active": "Active", "standby": "Standby", "warmup": "Warm-up"}


def render_task_tables(history: History, group: GroupHistory) -> str:
    """Return the tables of what the members of a group run; nothing if that is unknown."""
    tasks = group.tasks
    if tasks is None:
        return ""
    return "".join(_render_details(history, group, tasks))


def _render_details(history: History, group: GroupHistory, tasks: GroupTasks) -> Iterator[str]:
    notes_markup = "".join(
        f'<p class="hint">{escape_text(note)}</p>\n' for note in describe_unseen_members(tasks, from_ms=history.from_ms)
    )
    if tasks.members:
        rows = [_render_member(history, member, has_roles=tasks.has_roles) for member in tasks.members]
        headers = [
            Cell(None, label) for label in ("Member", "Client", *_list_labels(has_roles=tasks.has_roles), "Since")
        ]
        table_markup = make_table(headers, rows, label=f"Tasks of {escape_text(group.group)}")
        summary_text = f"tasks of {count_of(len(tasks.members), 'member')}"
        yield f"<details><summary>{summary_text}</summary>\n{notes_markup}{table_markup}</details>\n"
    else:
        yield notes_markup
    if tasks.changes:
        yield _render_changes(history, group, tasks)


def _render_changes(history: History, group: GroupHistory, tasks: GroupTasks) -> str:
    """Return the last changes of tasks, the newest first."""
    newest_changes = tasks.changes[::-1][:_MAX_CHANGES]
    count_text = count_of(len(tasks.changes), "change of tasks", "changes of tasks")
    summary_text = (
        count_text
        if len(newest_changes) == len(tasks.changes)
        else f"{count_text}, the last {len(newest_changes)} of them"
    )
    rows = [_render_change(history, change, has_roles=tasks.has_roles) for change in newest_changes]
    headers = [Cell(None, label) for label in ("At", "Member", "Gained", "Lost")]
    table_markup = make_table(headers, rows, label=f"Changes of tasks of {escape_text(group.group)}")
    return f"<details><summary>{summary_text}</summary>\n{table_markup}</details>\n"


def _list_labels(*, has_roles: bool) -> tuple[str, ...]:
    return tuple(_ROLES.values()) if has_roles else ("Connectors", "Tasks")


def _render_member(history: History, member: MemberTasks, *, has_roles: bool) -> str:
    if has_roles:
        roles = format_roles(member.tasks)
        cell_values = [roles[role] for role in _ROLES]
    else:
        cell_values = [format_connectors(member.tasks), format_tasks(member.tasks)]
    cells = [
        _make_cell(member.client.client_id, "Client"),
        *(
            _make_cell(value, label)
            for value, label in zip(cell_values, _list_labels(has_roles=has_roles), strict=True)
        ),
        Cell(_describe_since(history, member), "Since"),
    ]
    return make_row(Cell(escape_name(member_name(member.member_id, member.client)), "Member"), cells)


def _describe_since(history: History, member: MemberTasks) -> str:
    """Return since when a member has run exactly its tasks."""
    since_text = describe_minute(member.since_ms, beside_ms=history.to_ms)
    return f"{since_text} or before" if member.since_is_bound else since_text


def _render_change(history: History, change: TaskChange, *, has_roles: bool) -> str:
    return make_row(
        Cell(describe_minute(change.at_ms, beside_ms=history.to_ms), "At"),
        [
            _make_cell(member_name(change.member_id, change.client), "Member"),
            _make_cell(format_all_tasks(change.gained, has_roles=has_roles), "Gained"),
            _make_cell(format_all_tasks(change.lost, has_roles=has_roles), "Lost"),
        ],
    )


def _make_cell(value: str | None, label: str) -> Cell:
    return Cell(None if value is None else escape_name(value), label)
