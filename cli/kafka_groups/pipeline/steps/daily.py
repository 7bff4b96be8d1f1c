"""A day of a group, and of a topic, from what each key's commits and each partition's log did on it."""

from __future__ import annotations

from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.burrow_rules import VERDICTS
from kafka_groups.pipeline.steps.horizon import CLUSTER_KEY, DAY_MS, midnight, surely
from kafka_groups.pipeline.steps.members import GROUP
from kafka_groups.pipeline.tables import OFFSETS_TOPIC

_GROUP_KEY: Final = ("day", "cluster_id", "group")
_TOPIC_KEY: Final = ("day", "cluster_id", "topic")
# Of a day that has just begun nobody can say more.
_LEAST_SECONDS: Final = 60.0
# Of fewer records a partition may well have most by chance.
_ENOUGH_RECORDS: Final = 1_000


class Told(NamedTuple):
    """What events tell of groups: rebalances, the groups whose rebalances are not known, and members by day."""

    rebalances: DataFrame
    untold: DataFrame
    members: DataFrame


def group_daily(
    keys: DataFrame,
    gone: DataFrame,
    lags: DataFrame,
    statuses: DataFrame,
    told: Told,
    read: DataFrame,
    partitions: DataFrame,
) -> DataFrame:
    """One row for each group that has a commit at the day's end, or had one that day.

    A cluster that nothing was read of has no rows of that day, whatever other clusters have.
    """
    joined = _totals(keys, partitions).join(read.select(*CLUSTER_KEY, "read_at"), list(CLUSTER_KEY))
    for other in (_of_statuses(statuses), lags, *_counted(told.rebalances, gone), told.members):
        joined = joined.join(other, list(_GROUP_KEY), "left")
    joined = joined.join(told.untold.select(*GROUP, F.lit(1).alias("is_untold")), list(GROUP), "left")
    commits = F.when(F.col("has_records"), F.col("commits"))
    nobody = ~surely(F.col("has_members"))
    # Samples show no rebalance, so their absence says nothing.
    none = F.when(F.col("read_at").isNotNull() & F.col("is_untold").isNull(), F.lit(0))
    looked_at = F.greatest("sampled_at", "read_at")
    # A day that is under way is as long as what was read of it; one that is over was read to its end, or nearly so.
    seconds = (F.unix_millis("read_at") - F.unix_millis(midnight("day"))) / 1_000
    stood_still_ms = F.unix_millis(looked_at) - F.unix_millis("moved_at")
    return joined.select(
        "cluster_id",
        "group",
        midnight("day").alias("day"),
        commits.alias("commits"),
        (commits / F.greatest(F.lit(_LEAST_SECONDS), seconds)).alias("commit_rate"),
        "partitions",
        "topics",
        F.col("members_max").cast("int").alias("members_max"),
        F.coalesce("rebalances", none).alias("rebalances"),
        F.coalesce("rebalance_ms", none).cast("long").alias("rebalance_ms"),
        "messages_consumed",
        "max_lag",
        "last_lag",
        "max_time_lag_ms",
        F.col("worst.verdict").alias("worst_verdict"),
        "skew",
        "retention_margin",
        "last_retention_margin",
        "retention_left_ms",
        "last_commit_time",
        (surely(stood_still_ms >= DAY_MS) & nobody).alias("is_idle"),
        F.coalesce("orphaned_partitions", F.lit(0)).alias("orphaned_partitions"),
    )


def _of_statuses(statuses: DataFrame) -> DataFrame:
    """The worst verdict of any partition, and the lag of the group as a whole."""
    worst = F.max(F.when(F.col("topic").isNotNull(), F.struct(_rank(), "verdict"))).alias("worst")
    whole = F.when(F.col("topic").isNull(), F.col("lag"))
    return statuses.groupBy(*_GROUP_KEY).agg(
        worst,
        F.max(whole).alias("max_lag"),
        F.max_by(whole, F.when(F.col("topic").isNull(), F.col("evaluated_at"))).alias("last_lag"),
    )


def _counted(rebalances: DataFrame, gone: DataFrame) -> tuple[DataFrame, DataFrame]:
    turns = rebalances.groupBy(*_GROUP_KEY).agg(
        F.count("*").cast("int").alias("rebalances"), F.sum("duration_ms").alias("rebalance_ms")
    )
    orphans = gone.groupBy(*_GROUP_KEY).agg(F.count("*").cast("int").alias("orphaned_partitions"))
    return turns, orphans


