"""A day of a group, and of a topic, from what each key's commits and each partition's log did on it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from kafka_groups.pipeline.steps.commits import moves
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, date_of, midnight, surely
from kafka_groups.verdicts import VERDICTS

_GROUP_KEY: Final = ("day", "cluster_id", "group")
_TOPIC_KEY: Final = ("day", "cluster_id", "topic")
_SECONDS: Final = DAY_MS / 1_000
# A partition that the last rounds of sampling did not see any more is gone; one missed round is a hiccup.
_GONE_AFTER_MS: Final = 600_000


def key_days(points: DataFrame) -> DataFrame:
    """What each key's commits did on the day: how far they moved on, how many were written, the last one's time.

    `lives`: the commit was not removed until the day's end.
    """
    is_today = date_of("commit_time") == F.col("day")
    last = F.max(F.struct("commit_time", F.coalesce("source_offset", F.lit(-1)).alias("place"), "tombstone"))
    # What is seen for the first time may have been committed today: that is not called idle.
    is_move = ~F.col("tombstone") & (F.col("is_commit") | F.col("moved").isNull())
    return (
        moves(points)
        .groupBy(*COMMIT_KEY)
        .agg(
            F.sum(F.when(is_today & ~F.col("tombstone"), F.greatest(F.lit(0), F.coalesce("moved", F.lit(0))))).alias(
                "consumed"
            ),
            F.count(F.when(is_today & F.col("is_record"), 1)).alias("commits"),
            F.count(F.when(is_today & is_move, 1)).alias("moves"),
            F.max(F.when(F.col("is_commit"), F.col("commit_time"))).alias("last_commit_time"),
            F.max("is_record").alias("has_records"),
            last.alias("last"),
        )
        .select(
            *COMMIT_KEY,
            "consumed",
            "commits",
            "moves",
            "last_commit_time",
            "has_records",
            (~F.col("last.tombstone")).alias("lives"),
        )
    )


def partition_days(observed: DataFrame) -> DataFrame:
    """What each partition's log did on the day: its ends `before` and `after`, and when samples last saw it."""
    is_sample = F.col("origin") == "sample"
    is_today = date_of("observed_at") == F.col("day")
    end = F.when(is_today, F.struct("observed_at", "log_end_offset"))
    return (
        observed.groupBy(*PARTITION_KEY)
        .agg(
            F.max(F.when(is_sample, F.col("observed_at"))).alias("seen_at"),
            F.max(F.when(is_sample & is_today, F.col("observed_at"))).alias("sampled_at"),
            F.min(end).alias("first"),
            F.max(end).alias("last"),
        )
        .select(
            *PARTITION_KEY,
            "seen_at",
            "sampled_at",
            F.col("first").isNotNull().alias("is_observed"),
            F.col("first.log_end_offset").alias("before"),
            F.col("last.log_end_offset").alias("after"),
        )
    )


def gone_partitions(keys: DataFrame, partitions: DataFrame) -> DataFrame:
    """Keys whose commit outlived its partition: the day's last samples did not see that. None without samples."""
    rounds = partitions.groupBy("day", "cluster_id").agg(F.max("sampled_at").alias("round_at"))
    seen = partitions.where(F.col("seen_at").isNotNull()).select(*PARTITION_KEY, "seen_at")
    is_gone = ~surely(F.unix_millis("round_at") - F.unix_millis("seen_at") <= _GONE_AFTER_MS)
    return (
        keys.where("lives")
        .join(rounds.where(F.col("round_at").isNotNull()), ["day", "cluster_id"])
        .join(seen, list(PARTITION_KEY), "left")
        .where(is_gone)
        .select(*COMMIT_KEY)
    )


def group_daily(
    keys: DataFrame,
    gone: DataFrame,
    lags: DataFrame,
    statuses: DataFrame,
    rebalances: DataFrame,
    members: DataFrame,
) -> DataFrame:
    """One row for each group that has a commit at the day's end, or had one that day."""
    base = _totals(keys)
    worst = F.max(F.when(F.col("topic").isNotNull(), F.struct(_rank(), "verdict"))).alias("worst")
    whole = F.when(F.col("topic").isNull(), F.col("lag"))
    sums = statuses.groupBy(*_GROUP_KEY).agg(
        worst,
        F.max(whole).alias("max_lag"),
        F.max_by(whole, F.when(F.col("topic").isNull(), F.col("evaluated_at"))).alias("last_lag"),
    )
    turns = rebalances.groupBy(*_GROUP_KEY).agg(
        F.count("*").cast("int").alias("rebalances"), F.sum("duration_ms").alias("rebalance_ms")
    )
    orphans = gone.groupBy(*_GROUP_KEY).agg(F.count("*").cast("int").alias("orphaned_partitions"))
    joined = base
    for other in (sums, lags, turns, orphans, members):
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
        "retention_left_ms",
        "last_commit_time",
        ((F.col("moves") == 0) & nobody).alias("is_idle"),
        F.coalesce("orphaned_partitions", F.lit(0)).alias("orphaned_partitions"),
    )


def _totals(keys: DataFrame) -> DataFrame:
    amount = F.coalesce("consumed", F.lit(0))
    return (
        keys.where(F.col("lives") | (F.col("moves") > 0))
        .groupBy(*_GROUP_KEY)
        .agg(
            F.sum("commits").alias("commits"),
            F.sum("moves").alias("moves"),
            F.max("has_records").alias("has_records"),
            F.count(F.when(F.col("lives"), 1)).cast("int").alias("partitions"),
            F.array_sort(F.collect_set(F.when(F.col("lives"), F.col("topic")))).alias("topics"),
            F.sum(amount).alias("messages_consumed"),
            F.when(F.sum(amount) > 0, F.max(amount) / F.avg(amount)).alias("skew"),
            F.max("last_commit_time").alias("last_commit_time"),
        )
    )


def topic_daily(keys: DataFrame, partitions: DataFrame) -> DataFrame:
    """One row for each topic that was observed on the day, or has a commit at its end."""
    produced = (
        partitions.where("is_observed")
        .groupBy(*_TOPIC_KEY)
        .agg(
            F.count("*").cast("int").alias("partitions"),
            F.sum(F.greatest(F.lit(0), F.col("after") - F.col("before"))).alias("messages_produced"),
        )
    )
    read = keys.groupBy(*_TOPIC_KEY).agg(
        F.count_distinct(F.when(F.col("consumed") > 0, F.col("group"))).cast("int").alias("readers"),
        F.count_distinct(F.when(F.col("lives"), F.col("group"))).cast("int").alias("committed"),
    )
    both = produced.join(read, list(_TOPIC_KEY), "full")
    return both.where(F.col("partitions").isNotNull() | (F.col("committed") > 0)).select(
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
