"""Share groups whose start offsets are changed: a scripted cluster, plans of changes, and their execution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change, PlannedGroups
from kafka_groups.changes.deletion import DeletionRequest
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.groups.selection import Selectors
from tests.changes.executions import MemoryJournal, execute_groups, id_of, statuses
from tests.fakes.scripted_cluster import Group, ScriptedCluster

TOPICS = {"t": {0: 1, 1: 2, 2: 1}, "u": {0: 1}}
STARTS = {("t", 0): 5, ("t", 1): 60, ("u", 0): 7}
MEMBER: dict[str, Any] = {
    "member_id": "m",
    "client_id": "c",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["t"],
}


def share(coordinator: int = 1, **fields: Any) -> Group:
    """Return a share group without members."""
    values = {"state": "Empty", "commits": dict(STARTS), **fields}
    return Group(coordinator=coordinator, type="Share", protocol_type="share", **values)


@contextmanager
def share_cluster() -> Iterator[ScriptedCluster]:
    """Open a cluster with share groups `s` and `s2` on two brokers, and the consumer group `c`.

    Logs reach from 10 to 100.
    """
    groups = {"s": share(), "s2": share(2), "c": Group(state="Empty", commits={("t", 0): 42})}
    starts = {(topic, at): 10 for topic, partitions in TOPICS.items() for at in partitions}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS, starts=starts) as cluster:
        yield cluster


def reset(admin: GroupAdmin, specification: Specification, *groups: str, **request: Any) -> PlannedGroups:
    """Plan a reset of `s`, or of these groups."""
    return plan_reset(admin, Selectors(named=groups or ("s",)), ResetRequest(specification, **request))


def delete_offsets(admin: GroupAdmin, topic: str, *partitions: int, file: PlanRows | None = None) -> PlannedGroups:
    """Plan the deletion of start offsets of `s`."""
    request = DeletionRequest(topics={topic: partitions}) if file is None else DeletionRequest(file=file)
    return plan_offset_deletion(admin, Selectors(named=("s",)), request)


def execute(admin: GroupAdmin, planned: PlannedGroups, **options: Any) -> list[str]:
    """Execute a plan, and return the statuses of its rows."""
    return statuses(execute_groups(admin, planned, MemoryJournal().begin, **options))


def rows(planned: PlannedGroups) -> list[tuple[str, int | None, int | None, str]]:
    """Return partition, start offsets before and after, and note of each row."""
    return [
        (f"{row.change.topic}-{row.change.partition}", row.change.committed_offset, row.change.new_offset, row.note)
        for of_group in planned.rows.values()
        for row in of_group
    ]


def reasons(planned: PlannedGroups) -> list[str]:
    """Return the messages of the failures and refusals."""
    return [failure.message for failure in planned.all_failures()]


def start(partition: int, before: int | None, after: int | None) -> Change:
    """Return a change of a start offset of `s` on a partition of `t`."""
    action = Action.SHARE_OFFSET
    return Change(action, "s", "t", partition, before, new_offset=after, topic_id=id_of("t"), group_type="Share")
