"""The rows of `lag` with their clusters: merged, the worst first, and judged by a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kafka_groups.conditions import Condition
from kafka_groups.groups.lag.lag_row import LagKey, LagRow, order_of
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.summary import GroupSummary
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import failure_of
from kafka_groups.options.cluster_threads import Outcome
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.columns import Column, Entry


class ClusterGroup(NamedTuple):
    """A group of a cluster."""

    cluster: Cluster
    summary: GroupSummary


class ClusterLag(NamedTuple):
    """A row of a cluster: the lag of a group, or of a part of it."""

    cluster: Cluster
    row: LagRow


class ClustersReading(NamedTuple):
    """The lag of several clusters; groups and rows that are furthest behind come first."""

    groups: Sequence[ClusterGroup]
    rows: Sequence[ClusterLag]
    failures: Sequence[Failure]
    notes: Sequence[Note]
    anything_read: bool


def merge_readings(outcomes: Sequence[Outcome[LagReading]], key: LagKey) -> ClustersReading:
    """Return the readings of several clusters as one; a cluster that failed is one failure."""
    groups: list[ClusterGroup] = []
    failures: list[Failure] = []
    notes: list[Note] = []
    for outcome in outcomes:
        cluster = outcome.reader.cluster()
        failures += failures_of(outcome)
        if outcome.value is not None:
            groups += [ClusterGroup(cluster, group) for group in outcome.value.groups]
            notes += name_cluster(outcome.value, cluster.name).notes
    rows = [
        ClusterLag(each.cluster, row)
        for each in groups
        for row in ((each.summary.total,) if key is LagKey.GROUP else each.summary.rows)
    ]
    return ClustersReading(
        groups=sorted(groups, key=lambda each: (order_of(each.summary.total), each.cluster.name)),
        rows=sort_rows(rows),
        failures=failures,
        notes=notes,
        anything_read=any(outcome.value is not None and outcome.value.anything_read for outcome in outcomes),
    )


def failures_of(outcome: Outcome[LagReading]) -> Sequence[Failure]:
    """Return what failed in a cluster, or the failure of the whole cluster."""
    name = outcome.reader.cluster().name
    if outcome.error is not None:
        return [failure_of(outcome.error)._replace(cluster=name)]
    return () if outcome.value is None else name_cluster(outcome.value, name).failures


def name_cluster(reading: LagReading, name: str) -> LagReading:
    """Return a reading whose failures and notes name its cluster."""
    return reading._replace(
        failures=tuple(failure._replace(cluster=name) for failure in reading.failures),
        notes=tuple(note._replace(cluster=name) for note in reading.notes),
    )


def sort_rows(rows: Iterable[ClusterLag]) -> list[ClusterLag]:
    """Return the rows of several clusters, those that are furthest behind first."""
    return sorted(rows, key=lambda each: (order_of(each.row), each.cluster.name))


def entries_of(rows: Iterable[ClusterLag], columns: Sequence[Column]) -> Iterator[Entry]:
    """Yield an entry for the rows of one cluster that follow each other."""
    for cluster, run in groupby(rows, key=lambda each: each.cluster):
        yield Entry(columns, [each.row for each in run], dict, cluster=cluster)


def failing_groups(condition: Condition | None, rows: Iterable[LagRow]) -> list[str]:
    """Return the groups of the rows for which a condition holds, in quotes."""
    if condition is None:
        return []
    return [f"'{row.group}'" for row in rows if condition.holds(row.condition_values())]


def failing_cluster_groups(condition: Condition | None, rows: Iterable[ClusterLag]) -> list[str]:
    """Return the groups of the rows for which a condition holds, with their clusters."""
    if condition is None:
        return []
    return [f"'{row.group}' of {cluster.name}" for cluster, row in rows if condition.holds(row.condition_values())]
