"""A day of a group, and of a topic, from what each key's commits and each partition's log did on it."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import moves
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, date_of, midnight, surely
from kafka_groups.verdicts import VERDICTS

_CLUSTER_KEY: Final = ("day", "cluster_id")
_GROUP_KEY: Final = ("day", "cluster_id", "group")
_TOPIC_KEY: Final = ("day", "cluster_id", "topic")
_SECONDS: Final = DAY_MS / 1_000
# What the last rounds of sampling did not see any more is gone; one missed round is a hiccup.
_GONE_AFTER_MS: Final = 600_000
# Of fewer records a partition may well have most by chance.
_ENOUGH_RECORDS: Final = 1_000


def key_days(points: DataFrame) -> DataFrame:
    """What each key's commits did on the day: how far they moved on, how many were written, the last one's time.

    `moved_at`: since then the offset stands still, as far as it was looked at; `read_at` and `sampled_at`: the day's
    last record and the last sample that saw the commit; `lives`: it was not removed until the day's end.
    """
    is_today = date_of("commit_time") == F.col("day")
    last = F.max(F.struct("commit_time", F.coalesce("source_offset", F.lit(-1)).alias("place"), "tombstone"))
    # What is seen for the first time may have been committed just then: that is not called idle.
    is_move = ~F.col("tombstone") & (F.col("is_commit") | F.col("moved").isNull())
    is_sample = surely(~F.col("is_record"))
    return (
        moves(points)
        .groupBy(*COMMIT_KEY)
        .agg(
            F.sum(F.when(is_today & ~F.col("tombstone"), F.greatest(F.lit(0), F.coalesce("moved", F.lit(0))))).alias(
                "consumed"
            ),
            F.count(F.when(is_today & F.col("is_record"), 1)).alias("commits"),
            F.count(F.when(is_today & is_move, 1)).alias("moves"),
            F.max(F.when(is_move, F.col("commit_time"))).alias("moved_at"),
            F.max(F.when(is_today & ~is_sample, F.col("commit_time"))).alias("read_at"),
            F.max(F.when(is_today & is_sample, F.col("commit_time"))).alias("sampled_at"),
            F.max(F.when(F.col("is_commit"), F.col("commit_time"))).alias("last_commit_time"),
            F.max("is_record").alias("has_records"),
            last.alias("last"),
        )
        .select(
            *COMMIT_KEY,
            "consumed",
            "commits",
            "moves",
            "moved_at",
            "read_at",
            "sampled_at",
            "last_commit_time",
            "has_records",
            (~F.col("last.tombstone")).alias("lives"),
        )
    )


def partition_days(observed: DataFrame) -> DataFrame:
    """What each partition's log did on the day: how far it has `grown`, and when samples last saw it, ever and today.

    A sample sees partitions that do not answer, too. What was looked at once has not grown: that is not known.
    """
    is_sample = F.col("origin") == "sample"
    is_today = date_of("observed_at") == F.col("day")
    end = F.when(is_today & F.col("log_end_offset").isNotNull(), F.struct("observed_at", "log_end_offset"))
    growth = F.greatest(F.lit(0), F.col("last.log_end_offset") - F.col("first.log_end_offset"))
    return (
        observed.groupBy(*PARTITION_KEY)
        .agg(
            F.max(F.when(is_sample, F.col("observed_at"))).alias("seen_at"),
            F.max(F.when(is_sample & is_today, F.col("observed_at"))).alias("sampled_at"),
            F.max(is_today).alias("is_observed"),
            F.min(end).alias("first"),
            F.max(end).alias("last"),
        )
        .select(
            *PARTITION_KEY,
            "seen_at",
            "sampled_at",
            "is_observed",
            F.when(F.col("first.observed_at") < F.col("last.observed_at"), growth).alias("grown"),
        )
    )


def days_read(keys: DataFrame, partitions: DataFrame, events: DataFrame) -> DataFrame:
    """Days on which anything of a cluster was read, with its last record and its last sample of log ends.

    They are `read_at` and `round_at`; each is null where there was none.
    """
    commits = keys.where(F.col("read_at").isNotNull() | F.col("sampled_at").isNotNull()).select(
        *_CLUSTER_KEY, "read_at"
    )
    logs = partitions.where("is_observed").select(*_CLUSTER_KEY, F.col("sampled_at").alias("round_at"))
    happened = events.select(
        date_of("record_time").alias("day"),
        "cluster_id",
        F.when(F.col("origin") == "topic", F.col("record_time")).alias("read_at"),
    )
    told = (commits, logs, happened)
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), told)
    return whole.groupBy(*_CLUSTER_KEY).agg(F.max("read_at").alias("read_at"), F.max("round_at").alias("round_at"))


def gone_partitions(keys: DataFrame, partitions: DataFrame, read: DataFrame) -> DataFrame:
    """Keys whose commit outlived its partition: the day's last samples saw the one and not the other.

    That a sample saw the commit is needed: brokers tell commits and partitions of those topics only that the user may
    describe, so a partition of a commit that was only read from `__consumer_offsets` may well be there.
    """
    seen = partitions.where(F.col("seen_at").isNotNull()).select(*PARTITION_KEY, "seen_at")
    since_commit = F.unix_millis("round_at") - F.unix_millis("sampled_at")
    since_seen = F.unix_millis("round_at") - F.unix_millis("seen_at")
    was_seen = (F.col("seen_at") >= F.col("sampled_at")) | (since_seen <= _GONE_AFTER_MS)
    return (
        keys.where(F.col("lives") & F.col("sampled_at").isNotNull())
        .join(read.select(*_CLUSTER_KEY, "round_at"), list(_CLUSTER_KEY))
        .join(seen, list(PARTITION_KEY), "left")
        .where(surely(since_commit.between(0, _GONE_AFTER_MS)) & ~surely(was_seen))
        .select(*COMMIT_KEY)
    )


def group_daily(
    keys: DataFrame,
    gone: DataFrame,
    lags: DataFrame,
    statuses: DataFrame,
    rebalances: DataFrame,
    members: DataFrame,
    read: DataFrame,
) -> DataFrame:
    """One row for each group that has a commit at the day's end, or had one that day.

    A cluster that nothing was read of has no rows of that day, whatever other clusters have.
    """
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
    joined = _totals(keys).join(read.select(*_CLUSTER_KEY, "read_at"), list(_CLUSTER_KEY))
    for other in (sums, lags, turns, orphans, members):
        joined = joined.join(other, list(_GROUP_KEY), "left")
    commits = F.when(F.col("has_records"), F.col("commits"))
    nobody = F.coalesce("members_max", F.lit(0)) == 0
    looked_at = F.greatest("sampled_at", "read_at")
    stood_still_ms = F.unix_millis(looked_at) - F.unix_millis("moved_at")
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
        "last_retention_margin",
        "retention_left_ms",
        "last_commit_time",
        (surely(stood_still_ms >= DAY_MS) & nobody).alias("is_idle"),
        F.coalesce("orphaned_partitions", F.lit(0)).alias("orphaned_partitions"),
    )


def _totals(keys: DataFrame) -> DataFrame:
    amount = F.coalesce("consumed", F.lit(0))
    topics = (
        keys.where(F.col("lives") | (F.col("moves") > 0))
        .groupBy(*_GROUP_KEY, "topic")
        .agg(
            *(F.sum(name).alias(name) for name in ("commits", "moves")),
            *(F.max(name).alias(name) for name in ("moved_at", "sampled_at", "has_records", "last_commit_time")),
            F.count(F.when(F.col("lives"), 1)).alias("partitions"),
            F.sum(amount).alias("consumed"),
            F.when(F.sum(amount) >= _ENOUGH_RECORDS, F.max(amount) / F.avg(amount)).alias("skew"),
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
    both = produced.join(readers, list(_TOPIC_KEY), "full").join(read, list(_CLUSTER_KEY))
    is_sampled, is_read = F.col("round_at").isNotNull(), F.col("read_at").isNotNull()
    is_there = F.when(is_sampled, surely(F.col("seen_at") == F.col("round_at"))).otherwise(is_read)
    nobody = (F.coalesce("committed", F.lit(0)) == 0) & F.col("is_named").isNull()
    return (
        both.where(F.col("partitions").isNotNull() | (F.col("committed") > 0))
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


def of_newest_day(days: DataFrame, *others: DataFrame) -> DataFrame:
    """Of a table of days, the rows of each cluster's newest day; `others` tell which days there are, too."""
    every = reduce(DataFrame.unionByName, (rows.select("cluster_id", "day") for rows in (days, *others)))
    newest = every.groupBy("cluster_id").agg(F.max("day").alias("day"))
    return days.join(newest, ["cluster_id", "day"]).select(*days.columns)


def _rank() -> Column:
    order = list(dict.fromkeys(VERDICTS.values()))
    return F.array_position(F.array(*(F.lit(name) for name in order)), F.col("verdict")).alias("rank")
