"""The tasks of the members of a Connect or streams group, from all rows until the end of a report's period.

A record of a Connect group names all of its workers with what each runs. A record of a streams group names one member.
So what a member ran before the first row that names it is unknown, unless the row shows that it has just joined. A
member without a row in the period has the tasks that it last ran before.

Example: `b` joins the worker `a` of a Connect group, and takes a task over.

>>> def shown(at_ms, **tasks):
...     return ShownTasks(at_ms, {name: frozenset(own) for name, own in tasks.items()}, is_complete=True)
>>> file, first, second = ("", "file", CONNECTOR), ("", "file", 0), ("", "file", 1)
>>> members, changes = follow_tasks([shown(10, a={file, first, second}), shown(20, a={file, first}, b={second})])
>>> [(member.member_id, member.since_ms, member.since_is_bound) for member in members]
[('a', 20, False), ('b', 20, False)]
>>> [(change.member_id, sorted(change.gained), sorted(change.lost)) for change in changes]
[('a', [], [('', 'file', 1)]), ('b', [('', 'file', 1)], [])]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.members import ConnectorTasks, SubtopologyTasks, TaskAssignment

# A task: its role, its connector or subtopology, and its number. Tasks of Connect have no role.
Task: TypeAlias = tuple[str, str, int]
# The number that stands for the connector itself, as in Kafka's ConnectProtocol.
CONNECTOR: Final = -1


class Client(NamedTuple):
    """The client of a member; `url` is that of a worker's REST interface. A value is None if unknown."""

    client_id: str | None = None
    host: str | None = None
    url: str | None = None


class ShownTasks(NamedTuple):
    """The tasks that a record or a sample shows, at a time in milliseconds since 1970.

    `tasks` are by member id, None for a member whose tasks are unknown. With `is_complete`, other members have left.
    `joined` are members that ran nothing before, and `left` members that have left.
    """

    at_ms: int
    tasks: Mapping[str, frozenset[Task] | None]
    is_complete: bool = False
    joined: Collection[str] = ()
    left: Collection[str] = ()
    clients: Mapping[str, Client] = {}


class MemberTasks(NamedTuple):
    """The tasks that a member last ran, and since when (ms since 1970).

    With `since_is_bound`, it may have run them for longer: no earlier row names the member. `last_row_ms` is the time
    of the last row that shows its tasks; it may be before the period of the report.
    """

    member_id: str
    client: Client
    tasks: frozenset[Task]
    since_ms: int
    since_is_bound: bool
    last_row_ms: int


class TaskChange(NamedTuple):
    """The tasks that a member gained and lost at a time (ms since 1970)."""

    at_ms: int
    member_id: str
    client: Client
    gained: frozenset[Task]
    lost: frozenset[Task]


class GroupTasks(NamedTuple):
    """The members of a group with their last tasks, by id, and the changes of the period in ascending order of time.

    `has_roles` is True for a streams group, whose tasks have roles, and False for a Connect group. `unknown_members`
    are ids of members that rows name, but whose tasks no row shows.
    """

    members: tuple[MemberTasks, ...]
    changes: tuple[TaskChange, ...]
    has_roles: bool = False
    unknown_members: tuple[str, ...] = ()

    def changed_since(self, since_ms: int) -> GroupTasks:
        """Return the tasks with only the changes since a time (ms since 1970)."""
        return self._replace(changes=tuple(change for change in self.changes if change.at_ms >= since_ms))

    def members_before(self, from_ms: int) -> list[MemberTasks]:
        """Return the members without a row since a time (ms since 1970)."""
        return [member for member in self.members if member.last_row_ms < from_ms]


def follow_tasks(shown_tasks: Iterable[ShownTasks]) -> GroupTasks:
    """Return the tasks after the last row, and all changes between the rows, which must be in the order of the log."""
    member_by_id: dict[str, MemberTasks] = {}
    client_by_id: dict[str, Client] = {}
    changes = list[TaskChange]()
    named_ids = set[str]()
    was_complete = False
    for shown in shown_tasks:
        client_by_id |= shown.clients
        named_ids = set() if shown.is_complete else named_ids - {*shown.left}
        named_ids |= shown.clients.keys() | shown.tasks.keys()
        ids_of_leavers = sorted(member_by_id.keys() - shown.tasks.keys()) if shown.is_complete else shown.left
        for member_id in ids_of_leavers:
            member_before = member_by_id.pop(member_id, None)
            if member_before is not None and member_before.tasks:
                changes.append(
                    TaskChange(shown.at_ms, member_id, member_before.client, frozenset(), member_before.tasks)
                )
        for member_id, tasks in sorted(shown.tasks.items()):
            if tasks is None:
                continue
            member_before = member_by_id.get(member_id)
            is_seen_first = member_before is None and not was_complete and member_id not in shown.joined
            tasks_before = frozenset[Task]() if member_before is None else member_before.tasks
            client = client_by_id.get(member_id, Client())
            if member_before is None or tasks != tasks_before:
                member_by_id[member_id] = MemberTasks(
                    member_id, client, tasks, shown.at_ms, is_seen_first, last_row_ms=shown.at_ms
                )
            else:
                member_by_id[member_id] = member_before._replace(last_row_ms=shown.at_ms)
            if not is_seen_first and tasks != tasks_before:
                changes.append(TaskChange(shown.at_ms, member_id, client, tasks - tasks_before, tasks_before - tasks))
        was_complete = was_complete or shown.is_complete
    members = tuple(member_by_id[member_id] for member_id in sorted(member_by_id))
    return GroupTasks(members, tuple(changes), unknown_members=tuple(sorted(named_ids - member_by_id.keys())))


def group_connectors(tasks: Iterable[Task]) -> tuple[ConnectorTasks, ...]:
    """Return tasks of Connect by connector, in the order of the names."""
    numbers_by_connector: dict[str, list[int]] = {}
    for _, connector, task_number in sorted(tasks):
        numbers_by_connector.setdefault(connector, []).append(task_number)
    return tuple(
        ConnectorTasks(
            connector,
            CONNECTOR in task_numbers,
            tuple(task_number for task_number in task_numbers if task_number != CONNECTOR),
        )
        for connector, task_numbers in numbers_by_connector.items()
    )


def group_subtopologies(tasks: Iterable[Task]) -> TaskAssignment:
    """Return tasks of a streams group by their role and subtopology, in the order of the ids."""
    numbers_by_role: dict[str, dict[str, list[int]]] = {role: {} for role in TaskAssignment._fields}
    for role, subtopology, task_number in sorted(tasks):
        numbers_by_role[role].setdefault(subtopology, []).append(task_number)
    tasks_by_role = {
        role: tuple(
            SubtopologyTasks(subtopology, tuple(numbers)) for subtopology, numbers in numbers_by_subtopology.items()
        )
        for role, numbers_by_subtopology in numbers_by_role.items()
    }
    return TaskAssignment(**tasks_by_role)
