"""What each commit, each partition and each cluster did on a day: what days of groups and of topics are made of."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import moves
from kafka_groups.pipeline.steps.horizon import CLUSTER_KEY, COMMIT_KEY, GONE_AFTER_MS, PARTITION_KEY, date_of, surely
from kafka_groups.pipeline.steps.rebalances import tells_no_rebalance


def key_days(points: DataFrame) -> DataFrame:
    """What each key's commits did on the day: how far they moved on, how many were written, the last one's time.

    `moved_at`: since then the offset stands still, as far as it was looked at; `read_at` and `sampled_at`: the day's
    last record and the last sample that saw the commit; `lives`: it was not removed until the day's end.
    """
    is_today = date_of("commit_time") == F.col("day")
    last = F.max(F.struct("commit_time", F.coalesce("source_offset", F.lit(-1)).alias("place"), "tombstone"))
    # What is seen for the first time may have been committed just then: that is not called idle.
    is_move = ~F.col("tombstone") & (F.col("is_commit") | F.col("moved").isNull())
    is_sample = ~F.col("is_read") & ~F.col("tombstone")
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
            F.max(F.when(is_today & F.col("is_read"), F.col("commit_time"))).alias("read_at"),
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
    of_logs = (
        observed.groupBy(*PARTITION_KEY, "log")
        .agg(
            F.max(F.when(is_sample, F.col("observed_at"))).alias("seen_at"),
            F.max(F.when(is_sample & is_today, F.col("observed_at"))).alias("sampled_at"),
            F.max(is_today).alias("is_observed"),
            F.min(end).alias("first"),
            F.max(end).alias("last"),
        )
        .select("*", F.when(F.col("first.observed_at") < F.col("last.observed_at"), growth).alias("grown"))
    )
    return of_logs.groupBy(*PARTITION_KEY).agg(
        *(F.max(name).alias(name) for name in ("seen_at", "sampled_at", "is_observed")), F.sum("grown").alias("grown")
    )


def days_read(keys: DataFrame, partitions: DataFrame, events: DataFrame) -> DataFrame:
    """Days on which anything of a cluster was read, with its last record and its last sample of log ends.

    They are `read_at` and `round_at`; each is null where there was none.
    """
    commits = keys.where(F.col("read_at").isNotNull() | F.col("sampled_at").isNotNull()).select(*CLUSTER_KEY, "read_at")
    logs = partitions.where("is_observed").select(*CLUSTER_KEY, F.col("sampled_at").alias("round_at"))
    happened = events.select(
        date_of("record_time").alias("day"),
        "cluster_id",
        F.when(F.col("origin") == "topic", F.col("record_time")).alias("read_at"),
    )
    told = (commits, logs, happened)
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), told)
    return whole.groupBy(*CLUSTER_KEY).agg(F.max("read_at").alias("read_at"), F.max("round_at").alias("round_at"))


def untold_groups(events: DataFrame) -> DataFrame:
    """Groups whose rebalances nothing tells, though their records are read; on every day, as their kind is."""
    return events.where(tells_no_rebalance()).select("cluster_id", "group").distinct()


def gone_partitions(keys: DataFrame, partitions: DataFrame, read: DataFrame) -> DataFrame:
    """Keys whose commit outlived its partition: the day's last samples saw the one and not the other.

    That a sample saw the commit is needed: brokers tell commits and partitions of those topics only that the user may
    describe, so a partition of a commit that was only read from `__consumer_offsets` may well be there.
    """
    seen = partitions.where(F.col("seen_at").isNotNull()).select(*PARTITION_KEY, "seen_at")
    since_commit = F.unix_millis("round_at") - F.unix_millis("sampled_at")
    since_seen = F.unix_millis("round_at") - F.unix_millis("seen_at")
    was_seen = (F.col("seen_at") >= F.col("sampled_at")) | (since_seen <= GONE_AFTER_MS)
    return (
        keys.where(F.col("lives") & F.col("sampled_at").isNotNull())
        .join(read.select(*CLUSTER_KEY, "round_at"), list(CLUSTER_KEY))
        .join(seen, list(PARTITION_KEY), "left")
        .where(surely(since_commit.between(0, GONE_AFTER_MS)) & ~surely(was_seen))
        .select(*COMMIT_KEY)
    )
