"""Executions of plans in tests: a journal in memory, and scripted groups without members."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafka_groups.admin.api import Admin
from kafka_groups.changes.change import Action, Change, Outcome, PlannedChange, PlannedGroups, Status, to_change
from kafka_groups.changes.execution import Execution, execute_plan
from kafka_groups.changes.journal import JournalWriter
from kafka_groups.changes.validity import check_again
from kafka_groups.errors import JournalError
from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.protocol.topic_ids import format_topic_id
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster, topic_id

RUN_ID = "20261123-120000-a"
TOPICS = {"t": {0: 1, 1: 2}, "u": {0: 1}}
FULL_DISK = "the disk is full"


class MemoryJournal(JournalWriter):
    """The record of one run. `at_begin` is called when it begins, and with `is_full` outcomes cannot be recorded."""

    def __init__(self, *, is_full: bool = False, at_begin: Callable[[], None] = lambda: None) -> None:
        self.id = RUN_ID
        self.changes: list[Change] = []
        self.statuses: dict[int, Status] = {}
        self.is_finished = False
        self._is_full = is_full
        self._at_begin = at_begin

    def begin(self, planned: PlannedGroups) -> MemoryJournal:
        """Begin the run of a plan."""
        self._at_begin()
        self.changes = planned.changes()
        return self

    def record(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Record outcomes."""
        if self._is_full:
            raise JournalError(FULL_DISK)
        self.statuses |= {at: outcome.status for at, outcome in outcomes}

    def finish(self) -> None:
        """Record the end of the run."""
        self.is_finished = True


def execute(
    admin: Admin,
    *changes: Change | PlannedChange,
    journal: MemoryJournal | None = None,
    force: bool = False,
    pause: Callable[[float], None] = lambda _seconds: None,
) -> Execution:
    """Execute a plan of these changes."""
    rows: dict[str, tuple[PlannedChange, ...]] = {}
    for each in changes:
        planned = each if isinstance(each, PlannedChange) else PlannedChange(each)
        rows[planned.change.group] = (*rows.get(planned.change.group, ()), planned)
    return execute_groups(admin, PlannedGroups(rows=rows), (journal or MemoryJournal()).begin, force=force, pause=pause)


def execute_groups(
    admin: Admin,
    planned: PlannedGroups,
    begin: Callable[[PlannedGroups], JournalWriter],
    *,
    force: bool = False,
    pause: Callable[[float], None] = lambda _seconds: None,
) -> Execution:
    """Execute a plan as a command does: check it again, begin a run with `begin`, and make the changes."""
    deadline = admin.deadline()
    valid = check_again(admin, planned, force=force, deadline=deadline)
    return execute_plan(admin, valid, begin(valid), deadline=deadline, pause=pause)


def commit(group: str, before: int | None, after: int, *, topic: str = "t", partition: int = 0) -> Change:
    """Return the change of a commit."""
    key = TopicPartition(topic, partition)
    return to_change(Action.COMMIT, group, key, _at(before), _at(after), topic_id=id_of(topic))


def id_of(topic: str) -> str:
    """Return the id of a topic of the fakes, as plans have it."""
    return format_topic_id(topic_id(topic))


def deletion(
    group: str, before: int | None, *, partition: int = 0, action: Action = Action.DELETE_OFFSETS, topic: str = "t"
) -> Change:
    """Return the deletion of a commit, or that of a group with this commit."""
    return to_change(action, group, TopicPartition(topic, partition), _at(before), topic_id=id_of(topic))


def rows(execution: Execution) -> list[tuple[str, int | None, str, str]]:
    """Return group, partition, status and note of each row."""
    return [
        (each.change.group, each.change.partition, each.status.value, each.note) for each in execution.all_outcomes()
    ]


def statuses(execution: Execution) -> list[str]:
    """Return the status of each row."""
    return [each.status.value for each in execution.all_outcomes()]


def names(execution: Execution) -> list[tuple[str | None, int | None, str]]:
    """Return group, partition and name of each failure."""
    return [(why.group, why.partition, why.name) for why in execution.failures]


def idle(*commits: int, coordinator: int = 1, **fields: Any) -> Group:
    """Return a group without members that has these commits on the partitions of `t`."""
    committed = {("t", partition): Commit(offset) for partition, offset in enumerate(commits)}
    return Group(coordinator=coordinator, state="Empty", commits=committed, **fields)


def offsets(cluster: ScriptedCluster, group: str) -> dict[tuple[str, int], int]:
    """Return the committed offsets of a group."""
    return {
        key: value if isinstance(value, int) else value.offset for key, value in cluster.groups[group].commits.items()
    }


def _at(offset: int | None) -> CommittedOffset | None:
    return None if offset is None else CommittedOffset(offset, None, "")
