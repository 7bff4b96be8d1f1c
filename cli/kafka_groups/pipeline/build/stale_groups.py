"""Stale groups: groups without rows, because their last commit is older than the days that a build reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.sentences import list_names
from kafka_groups.pipeline.store import Queries, Storage
from kafka_groups.pipeline.tables import GROUP_DAILY, TOPIC_DAILY

_CLUSTER_DATES: Final = "SELECT DISTINCT cluster_id, date FROM {rows} WHERE date BETWEEN {first} AND {last}"
_LAST_DAYS: Final = """
    SELECT cluster_id, "group", date AS day, CAST(last_commit_time AS DATE) AS last_commit_date FROM (
        SELECT *, row_number() OVER (PARTITION BY cluster_id, "group" ORDER BY date DESC) AS place
        FROM {rows} WHERE date BETWEEN {first} AND {last}
    ) WHERE place = 1 AND partitions > 0 ORDER BY cluster_id, "group"
"""


class GroupLastDay(NamedTuple):
    """The date of a group's last row in group_daily, and the date of its last commit then; None if that is unknown."""

    cluster_id: str
    group: str
    day: date
    last_commit_date: date | None

    def is_stale(self, next_date: date | None, lookback_days: int) -> bool:
        """Return whether the group has no row on the cluster's next date because its last commit is too old.

        It is too old if it was made more than `lookback_days` before that date, or at an unknown time. If it is recent
        enough, the group was deleted instead. `next_date` is None if the cluster has no later date.
        """
        if next_date is None:
            return False
        return self.last_commit_date is None or self.last_commit_date < next_date - timedelta(days=lookback_days)


def describe_stale_groups(
    storage: Storage,
    lookback_days: int,
    *,
    dates: Collection[date] | None = None,
    is_wanted: Callable[[str], bool] = lambda _group: True,
) -> list[str]:
    """Return a sentence for each cluster with stale groups that are wanted.

    The last commit of a stale group is unknown, or too old for a row on the cluster's next date. `dates` are the dates
    that a build has just written: only rows from the first to the last of them are read, so a group whose last row is
    earlier is not named. Without any dates, all rows are read. Raises StorageError.
    """
    built_dates = [date.fromisoformat(day) for day in storage.dates(GROUP_DAILY)]
    if not built_dates or built_dates[0] >= built_dates[-1] - timedelta(days=lookback_days):
        return []
    first_date = min(dates or [date.min])
    last_date = max(dates or [date.max])
    queries = Queries(storage)
    cluster_dates = _read_cluster_dates(queries, first_date, last_date)
    stale_groups = defaultdict[str, list[str]](list)
    for row in queries.select(GROUP_DAILY, _LAST_DAYS, first=first_date, last=last_date):
        last_day = GroupLastDay(**row)
        later_dates = [later_date for later_date in cluster_dates[last_day.cluster_id] if later_date > last_day.day]
        if last_day.is_stale(min(later_dates, default=None), lookback_days) and is_wanted(last_day.group):
            stale_groups[last_day.cluster_id].append(last_day.group)
    return [
        _describe_cluster(cluster, max(cluster_dates[cluster]), groups, lookback_days)
        for cluster, groups in stale_groups.items()
    ]


def _read_cluster_dates(queries: Queries, first_date: date, last_date: date) -> dict[str, set[date]]:
    """Return by cluster id the dates between `first_date` and `last_date` that were built."""
    dates_by_cluster = defaultdict[str, set[date]](set)
    for table in (GROUP_DAILY, TOPIC_DAILY):
        for row in queries.select(table, _CLUSTER_DATES, first=first_date, last=last_date):
            dates_by_cluster[row["cluster_id"]].add(row["date"])
    return dates_by_cluster


def _describe_cluster(cluster_id: str, last_date: date, groups: list[str], lookback_days: int) -> str:
    """Return the sentence on the stale groups (at least one) of a cluster, which was last built on `last_date`."""
    subject = "1 group has" if len(groups) == 1 else f"{len(groups):,} groups have"
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return (
        f"{subject} no commit {period} before {last_date} on cluster {cluster_id}, and no row since then: "
        f"{list_names(groups)}."
    )
