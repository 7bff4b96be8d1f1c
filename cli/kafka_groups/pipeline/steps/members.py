"""Who was in a group when, as its records and samples tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import DAY_MS

GROUP: Final = ("cluster_id", "group")
# The same batch holds both records of an online upgrade.
_MOVES_WITHIN_MS: Final = 60_000
_MOVED_ON: Final = ("ConsumerGroupMetadata", "GroupMetadata")


def events_once(group_events: DataFrame) -> DataFrame:
    """Each event once, whatever was read twice: records by their place in the log, samples by their time."""
    kept = (
        *GROUP,
        "origin",
        "source_offset",
        "record_time",
        "type",
        "meaning",
        "epoch",
        "member_id",
        "member_state",
        "state_time",
        "state",
    )
    ids = F.array_sort(F.transform("members", lambda member: member["member_id"]))
    return group_events.select(*kept, ids.alias("member_ids"), _join_timeout().alias("join_timeout_ms")).distinct()


def _join_timeout() -> Column:
    """How long a rebalance of a classic group waits for these members; null where static ones may stretch it."""
    has_static = F.exists("members", lambda member: member["group_instance_id"].isNotNull())
    return F.when(~has_static, F.array_max(F.transform("members", lambda member: member["rebalance_timeout_ms"])))


def memberships(events: DataFrame) -> DataFrame:
    """KIP-848: a row for each member that came (`change` 1) or went (-1), once, whatever records repeat it."""
    told = events.where((F.col("origin") == "topic") & F.col("meaning").isin("member_metadata", "member_left"))
    change = F.when(F.col("meaning") == "member_left", F.lit(-1)).otherwise(F.lit(1))
    before = F.lag("change").over(Window.partitionBy(*GROUP, "member_id").orderBy("source_offset"))
    return (
        told.withColumn("change", change)
        .withColumn("before", F.coalesce(before, F.lit(-1)))
        .where(F.col("change") != F.col("before"))
        .select(*GROUP, "source_offset", "record_time", "member_id", "change")
    )


def removals(events: DataFrame) -> DataFrame:
    """Groups that were removed: `deleted`, or `moved` to the other protocol, whose record follows at once."""
    told = events.where((F.col("origin") == "topic") & F.col("type").isin(*_MOVED_ON))
    following = F.lead(F.struct("type", "meaning", "record_time")).over(
        Window.partitionBy(*GROUP).orderBy("source_offset")
    )
    is_moved = (F.col("following.type") != F.col("type")) & (F.col("following.meaning") != "group_removed")
    is_soon = F.unix_millis("following.record_time") - F.unix_millis("record_time") <= _MOVES_WITHIN_MS
    return (
        told.withColumn("following", following)
        .where(F.col("meaning") == "group_removed")
        .select(
            *GROUP,
            "source_offset",
            "record_time",
            "type",
            F.when(is_moved & is_soon, "moved").otherwise("deleted").alias("kind"),
        )
    )


def states(events: DataFrame, joins: DataFrame) -> DataFrame:
    """`state` and `members` of a group from a time on; null where that is not known."""
    counted = events.where(F.col("meaning").isin("state_seen", "generation", "group_emptied")).select(
        *GROUP,
        "record_time",
        F.coalesce(
            F.col("state"),
            F.when(F.col("meaning") == "group_emptied", "Empty"),
            F.when(F.col("meaning") == "generation", "Stable"),
        ).alias("state"),
        # A sample of a group that has nobody has no list of members either.
        F.when((F.col("meaning") == "group_emptied") | F.col("state").isin("Empty", "Dead"), 0)
        .when(F.col("member_ids").isNotNull(), F.size("member_ids"))
        .alias("members"),
        "source_offset",  # the records of one batch, as those of a downgrade are, have the same time
    )
    so_far = Window.partitionBy(*GROUP).orderBy("source_offset").rowsBetween(Window.unboundedPreceding, 0)
    joined = joins.select(
        *GROUP,
        "record_time",
        F.lit(None).cast("string").alias("state"),
        F.sum("change").over(so_far).cast("int").alias("members"),
        "source_offset",
    )
    gone = (
        removals(events)
        .where(F.col("kind") == "deleted")
        .select(*GROUP, "record_time", F.lit("Dead").alias("state"), F.lit(0).alias("members"), "source_offset")
    )
    counted = counted.unionByName(joined).unionByName(gone)
    return counted.select(*GROUP, "record_time", "state", "members", "source_offset")


def on_days(told: DataFrame, days: Sequence[date]) -> DataFrame:
    """The most members that a group had on each of `days`; those that it went into the day with count, too."""
    wanted = F.explode(F.array(*(F.lit(day) for day in days))).alias("day")
    begin = F.unix_date("day").cast("long") * DAY_MS
    at = F.unix_millis("record_time")
    counted = told.where(F.col("members").isNotNull()).select("*", wanted).where(at < begin + DAY_MS)
    order = F.struct("record_time", "source_offset")
    carried = F.max_by(F.when(at < begin, F.col("members")), F.when(at < begin, order))
    return counted.groupBy("day", *GROUP).agg(
        F.greatest(F.max(F.when(at >= begin, F.col("members"))), carried).alias("members_max")
    )


def at_times(rows: DataFrame, told: DataFrame, time: str) -> DataFrame:
    """`rows` of groups with the `state` and `members` that were last told at or before their `time`."""
    events = rows.select("*", F.col(time).alias("at"), F.lit(1).alias("kind")).unionByName(
        told.withColumnRenamed("record_time", "at").withColumn("kind", F.lit(0)), allowMissingColumns=True
    )
    so_far = Window.partitionBy(*GROUP).orderBy("at", "kind", "source_offset")
    so_far = so_far.rowsBetween(Window.unboundedPreceding, 0)
    for name in ("state", "members"):
        events = events.withColumn(name, F.last(name, ignorenulls=True).over(so_far))
    return events.where(F.col("kind") == 1).select(*rows.columns, "state", "members")
