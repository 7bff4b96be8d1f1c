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


def follow_tasks(rows: Iterable[ShownTasks]) -> GroupTasks:
    """Return the tasks after the last row, and all changes between the rows, which must be in the order of the log."""
    members: dict[str, MemberTasks] = {}
    clients: dict[str, Client] = {}
    changes = list[TaskChange]()
    named = set[str]()
    was_complete = False
    for row in rows:
        clients |= row.clients
        named = (set() if row.is_complete else named - {*row.left}) | row.clients.keys() | row.tasks.keys()
        gone = sorted(members.keys() - row.tasks.keys()) if row.is_complete else row.left
        for member_id in gone:
            before = members.pop(member_id, None)
            if before is not None and before.tasks:
                changes.append(TaskChange(row.at_ms, member_id, before.client, frozenset(), before.tasks))
        for member_id, tasks in sorted(row.tasks.items()):
            if tasks is None:
                continue
            before = members.get(member_id)
            is_new = before is None and not was_complete and member_id not in row.joined
            held = frozenset[Task]() if before is None else before.tasks
            client = clients.get(member_id, Client())
            if before is None or tasks != held:
                members[member_id] = MemberTasks(member_id, client, tasks, row.at_ms, is_new, row.at_ms)
            else:
                members[member_id] = before._replace(last_row_ms=row.at_ms)
            if not is_new and tasks != held:
                changes.append(TaskChange(row.at_ms, member_id, client, tasks - held, held - tasks))
        was_complete = was_complete or row.is_complete
    last_tasks = tuple(members[member_id] for member_id in sorted(members))
    return GroupTasks(last_tasks, tuple(changes), unknown_members=tuple(sorted(named - members.keys())))


def group_connectors(tasks: Iterable[Task]) -> tuple[ConnectorTasks, ...]:
    """Return tasks of Connect by connector, in the order of the names."""
    numbers: dict[str, list[int]] = {}
    for _, connector, number in sorted(tasks):
        numbers.setdefault(connector, []).append(number)
    return tuple(
        ConnectorTasks(connector, CONNECTOR in own, tuple(number for number in own if number != CONNECTOR))
        for connector, own in numbers.items()
    )


def group_subtopologies(tasks: Iterable[Task]) -> TaskAssignment:
    """Return tasks of a streams group by their role and subtopology, in the order of the ids."""
    by_role: dict[str, dict[str, list[int]]] = {role: {} for role in TaskAssignment._fields}
    for role, subtopology, number in sorted(tasks):
        by_role[role].setdefault(subtopology, []).append(number)
    roles = {
        role: tuple(SubtopologyTasks(subtopology, tuple(numbers)) for subtopology, numbers in own.items())
        for role, own in by_role.items()
    }
    return TaskAssignment(**roles)
