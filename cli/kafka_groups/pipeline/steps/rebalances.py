"""Rebalances: exact for KIP-848, whose records tell begin and end; for classic groups a bound, and called so."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_groups.pipeline.steps.horizon import date_of, surely
from kafka_groups.pipeline.steps.members import GROUP, events_once, memberships

_COLUMNS: Final = (
    *GROUP,
    "protocol",
    "generation",
    "started_at",
    "ended_at",
    "duration_ms",
    "duration_quality",
    "sync_ms",
    "members_before",
    "members_after",
    "joined",
    "left",
)


def consumer_rebalances(events: DataFrame) -> DataFrame:
    """KIP-848: from the record of the group's epoch to the last member's assignment at that epoch that is STABLE.

    It is open while members that must reach the epoch have not. Members that came and went stand before the epoch's
    record in the log, since the record before it.
    """
    records = events.where((F.col("origin") == "topic") & F.col("type").startswith("ConsumerGroup"))
    epochs = (
        records.where(F.col("meaning") == "group_epoch")
        .groupBy(*GROUP, "epoch")
        .agg(F.min("source_offset").alias("source_offset"), F.min("record_time").alias("started_at"))
    )
    reached = (
        records.where((F.col("meaning") == "member_assignment") & (F.col("member_state") == "STABLE"))
        .groupBy(*GROUP, "epoch", "member_id")
        .agg(F.min("record_time").alias("reached_at"))
        .groupBy(*GROUP, "epoch")
        .agg(F.max("reached_at").alias("reached_at"), F.count("*").alias("stable"))
    )
    found = _with_members(epochs, memberships(events)).join(reached, [*GROUP, "epoch"], "left")
    is_soon = F.coalesce(_days("started_at", "reached_at") <= 1, F.expr("true"))
    is_over = (F.coalesce("stable", F.lit(0)) >= F.col("members_after")) & is_soon
    ended = F.when(is_over, F.greatest("started_at", "reached_at"))
    return found.withColumn("ended_at", ended).select(
        *GROUP,
        F.lit("consumer").alias("protocol"),
        F.col("epoch").alias("generation"),
        "started_at",
        "ended_at",
        _milliseconds("started_at", "ended_at").alias("duration_ms"),
        F.when(is_over, "exact").otherwise("open").alias("duration_quality"),
        F.lit(None).cast("long").alias("sync_ms"),
        "members_before",
        "members_after",
        "joined",
        "left",
    )


def _with_members(epochs: DataFrame, joins: DataFrame) -> DataFrame:
    marks = epochs.select("*", F.lit(None).cast("string").alias("member_id"), F.lit(0).alias("change"))
    both = marks.unionByName(joins.drop("record_time"), allowMissingColumns=True)
    onwards = Window.partitionBy(*GROUP).orderBy(F.desc("source_offset")).rowsBetween(Window.unboundedPreceding, 0)
    own = F.last("epoch", ignorenulls=True).over(onwards)
    summed = (
        both.withColumn("own", own)
        .where(F.col("own").isNotNull())
        .groupBy(*GROUP, F.col("own").alias("epoch"))
        .agg(
            F.min("started_at").alias("started_at"),
            F.sum("change").cast("int").alias("change"),
            F.array_sort(F.collect_set(F.when(F.col("change") > 0, F.col("member_id")))).alias("came"),
            F.array_sort(F.collect_set(F.when(F.col("change") < 0, F.col("member_id")))).alias("went"),
        )
    )
    so_far = Window.partitionBy(*GROUP).orderBy("epoch").rowsBetween(Window.unboundedPreceding, 0)
    after = F.sum("change").over(so_far).cast("int")
    return summed.withColumn("members_after", after).select(
        *GROUP,
        "epoch",
        "started_at",
        (F.col("members_after") - F.col("change")).alias("members_before"),
        "members_after",
        F.array_except("came", "went").alias("joined"),
        F.array_except("went", "came").alias("left"),
    )


def classic_rebalances(events: DataFrame, commits: DataFrame) -> DataFrame:
    """Classic groups: one for each generation. `commits` are (cluster_id, group, at): commits read from the topic.

    The join phase is not logged. The rebalance began after the group's last commit (or its record before, if that is
    later) and ended before its next commit, or with its record where none follows: that gap is the bound. Where nothing
    is known before it, the duration is null.
    """
    steps = _generations(events)
    marked = commits.select(*GROUP, "at", F.lit(0).alias("kind")).unionByName(
        steps.select("*", F.col("record_time").alias("at"), F.lit(1).alias("kind")), allowMissingColumns=True
    )
    committed = F.when(F.col("kind") == 0, F.col("at"))
    before = Window.partitionBy(*GROUP).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    after = Window.partitionBy(*GROUP).orderBy(F.desc("at"), F.desc("kind")).rowsBetween(Window.unboundedPreceding, 0)
    bounded = (
        marked.withColumn("last_commit", F.last(committed, ignorenulls=True).over(before))
        .withColumn("next_commit", F.last(committed, ignorenulls=True).over(after))
        .where(F.col("kind") == 1)
        .withColumn("since", F.greatest("last_commit", "previous_time"))
        .withColumn("since", F.when(_days("since", "record_time") <= 1, F.col("since")))
        .withColumn("started_at", F.coalesce("since", "record_time"))
        .withColumn("ended_at", F.when(_days("started_at", "next_commit") <= 1, F.col("next_commit")))
        .withColumn("ended_at", F.coalesce("ended_at", "record_time"))
    )
    return bounded.select(
        *GROUP,
        F.lit("classic").alias("protocol"),
        F.col("epoch").alias("generation"),
        "started_at",
        "ended_at",
        F.when(F.col("since").isNotNull(), _milliseconds("started_at", "ended_at")).alias("duration_ms"),
        F.lit("bound").alias("duration_quality"),
        "sync_ms",
        _count("previous_ids").alias("members_before"),
        _count("ids").alias("members_after"),
        F.array_except("ids", "previous_ids").alias("joined"),
        F.array_except("previous_ids", "ids").alias("left"),
    ).select(*_COLUMNS)


def _generations(events: DataFrame) -> DataFrame:
    """Records of a classic group that have another generation than the one before, with what that one said."""
    records = events.where((F.col("origin") == "topic") & (F.col("type") == "GroupMetadata"))
    nobody = F.array().cast("array<string>")
    ids = F.when(F.col("meaning") == "generation", F.col("member_ids")).otherwise(nobody)
    told = F.struct("epoch", "ids", "record_time", "meaning")
    before = F.lag(told).over(Window.partitionBy(*GROUP).orderBy("source_offset"))
    is_first = F.col("before").isNull()
    # A group's first generation is 1, and nobody was there before; any other first record was preceded by lost ones.
    nobody_before = is_first & (F.col("epoch") == 1)
    sync = F.when(F.col("meaning") == "generation", _milliseconds("state_time", "record_time"))
    return (
        records.withColumn("ids", ids)
        .withColumn("before", before)
        .where(F.col("meaning") != "group_removed")
        .where(F.col("epoch") > 0)  # generation 0 is a group that was just made (brokers since 4.0 write it down)
        .where(is_first | (F.col("before.meaning") == "group_removed") | (F.col("epoch") != F.col("before.epoch")))
        .select(
            *GROUP,
            "epoch",
            "record_time",
            "ids",
            F.when(nobody_before, nobody).otherwise(F.col("before.ids")).alias("previous_ids"),
            F.col("before.record_time").alias("previous_time"),
            F.when(sync >= 0, sync).alias("sync_ms"),
        )
    )


def _days(since: str, until: str) -> Column:
    """Midnights between two times. A rebalance is looked at until the end of the day after it began, and no further."""
    return F.date_diff(date_of(until), date_of(since))


def _milliseconds(since: str, until: str) -> Column:
    return F.unix_millis(until) - F.unix_millis(since)


def _count(ids: str) -> Column:
    return F.when(F.col(ids).isNotNull(), F.size(ids))


def rebalances(group_events: DataFrame, offset_commits: DataFrame, dates: Sequence[date]) -> DataFrame:
    """All rebalances that began on `dates`, from the facts until the end of the day after they began."""
    last = max(dates) + timedelta(days=1)
    events = events_once(group_events.where(F.col("date") <= last))
    times = offset_commits.where((F.col("origin") == "topic") & ~surely(F.col("tombstone")))
    first = min(dates) - timedelta(days=1)
    commits = (
        times.where(F.col("date").between(first, last)).select(*GROUP, F.col("commit_time").alias("at")).distinct()
    )
    found = consumer_rebalances(events).select(*_COLUMNS).unionByName(classic_rebalances(events, commits))
    return found.withColumn("on", date_of("started_at")).where(F.col("on").isin(list(dates))).select(*_COLUMNS)
