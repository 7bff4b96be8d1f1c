"""The rows of group_events that show tasks of Connect and streams groups, read for the groups of a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.members import TaskAssignment
from kafka_groups.pipeline.report.member_tasks import CONNECTOR, Client, GroupTasks, ShownTasks, Task, follow_tasks
from kafka_groups.pipeline.report.period import GroupKey, Period, PeriodTables
from kafka_groups.pipeline.tables import GROUP_EVENTS
from kafka_groups.pipeline.tables.sql import render_sql

_COLUMNS: Final = render_sql("""
    cluster_id, "group", at_ms, source_offset, event_type, previous_epoch, member_id, client_id, client_host,
        members, workers, tasks
""")
_SHOWS_TASKS: Final = render_sql("""
    (workers IS NOT NULL OR event_type = 'group_removed'
        OR (tasks IS NOT NULL AND event_type <> 'target_assignment')
        OR (record_name = 'StreamsGroupMemberMetadata' AND event_type IN ('member_metadata', 'member_left')))
""")
_TASK_ROWS: Final = "SELECT {columns} FROM period_rows WHERE {shows_tasks}"
# All records, because the last one of a member may be old, and the last sample of each group, which shows all members.
_EARLIER_ROWS: Final = """
    SELECT {columns} FROM period_rows LEFT JOIN (
        SELECT cluster_id AS sampled_cluster, "group" AS sampled_group, max(at_ms) AS last_sample_ms FROM period_rows
        WHERE source_offset IS NULL AND (workers IS NOT NULL OR tasks IS NOT NULL) GROUP BY cluster_id, "group"
    ) ON cluster_id = sampled_cluster AND "group" = sampled_group
    WHERE {shows_tasks} AND (source_offset IS NOT NULL OR at_ms = last_sample_ms)
"""


class TaskRow(NamedTuple):
    """A row of group_events, with its time in ms since 1970. `source_offset` is None for samples."""

    cluster_id: str
    group: str
    at_ms: int
    source_offset: int | None
    event_type: str
    previous_epoch: int | None
    member_id: str | None
    client_id: str | None
    client_host: str | None
    members: Sequence[Mapping[str, Any]] | None
    workers: Sequence[Mapping[str, Any]] | None
    tasks: Sequence[Mapping[str, Any]] | None

    @property
    def has_joined(self) -> bool:
        """Whether the record shows the first tasks of a member, which had no epoch before."""
        return self.member_id is not None and self.tasks is not None and self.previous_epoch == 0


def read_tasks(
    tables: PeriodTables, groups: Collection[GroupKey], last_record_ms: Mapping[str, int | None]
) -> dict[GroupKey, GroupTasks]:
    """Return by group what its members ran in the period. Groups without a row that shows tasks are absent.

    A member without a row in the period runs what the last row before it shows. `last_record_ms` is the time of the
    last record that was read, by cluster id. Raises StorageError.
    """
    since_ms = tables.period.since_ms
    rows_by_group: dict[GroupKey, list[TaskRow]] = {}
    earlier_period = Period(0, since_ms - 1)
    for query, period in ((_EARLIER_ROWS, earlier_period), (_TASK_ROWS, tables.period)):
        for row in tables.select_groups(
            TaskRow, GROUP_EVENTS, query, groups, period, columns=_COLUMNS, shows_tasks=_SHOWS_TASKS
        ):
            rows_by_group.setdefault(GroupKey(row.cluster_id, row.group), []).append(row)
    return {
        key: _follow_rows(_order_rows(group_rows, last_record_ms.get(key.cluster_id))).changed_since(since_ms)
        for key, group_rows in rows_by_group.items()
        if any(row.workers is not None or row.tasks is not None for row in group_rows)
    }


def _follow_rows(rows: Sequence[TaskRow]) -> GroupTasks:
    """Return what the rows of a group show, in their order."""
    has_roles = any(row.tasks is not None for row in rows)
    return follow_tasks(map(_read_shown_tasks, rows))._replace(has_roles=has_roles)


def _order_rows(rows: Sequence[TaskRow], last_record_ms: int | None) -> list[TaskRow]:
    """Return the records in the order of the log, with the samples before the first and after the last that was read.

    The records show each change. A sample between them adds nothing. If its clock differs from the brokers' clocks,
    it would seem to undo a change.
    """
    records = sorted((row for row in rows if row.source_offset is not None), key=lambda row: row.source_offset or 0)
    samples = sorted((row for row in rows if row.source_offset is None), key=lambda row: row.at_ms)
    if not records:
        return samples
    samples_before = [row for row in samples if row.at_ms < records[0].at_ms]
    read_until_ms = max(records[-1].at_ms, last_record_ms or 0)
    return [*samples_before, *records, *(row for row in samples if row.at_ms > read_until_ms)]


def _read_shown_tasks(row: TaskRow) -> ShownTasks:
    """Return the tasks that a row shows; the removal of a group shows that it has no members."""
    if row.member_id is not None:
        return _read_member_record(row)
    clients = {member["member_id"]: Client(member["client_id"], member["client_host"]) for member in row.members or ()}
    tasks: dict[str, frozenset[Task] | None] = {}
    for worker in row.workers or ():
        member_id = worker["member_id"]
        tasks[member_id] = _read_worker_tasks(worker["connectors"])
        clients[member_id] = clients.get(member_id, Client())._replace(url=worker["url"])
    tasks |= _read_streams_tasks(row)
    return ShownTasks(row.at_ms, tasks, is_complete=None not in tasks.values(), clients=clients)


def _read_member_record(row: TaskRow) -> ShownTasks:
    """Return what a record of a member of a streams group shows: its client, its tasks, or that it left."""
    member_id = str(row.member_id)
    has_client = row.client_id is not None
    return ShownTasks(
        row.at_ms,
        _read_streams_tasks(row),
        joined=(member_id,) if row.has_joined else (),
        left=(member_id,) if row.event_type == "member_left" else (),
        clients={member_id: Client(row.client_id, row.client_host)} if has_client else {},
    )


def _read_streams_tasks(row: TaskRow) -> dict[str, frozenset[Task] | None]:
    """Return the tasks of each member of a streams group that the row names."""
    return {
        member["member_id"]: frozenset(
            (role, subtopology_tasks["subtopology"], task_number)
            for role in TaskAssignment._fields
            for subtopology_tasks in member[role]
            for task_number in subtopology_tasks["partitions"]
        )
        for member in row.tasks or ()
    }


def _read_worker_tasks(connectors: Sequence[Mapping[str, Any]] | None) -> frozenset[Task] | None:
    """Return what a worker runs; None if unknown."""
    if connectors is None:
        return None
    tasks = {
        ("", connector["connector"], task_number) for connector in connectors for task_number in connector["tasks"]
    }
    connectors_themselves = {
        ("", connector["connector"], CONNECTOR) for connector in connectors if connector["has_connector"]
    }
    return frozenset(tasks | connectors_themselves)
