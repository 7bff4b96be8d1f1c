"""Groups whose last commit is too old for the days that were built last: they have no row any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.sentences import few
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_DAILY, TOPIC_DAILY

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_DAY_MS: Final = 86_400_000


def left_out(
    spark: SparkSession,
    storage: Storage,
    lookback_days: int,
    *,
    is_wanted: Callable[[str], bool] = lambda _group: True,
) -> list[str]:
    """A sentence for each cluster that has such groups, of those that are wanted."""
    from pyspark.sql import functions as F

    dates = [date.fromisoformat(day) for day in storage.format.dates(GROUP_DAILY.name)]
    if not dates or dates[0] >= dates[-1] - timedelta(days=lookback_days):
        return []
    days = days_of_clusters(spark, storage)
    rows = storage.read(spark, GROUP_DAILY)
    last = rows.groupBy("cluster_id", "group").agg(
        F.max(F.struct("date", "partitions", F.unix_millis("last_commit_time").alias("committed_ms"))).alias("last")
    )
    gone: dict[str, list[str]] = {}
    for row in last.where("last.partitions > 0").select("cluster_id", "group", "last.*").collect():
        if is_wanted(row["group"]) and _was_cut(row, days[row["cluster_id"]], lookback_days):
            gone.setdefault(row["cluster_id"], []).append(row["group"])
    return [_told(cluster, sorted(gone[cluster]), days[cluster][-1], lookback_days) for cluster in sorted(gone)]


def days_of_clusters(spark: SparkSession, storage: Storage) -> dict[str, list[date]]:
    """The dates on which a cluster has rows of topics or of groups, ascending."""
    of_groups, of_topics = (
        storage.read(spark, table).select("cluster_id", "date") for table in (GROUP_DAILY, TOPIC_DAILY)
    )
    found: dict[str, list[date]] = {}
    for row in of_groups.unionByName(of_topics).distinct().orderBy("date").collect():
        found.setdefault(row["cluster_id"], []).append(row["date"])
    return found


def _was_cut(row: Row, dates: Sequence[date], lookback_days: int) -> bool:
    """Whether its last commit is too old for the first date that is without it: else the group was removed."""
    following = next((day for day in dates if day > row["date"]), None)
    if following is None:
        return False
    midnight_ms = (following - timedelta(days=lookback_days) - date(1970, 1, 1)).days * _DAY_MS
    return row["committed_ms"] is None or bool(row["committed_ms"] < midnight_ms)


def _told(cluster: str, names: list[str], last: date, lookback_days: int) -> str:
    noun = "group has" if len(names) == 1 else "groups have"
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return (
        f"{len(names):,} {noun} no commit {period} before {last} on cluster {cluster}, and no row since then: "
        f"{few(names)}."
    )
