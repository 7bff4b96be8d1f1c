"""The groups of a report: what the tables know of each at the end of the period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka_groups.pipeline.build.coverage import Coverage
from kafka_groups.pipeline.report.coordinators import find_outdated_groups
from kafka_groups.pipeline.report.deletions import Deletion, find_deletions
from kafka_groups.pipeline.report.fact_coverage import read_coverages
from kafka_groups.pipeline.report.last_rows import (
    LastDay,
    LastEvent,
    LastRows,
    LastStatus,
    LastTopicDay,
    read_last_rows,
    read_last_topic_days,
)
from kafka_groups.pipeline.report.period import DAY_MS, GroupKey, PeriodTables


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownGroup:
    """What the tables know of a group at the end of the period.

    - `status`, `event` and `day` are its last rows; None for a table without a row in the period.
    - `deletion` is None if the group exists.
    - `is_judged`: the group exists, has commits, and has the lag and verdict in `status`.
    - `unknown_partitions` is the number of partitions that lag and verdict omit, because no log end offset is known.
    - `is_outdated`: the coordinator did not respond to the last samples, so the commits are older.
    - `has_unknown_rebalances`: if there was a rebalance, no record that was read would show it.
    """

    key: GroupKey
    status: LastStatus | None = None
    event: LastEvent | None = None
    day: LastDay | None = None
    deletion: Deletion | None = None
    is_judged: bool = False
    unknown_partitions: int = 0
    is_outdated: bool = False
    has_unknown_rebalances: bool = False

    @property
    def judged_status(self) -> LastStatus | None:
        """The row with lag and verdict of the group; None if it is not judged."""
        return self.status if self.is_judged else None


class KnownGroups(NamedTuple):
    """All groups of a period, without those that were deleted before it. Times are milliseconds since 1970.

    By cluster id, `evaluated_ms` has the time of the newest row of group_status, `newest_day_ms` the newest built
    day, and `coverages` the last times of facts. All three include the clusters of deleted groups.
    """

    by_key: Mapping[GroupKey, KnownGroup]
    evaluated_ms: Mapping[str, int]
    newest_day_ms: Mapping[str, int]
    coverages: Mapping[str, Coverage]


def read_known_groups(tables: PeriodTables) -> KnownGroups:
    """Return the groups for which any table has a row in the period. Raises StorageError."""
    rows_by_group = read_last_rows(tables)
    topic_days = read_last_topic_days(tables)
    coverages = read_coverages(tables, {key.cluster_id for key in rows_by_group})
    deletion_by_group = find_deletions(tables, rows_by_group, coverages)
    judged_groups = {
        key: last_rows
        for key, last_rows in rows_by_group.items()
        if key not in deletion_by_group and _is_judged(last_rows, topic_days.get(key.cluster_id))
    }
    outdated_groups = find_outdated_groups(tables, judged_groups, coverages)
    known_groups = {}
    for key, last_rows in rows_by_group.items():
        deletion = deletion_by_group.get(key)
        if deletion is not None and deletion.at_ms < tables.period.since_ms:
            continue
        is_judged = key in judged_groups
        known_groups[key] = KnownGroup(
            key=key,
            status=last_rows.status,
            event=last_rows.event,
            day=last_rows.day,
            deletion=deletion,
            is_judged=is_judged,
            unknown_partitions=_count_unknown_partitions(last_rows) if is_judged else 0,
            is_outdated=key in outdated_groups,
            has_unknown_rebalances=_has_unknown_rebalances(coverages[key.cluster_id], tables.period.since_ms),
        )
    last_statuses = [last_rows.status for last_rows in rows_by_group.values() if last_rows.status is not None]
    evaluated_ms = _find_newest_times((status.cluster_id, status.evaluated_ms) for status in last_statuses)
    days_of_clusters = [
        (last_rows.day.cluster_id, last_rows.day.day_ms)
        for last_rows in rows_by_group.values()
        if last_rows.day is not None
    ]
    days_of_clusters += [(day.cluster_id, day.day_ms) for day in topic_days.values()]
    newest_day_ms = _find_newest_times(days_of_clusters)
    return KnownGroups(known_groups, evaluated_ms, newest_day_ms, coverages)


def _find_newest_times(clusters_and_times: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return by cluster id the newest of its times; each of `clusters_and_times` is a cluster id and a time."""
    newest_ms: dict[str, int] = {}
    for cluster, time_ms in clusters_and_times:
        newest_ms[cluster] = max(time_ms, newest_ms.get(cluster, time_ms))
    return newest_ms


def _is_judged(last_rows: LastRows, topic_day: LastTopicDay | None) -> bool:
    """Return whether the last row of an existing group still has a valid lag and verdict."""
    return last_rows.status is not None and not _lost_all_commits(last_rows, topic_day)


def _lost_all_commits(last_rows: LastRows, topic_day: LastTopicDay | None) -> bool:
    """Return whether all commits of a group were deleted: it has none on its last day, or no row of later days.

    A group without a row on the cluster's newest day may have commits from before the days that a build reads. Then it
    is unknown whether they were deleted. If the cluster has rows after the period, its last day describes a later
    moment, and says nothing about a group whose newest row is at the end of the period. `topic_day` is the cluster's
    newest day; None without any.
    """
    has_newest_status = last_rows.status is not None and last_rows.status.is_newest_of_cluster
    if has_newest_status or last_rows.day is None or topic_day is None:
        return False
    if last_rows.day.partitions == 0:
        return True
    oldest_read_ms = topic_day.day_ms - topic_day.lookback_days * DAY_MS
    return last_rows.day.day_ms < topic_day.day_ms and (last_rows.day.last_commit_ms or 0) >= max(oldest_read_ms, 1)


def _count_unknown_partitions(last_rows: LastRows) -> int:
    """Return how many partitions with a commit the group's last row omits; 0 if the group has later rows."""
    if (
        last_rows.status is None
        or not last_rows.status.is_last
        or last_rows.day is None
        or last_rows.day.existing_partitions is None
    ):
        return 0
    return max(0, last_rows.day.existing_partitions - last_rows.status.partitions)


def _has_unknown_rebalances(coverage: Coverage, since_ms: int) -> bool:
    """Return whether no record would show a rebalance, because none was read since `since_ms`."""
    return coverage.last_record_ms is None or coverage.last_record_ms < since_ms
