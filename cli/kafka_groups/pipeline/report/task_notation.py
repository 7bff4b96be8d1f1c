"""The notation of the tasks of members in a report, for tables and for the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafka_groups.name_lists import first_names
from kafka_groups.pipeline.report.member_tasks import (
    Client,
    GroupTasks,
    Task,
    group_connectors,
    group_subtopologies,
)

_MAX_NAMES: Final = 5


def member_name(member_id: str, client: Client) -> str:
    """Return the URL of a worker, which people know it by; the id of another member."""
    return client.url or member_id


def format_connectors(tasks: Iterable[Task]) -> str | None:
    """Return the names of the connectors that are among the tasks themselves; None without any."""
    return (
        ",".join(
            connector_tasks.connector for connector_tasks in group_connectors(tasks) if connector_tasks.has_connector
        )
        or None
    )


def format_tasks(tasks: Iterable[Task]) -> str | None:
    """Return the tasks as `connector:0,1;other:2`; None without any."""
    connector_texts = [
        f"{connector_tasks.connector}:{','.join(map(str, connector_tasks.tasks))}"
        for connector_tasks in group_connectors(tasks)
        if connector_tasks.tasks
    ]
    return ";".join(connector_texts) or None


def format_roles(tasks: Iterable[Task]) -> dict[str, str | None]:
    """Return the tasks of each role as `subtopology:0,1;other:2`, None for a role without any."""
    return {
        role: ";".join(
            f"{subtopology_tasks.subtopology}:{','.join(map(str, subtopology_tasks.partitions))}"
            for subtopology_tasks in tasks_of_role
        )
        or None
        for role, tasks_of_role in group_subtopologies(tasks)._asdict().items()
    }


def format_all_tasks(tasks: Iterable[Task], *, has_roles: bool) -> str | None:
    """Return all tasks in one text, those of a streams group as `active 0:1 standby 1:0,2`; None without any."""
    tasks = [*tasks]
    if has_roles:
        return (
            " ".join(f"{role} {tasks_text}" for role, tasks_text in format_roles(tasks).items() if tasks_text) or None
        )
    return " ".join(filter(None, (format_connectors(tasks), format_tasks(tasks)))) or None


def describe_unseen_members(tasks: GroupTasks, *, from_ms: int) -> Iterator[str]:
    """Yield sentences on members without a row since the start of the period (ms since 1970), or without any tasks."""
    earlier_names = [member_name(member.member_id, member.client) for member in tasks.members_before(from_ms)]
    if earlier_names:
        names_text = first_names(earlier_names, _MAX_NAMES)
        yield f"No row of the period shows the tasks of {names_text}; they are the last known before it."
    if tasks.unknown_members:
        yield f"The tasks of {first_names(tasks.unknown_members, _MAX_NAMES)} are unknown: no row shows them."
