"""What the tables of facts lack, and what cannot be told for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.building.changes import State
from kafka_groups.pipeline.reached import behind, capital, lacking, reached
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, TOPIC_DAILY

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_NAMED: Final = 5
_SENTENCES: Final = (
    (
        OFFSET_COMMITS,
        ("topic",),
        "no commits were read from __consumer_offsets: commit rates are unknown, verdicts rest on samples.",
    ),
    (GROUP_EVENTS, ("topic",), "no group records were read from __consumer_offsets: rebalances are unknown."),
    (
        PARTITION_OFFSETS,
        ("sample", "backfill"),
        "no log ends were sampled or backfilled: lag, time lag, rates and verdicts are unknown.",
    ),
    (GROUP_EVENTS, ("sample",), "no group states were sampled: states of KIP-848 groups are unknown."),
)
_DAY_MS: Final = 86_400_000


def missing(spark: SparkSession, storage: Storage, now: State, lookback_days: int) -> tuple[str, ...]:
    """In sentences, of each cluster that lacks what others have: from footers, newest facts, and few older ones."""
    days = _days_of_clusters(spark, storage)
    reach = reached(spark, storage, days)
    told: list[str] = []
    for table, origins, sentence in _SENTENCES:
        if now.origins(table).isdisjoint(origins):
            told.append(capital(sentence))
        else:
            told += lacking(reach, sentence, table, *origins)
    return (*told, *behind(reach), *_left_out(spark, storage, days, lookback_days))


def _left_out(
    spark: SparkSession, storage: Storage, days: Mapping[str, Sequence[date]], lookback_days: int
) -> list[str]:
    """Groups whose last commit is so old that their cluster's last date does not see it."""
    from pyspark.sql import functions as F

    dates = [date.fromisoformat(day) for day in storage.format.dates(GROUP_DAILY.name)]
    if not dates or dates[0] >= dates[-1] - timedelta(days=lookback_days):
        return []
    rows = storage.read(spark, GROUP_DAILY)
    last = rows.groupBy("cluster_id", "group").agg(
        F.max(F.struct("date", "partitions", F.unix_millis("last_commit_time").alias("committed_ms"))).alias("last")
    )
    gone: dict[str, list[str]] = {}
    for row in last.where("last.partitions > 0").select("cluster_id", "group", "last.*").collect():
        if _was_cut(row, days[row["cluster_id"]], lookback_days):
            gone.setdefault(row["cluster_id"], []).append(row["group"])
    return [_told(cluster, sorted(gone[cluster]), days[cluster][-1], lookback_days) for cluster in sorted(gone)]


def _days_of_clusters(spark: SparkSession, storage: Storage) -> dict[str, list[date]]:
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
    listed = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    noun = "group has" if len(names) == 1 else "groups have"
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return (
        f"{len(names):,} {noun} no commit {period} before {last} on cluster {cluster}, and so no row from then on: "
        f"{listed}."
    )
