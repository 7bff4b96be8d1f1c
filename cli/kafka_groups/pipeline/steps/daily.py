"""A day of a group, and of a topic."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_groups.pipeline.steps.commits import alive, moves
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, date_of, midnight, surely
from kafka_groups.verdicts import VERDICTS

_GROUP_KEY: Final = ("day", "cluster_id", "group")
_TOPIC_KEY: Final = ("day", "cluster_id", "topic")
_SECONDS: Final = DAY_MS / 1_000
# A partition that the last rounds of sampling did not see any more is gone; one missed round is a hiccup.
_GONE_AFTER_MS: Final = 600_000


def consumption(points: DataFrame) -> DataFrame:
    """What each key's commits did on the day: how far they moved on, how many were written, the last one's time."""
    is_today = date_of("commit_time") == F.col("day")
    return (
        moves(points)
        .groupBy(*COMMIT_KEY)
        .agg(
            F.sum(F.when(is_today, F.greatest(F.lit(0), F.coalesce("moved", F.lit(0))))).alias("consumed"),
            F.count(F.when(is_today & F.col("is_record"), 1)).alias("commits"),
            # What is seen for the first time may have been committed today: that is not called idle.
            F.count(F.when(is_today & (F.col("is_commit") | F.col("moved").isNull()), 1)).alias("moves"),
            F.max(F.when(F.col("is_commit"), F.col("commit_time"))).alias("last_commit_time"),
            F.max("is_record").alias("has_records"),
        )
    )


def gone_partitions(points: DataFrame, observed: DataFrame) -> DataFrame:
    """Keys whose commit outlived its partition: the day's last samples did not see that. None without samples."""
    seen = (
        observed.where(F.col("origin") == "sample").groupBy(*PARTITION_KEY).agg(F.max("observed_at").alias("seen_at"))
    )
    rounds = (
        observed.where((F.col("origin") == "sample") & (date_of("observed_at") == F.col("day")))
        .groupBy("day", "cluster_id")
        .agg(F.max("observed_at").alias("sampled_at"))
    )
    is_gone = ~surely(F.unix_millis("sampled_at") - F.unix_millis("seen_at") <= _GONE_AFTER_MS)
    return (
        alive(points)
        .join(rounds, ["day", "cluster_id"])
        .join(seen, list(PARTITION_KEY), "left")
        .where(is_gone)
        .select(*COMMIT_KEY)
    )


def group_daily(
    points: DataFrame,
    gone: DataFrame,
    lags: DataFrame,
    statuses: DataFrame,
    rebalances: DataFrame,
    members: DataFrame,
) -> DataFrame:
    """One row for each group that has a commit at the day's end, or had one that day."""
    base = _totals(consumption(points), alive(points))
    worst = F.max(F.struct(_rank(), "verdict")).alias("worst")
    parts = statuses.where(F.col("topic").isNotNull()).groupBy(*_GROUP_KEY).agg(worst)
    sums = (
        statuses.where(F.col("topic").isNull())
        .groupBy(*_GROUP_KEY)
        .agg(F.max("lag").alias("max_lag"), F.max_by("lag", "evaluated_at").alias("last_lag"))
    )
    oldest = lags.groupBy(*_GROUP_KEY).agg(
        F.max("time_lag_ms").alias("max_time_lag_ms"), F.min("retention_margin").alias("retention_margin")
    )
    turns = rebalances.groupBy(*_GROUP_KEY).agg(
        F.count("*").cast("int").alias("rebalances"), F.sum("duration_ms").alias("rebalance_ms")
    )
    orphans = gone.groupBy(*_GROUP_KEY).agg(F.count("*").cast("int").alias("orphaned_partitions"))
    joined = base
    for other in (parts, sums, oldest, turns, orphans, members):
        joined = joined.join(other, list(_GROUP_KEY), "left")
    commits = F.when(F.col("has_records"), F.col("commits"))
    nobody = F.coalesce("members_max", F.lit(0)) == 0
    return joined.select(
        "cluster_id",
        "group",
        midnight("day").alias("day"),
        commits.alias("commits"),
        (commits / _SECONDS).alias("commit_rate"),
        "partitions",
        "topics",
        F.col("members_max").cast("int").alias("members_max"),
        F.coalesce("rebalances", F.lit(0)).alias("rebalances"),
        F.coalesce("rebalance_ms", F.lit(0)).cast("long").alias("rebalance_ms"),
        "messages_consumed",
        "max_lag",
        "last_lag",
        "max_time_lag_ms",
        F.col("worst.verdict").alias("worst_verdict"),
        "skew",
        "retention_margin",
        "last_commit_time",
        ((F.col("moves") == 0) & nobody).alias("is_idle"),
        F.coalesce("orphaned_partitions", F.lit(0)).alias("orphaned_partitions"),
    )


def _totals(consumed: DataFrame, living: DataFrame) -> DataFrame:
    kept = living.select(*COMMIT_KEY, F.expr("true").alias("lives"))
    both = consumed.join(kept, list(COMMIT_KEY), "left").where(F.col("lives") | (F.col("moves") > 0))
    amount = F.coalesce("consumed", F.lit(0))
    return both.groupBy(*_GROUP_KEY).agg(
        F.sum("commits").alias("commits"),
        F.sum("moves").alias("moves"),
        F.max("has_records").alias("has_records"),
        F.count(F.when(F.col("lives"), 1)).cast("int").alias("partitions"),
        F.array_sort(F.collect_set(F.when(F.col("lives"), F.col("topic")))).alias("topics"),
        F.sum(amount).alias("messages_consumed"),
        F.when(F.sum(amount) > 0, F.max(amount) / F.avg(amount)).alias("skew"),
        F.max("last_commit_time").alias("last_commit_time"),
    )


def topic_daily(points: DataFrame, observed: DataFrame) -> DataFrame:
    """One row for each topic that was observed on the day, or has a commit at its end."""
    today = observed.where(date_of("observed_at") == F.col("day"))
    grown = today.groupBy(*PARTITION_KEY).agg(
        F.min_by("log_end_offset", "observed_at").alias("before"),
        F.max_by("log_end_offset", "observed_at").alias("after"),
    )
    produced = grown.groupBy(*_TOPIC_KEY).agg(
        F.count("*").cast("int").alias("partitions"),
        F.sum(F.greatest(F.lit(0), F.col("after") - F.col("before"))).alias("messages_produced"),
    )
    readers = (
        consumption(points)
        .where(F.col("consumed") > 0)
        .groupBy(*_TOPIC_KEY)
        .agg(F.count_distinct("group").cast("int").alias("readers"))
    )
    committed = alive(points).groupBy(*_TOPIC_KEY).agg(F.count_distinct("group").cast("int").alias("committed"))
    both = produced.join(committed, list(_TOPIC_KEY), "full").join(readers, list(_TOPIC_KEY), "left")
    return both.select(
        "cluster_id",
        "topic",
        midnight("day").alias("day"),
        F.coalesce("partitions", F.lit(0)).alias("partitions"),
        "messages_produced",
        F.coalesce("readers", F.lit(0)).alias("readers"),
        F.coalesce("committed", F.lit(0)).alias("committed"),
        (F.coalesce("committed", F.lit(0)) == 0).alias("is_unread"),
    )


def _rank() -> Column:
    order = list(dict.fromkeys(VERDICTS.values()))
    return F.array_position(F.array(*(F.lit(name) for name in order)), F.col("verdict")).alias("rank")
