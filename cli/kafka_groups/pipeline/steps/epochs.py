"""The epochs of KIP-848 groups: who was in the group before and after each, and who came with an online upgrade."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.members import GROUP, memberships

DOWNGRADED: Final = "downgraded"
# A group begins with one member, and with epoch 1; since Kafka 4.3 with 2 (KAFKA-20268).
_FIRST_EPOCH: Final = 2
# What cuts a group's log into spans: what stands before an epoch's record, since the mark before, belongs to it.
_EPOCH: Final = "epoch"
_UPGRADE: Final = "upgrade"
_REMOVAL: Final = "removal"


def epochs(events: DataFrame) -> DataFrame:
    """A row an epoch: (cluster_id, group, epoch, source_offset, started_at, members_before, …_after, joined, left).

    An online upgrade keeps the ids of members, so those that the classic group had have not joined. All but
    `members_after` are null where it is not known who was there before: compaction takes the classic group's last
    record with the upgrade, and the first epoch that is left of a group need not be its first one.
    """
    told = F.col("before").isNotNull() & ((F.col("before.kind") != _UPGRADE) | F.col("before.ids").isNotNull())
    is_first = F.col("before").isNull() & (F.col("epoch") <= _FIRST_EPOCH) & (F.col("members_after") <= 1)
    is_known = told | is_first
    return (
        _spans(events)
        .where(F.col("kind") == _EPOCH)
        .select(
            *GROUP,
            "epoch",
            "source_offset",
            "started_at",
            F.when(is_known, F.col("members_after") - F.col("change")).cast("int").alias("members_before"),
            "members_after",
            F.when(is_known, F.array_except("came", "went")).alias("joined"),
            F.when(is_known, F.array_except("went", "came")).alias("left"),
        )
    )


def downgrades(events: DataFrame) -> DataFrame:
    """Removals of KIP-848 groups as (cluster_id, group, source_offset, record_time, meaning, ids): who was there still.

    A group that was deleted had nobody left. A downgrade removes all members in its own batch, those that stay, too.
    """
    return (
        _spans(events)
        .where(F.col("kind") == _REMOVAL)
        .select(
            *GROUP,
            "source_offset",
            F.col("started_at").alias("record_time"),
            F.lit(DOWNGRADED).alias("meaning"),
            F.col("went").alias("ids"),
        )
    )


def _spans(events: DataFrame) -> DataFrame:
    """Epochs and removals, with what happened to members since the mark before; `before` is that mark."""
    both = _marks(events).unionByName(memberships(events).drop("record_time"), allowMissingColumns=True)
    by_offset = Window.partitionBy(*GROUP).orderBy("source_offset")
    onwards = Window.partitionBy(*GROUP).orderBy(F.desc("source_offset")).rowsBetween(Window.unboundedPreceding, 0)
    so_far = by_offset.rowsBetween(Window.unboundedPreceding, 0)
    mark = F.when(F.col("kind").isNotNull(), F.struct("kind", "ids"))
    ends_it = F.col("kind").isin(_EPOCH, _REMOVAL)
    end = F.when(ends_it, F.struct("kind", "epoch", "source_offset", "started_at"))
    change = F.when(~_was_kept(), F.col("change"))
    return (
        both.withColumn("end", F.last(end, ignorenulls=True).over(onwards))
        .withColumn("before", F.last(mark, ignorenulls=True).over(by_offset.rowsBetween(Window.unboundedPreceding, -1)))
        .withColumn("present", F.sum("change").over(so_far))
        .where(F.col("end").isNotNull())
        .groupBy(*GROUP, "end")
        .agg(
            F.coalesce(F.sum(change), F.lit(0)).alias("change"),
            F.max_by("present", "source_offset").cast("int").alias("members_after"),
            F.max_by("before", "source_offset").alias("before"),
            F.array_sort(F.collect_set(F.when(change > 0, F.col("member_id")))).alias("came"),
            F.array_sort(F.collect_set(F.when(change < 0, F.col("member_id")))).alias("went"),
        )
        .select(*GROUP, "end.*", "change", "members_after", "before", "came", "went")
    )


def _was_kept() -> Column:
    """Of a member that came: whether the classic group had it, and an online upgrade took it over."""
    taken_over = F.when(F.col("before.kind") == _UPGRADE, F.array_contains("before.ids", F.col("member_id")))
    return (F.col("change") > 0) & F.coalesce(taken_over, F.expr("false"))


def _marks(events: DataFrame) -> DataFrame:
    """(cluster_id, group, source_offset, kind, epoch, started_at, change, ids); `ids` of the classic members before."""
    topic = events.where(F.col("origin") == "topic")
    nothing = F.lit(None).cast("array<string>")
    # A group that is made anew under its name counts its epochs from the beginning.
    until = Window.partitionBy(*GROUP).orderBy("source_offset").rowsBetween(Window.unboundedPreceding, 0)
    life = F.count(F.when(F.col("meaning") == "group_removed", 1)).over(until)
    begun = (
        topic.where(F.col("type") == "ConsumerGroupMetadata")
        .select("*", life.alias("life"))
        .where(F.col("meaning") == "group_epoch")
        .groupBy(*GROUP, "life", "epoch")
        .agg(F.min("source_offset").alias("source_offset"), F.min("record_time").alias("started_at"))
        .select("*", F.lit(_EPOCH).alias("kind"), nothing.alias("ids"))
    )
    names = (*GROUP, "source_offset", "epoch", "started_at", "kind", "ids", F.lit(0).alias("change"))
    removed = topic.where(F.col("meaning") == "group_removed").withColumn("started_at", F.col("record_time"))
    ended = removed.where(F.col("type") == "ConsumerGroupMetadata").select(
        "*", F.lit(_REMOVAL).alias("kind"), nothing.alias("ids")
    )
    return begun.select(*names).unionByName(ended.select(*names)).unionByName(_upgrades(topic).select(*names))


def _upgrades(topic: DataFrame) -> DataFrame:
    """Removals of classic groups; `ids` is null where the record before is lost."""
    nobody = F.array().cast("array<string>")
    ids = F.when(F.col("meaning") == "generation", F.col("member_ids")).otherwise(nobody)
    before = F.lag(ids).over(Window.partitionBy(*GROUP).orderBy("source_offset"))
    return (
        topic.where(F.col("type") == "GroupMetadata")
        .select("*", before.alias("ids"), F.col("record_time").alias("started_at"), F.lit(_UPGRADE).alias("kind"))
        .where(F.col("meaning") == "group_removed")
    )