def _totals(keys: DataFrame, partitions: DataFrame) -> DataFrame:
    amount = F.coalesce("consumed", F.lit(0))
    # Many clients commit nothing on a partition that has no records. What only others read does not count.
    quiet = partitions.where(F.col("is_observed") & (F.col("grown") == 0)).select(
        *_TOPIC_KEY, "partition", F.lit(1).alias("is_quiet")
    )
    of_topics = quiet.groupBy(*_TOPIC_KEY).agg(F.count("*").alias("quiet"))
    read = F.count("*") + F.coalesce(F.max("quiet"), F.lit(0)) - F.count("is_quiet")
    topics = (
        keys.where(F.col("lives") | (F.col("moves") > 0))
        .join(quiet, [*_TOPIC_KEY, "partition"], "left")
        .join(of_topics, list(_TOPIC_KEY), "left")
        .groupBy(*_GROUP_KEY, "topic")
        .agg(
            *(F.sum(name).alias(name) for name in ("commits", "moves")),
            *(F.max(name).alias(name) for name in ("moved_at", "sampled_at", "has_records", "last_commit_time")),
            F.count(F.when(F.col("lives"), 1)).alias("partitions"),
            F.sum(amount).alias("consumed"),
            F.when(F.sum(amount) >= _ENOUGH_RECORDS, F.max(amount) * read / F.sum(amount)).alias("skew"),
        )
    )
    return topics.groupBy(*_GROUP_KEY).agg(
        F.sum("commits").alias("commits"),
        *(F.max(name).alias(name) for name in ("moved_at", "sampled_at", "has_records", "last_commit_time")),
        F.sum("partitions").cast("int").alias("partitions"),
        F.array_sort(F.collect_set(F.when(F.col("partitions") > 0, F.col("topic")))).alias("topics"),
        F.sum("consumed").alias("messages_consumed"),
        F.max("skew").alias("skew"),
    )


def topic_daily(
    keys: DataFrame, partitions: DataFrame, read: DataFrame, subscribed: DataFrame, *, lookback_days: int
) -> DataFrame:
    """One row for each topic that was observed on the day, or has a commit at its end.

    `subscribed` are (day, cluster_id, topic) that need no commit to be read. A topic is unread only if the day's last
    sample saw it, or without samples if commits were read that day.
    """
    produced = (
        partitions.where("is_observed")
        .groupBy(*_TOPIC_KEY)
        .agg(
            F.count("*").cast("int").alias("partitions"),
            F.sum("grown").alias("messages_produced"),
            F.max("sampled_at").alias("seen_at"),
        )
    )
    readers = keys.groupBy(*_TOPIC_KEY).agg(
        F.count_distinct(F.when(F.col("consumed") > 0, F.col("group"))).cast("int").alias("readers"),
        F.count_distinct(F.when(F.col("lives"), F.col("group"))).cast("int").alias("committed"),
    )
    named = subscribed.select(*_TOPIC_KEY, F.lit(1).alias("is_named"))
    both = produced.join(readers, list(_TOPIC_KEY), "full").join(read, list(CLUSTER_KEY))
    is_sampled, is_read = F.col("round_at").isNotNull(), F.col("read_at").isNotNull()
    is_there = F.when(is_sampled, surely(F.col("seen_at") == F.col("round_at"))).otherwise(is_read)
    nobody = (F.coalesce("committed", F.lit(0)) == 0) & F.col("is_named").isNull()
    return (
        both.where(F.col("partitions").isNotNull() | (F.col("committed") > 0))
        # It is sampled for its coordinators.
        .where((F.col("topic") != OFFSETS_TOPIC) | F.col("committed").isNotNull())
        .join(named, list(_TOPIC_KEY), "left")
        .select(
            "cluster_id",
            "topic",
            midnight("day").alias("day"),
            F.coalesce("partitions", F.lit(0)).alias("partitions"),
            "messages_produced",
            F.coalesce("readers", F.lit(0)).alias("readers"),
            F.coalesce("committed", F.lit(0)).alias("committed"),
            (nobody & is_there).alias("is_unread"),
            F.lit(lookback_days).cast("int").alias("lookback_days"),
        )
    )


def newest_days(*days: DataFrame) -> DataFrame:
    """(cluster_id, date): the newest day of each cluster that any of these tables of days has."""
    every = reduce(DataFrame.unionByName, (rows.select("cluster_id", "date") for rows in days))
    return every.groupBy("cluster_id").agg(F.max("date").alias("date"))


def _rank() -> Column:
    order = list(dict.fromkeys(VERDICTS.values()))
    return F.array_position(F.array(*(F.lit(name) for name in order)), F.col("verdict")).alias("rank")
