"""The epochs of KIP-848 groups: who was in the group before and after each, and who came with an online upgrade."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.members import FIRST_EPOCH, GROUP, LIFE, in_lives

DOWNGRADED: Final = "downgraded"
# What came later than the day after an epoch tells nothing of it, so that tables do not depend on when they are built.
DAYS_AFTER: Final = 1
# What cuts a group's log into spans: what stands before an epoch's record, since the mark before, belongs to it.
_EPOCH: Final = "epoch"
_UPGRADE: Final = "upgrade"
_REMOVAL: Final = "removal"


def epochs(cut: DataFrame) -> DataFrame:
    """A row an epoch: (…LIFE, epoch, source_offset, started_at, members_before, members_after, joined, left).

    An online upgrade keeps the ids of members, so those that the classic group had have not joined. The last two and
    `members_before` are null where it is not known who was there before: compaction takes the classic group's last
    record with the upgrade, and the first epoch that is left of a group need not be its first one. But where members
    show that they were there, those that came in the epoch's own batch are those that joined. `members_after` is null
    where nobody but those that came is known. `cut` comes from `spans`.
    """
    told = F.col("before").isNotNull() & ((F.col("before.kind") != _UPGRADE) | F.col("before.ids").isNotNull())
    is_cut = F.col("before").isNull() & F.col("was_there")
    is_first = F.col("before").isNull() & (F.col("epoch") <= FIRST_EPOCH) & (F.col("members_after") <= 1)
    of = F.when(is_cut, F.col("in_batch")).when(told | is_first, F.col("in_all"))
    return (
        cut.where(F.col("kind") == _EPOCH)
        .withColumn("of", of)
        .select(
            *LIFE,
            "epoch",
            "source_offset",
            "started_at",
            (F.col("members_after") - F.col("of.change")).cast("int").alias("members_before"),
            "members_after",
            F.array_except("of.came", "of.went").alias("joined"),
            F.array_except("of.went", "of.came").alias("left"),
        )
    )


def downgrades(cut: DataFrame) -> DataFrame:
    """Removals of KIP-848 groups as (cluster_id, group, source_offset, record_time, meaning, ids): who was there still.

    A group that was deleted had nobody left. A downgrade removes all members in its own batch, those that stay, too.
    `cut` comes from `spans`.
    """
    return cut.where(F.col("kind") == _REMOVAL).select(
        *GROUP,
        "source_offset",
        F.col("started_at").alias("record_time"),
        F.lit(DOWNGRADED).alias("meaning"),
        F.col("in_all.went").alias("ids"),
    )


def spans(events: DataFrame, members: DataFrame) -> DataFrame:
    """Epochs and removals, with what happened to members since the mark before; `before` is that mark.

    `in_all` is of all that happened, `in_batch` of what did in the batch of the end: its records have one time.
    `members` are the `memberships` of DAYS_AFTER.
    """
    both = _marks(events).unionByName(members, allowMissingColumns=True)
    by_offset = Window.partitionBy(*GROUP).orderBy("source_offset", "part")
    onwards = Window.partitionBy(*GROUP).orderBy(F.desc("source_offset"), F.desc("part"))
    onwards = onwards.rowsBetween(Window.unboundedPreceding, 0)
    so_far = Window.partitionBy(*LIFE).orderBy("source_offset", "part").rowsBetween(Window.unboundedPreceding, 0)
    mark = F.when(F.col("kind").isNotNull(), F.struct("kind", "ids"))
    ends_it = F.col("kind").isin(_EPOCH, _REMOVAL)
    end = F.when(ends_it, F.struct("life", "kind", "epoch", "source_offset", "started_at"))
    earlier = F.min(F.when(F.col("change") > 0, F.col("record_time"))).over(so_far)
    is_known = F.max("is_known").over(so_far) | (earlier < F.col("started_at"))
    is_in_batch = (F.col("record_time") == F.col("end.started_at")) & ~F.col("was_told")
    return (
        both.withColumn("end", F.last(end, ignorenulls=True).over(onwards))
        .withColumn("before", F.last(mark, ignorenulls=True).over(by_offset.rowsBetween(Window.unboundedPreceding, -1)))
        .withColumn("present", F.when(is_known, F.sum("change").over(so_far)))
        .withColumn("has_been_there", F.coalesce(F.max("was_there").over(so_far), F.expr("false")))
        .where(F.col("end").isNotNull())
        .groupBy(*GROUP, "end")
        .agg(
            F.max_by("present", F.struct("source_offset", "part")).cast("int").alias("members_after"),
            F.max_by("before", F.struct("source_offset", "part")).alias("before"),
            F.max("has_been_there").alias("was_there"),
            _happened(~F.col("was_there") & ~_was_kept()).alias("in_all"),
            _happened(~F.col("was_there") & is_in_batch).alias("in_batch"),
        )
        .select(*GROUP, "end.*", "members_after", "before", "was_there", "in_all", "in_batch")
    )


def _happened(counts: Column) -> Column:
    """The sum of changes, and who came and who went, of those rows that count."""
    change = F.when(counts, F.col("change"))
    return F.struct(
        F.coalesce(F.sum(change), F.lit(0)).alias("change"),
        F.array_sort(F.collect_set(F.when(change > 0, F.col("member_id")))).alias("came"),
        F.array_sort(F.collect_set(F.when(change < 0, F.col("member_id")))).alias("went"),
    )


def _was_kept() -> Column:
    """Of a member that came: whether the classic group had it, and an online upgrade took it over."""
    taken_over = F.when(F.col("before.kind") == _UPGRADE, F.array_contains("before.ids", F.col("member_id")))
    return (F.col("change") > 0) & F.coalesce(taken_over, F.expr("false"))


def _marks(events: DataFrame) -> DataFrame:
    """(…LIFE, source_offset, part, kind, epoch, started_at, change, ids); `ids` of the classic members before."""
    topic = in_lives(events)
    nothing = F.lit(None).cast("array<string>")
    # A group that is made anew under its name counts its epochs from the beginning.
    begun = (
        topic.where((F.col("type") == "ConsumerGroupMetadata") & (F.col("meaning") == "group_epoch"))
        .groupBy(*LIFE, "epoch")
        .agg(F.min("source_offset").alias("source_offset"), F.min("record_time").alias("started_at"))
        .select("*", F.lit(_EPOCH).alias("kind"), nothing.alias("ids"))
    )
    names = (*LIFE, "source_offset", "epoch", "started_at", "kind", "ids", F.lit(0).alias("change"))
    removed = topic.where(F.col("meaning") == "group_removed").withColumn("started_at", F.col("record_time"))
    ended = removed.where(F.col("type") == "ConsumerGroupMetadata").select(
        "*", F.lit(_REMOVAL).alias("kind"), nothing.alias("ids")
    )
    marks = begun.select(*names).unionByName(ended.select(*names)).unionByName(_upgrades(topic).select(*names))
    return marks.withColumn("part", F.lit(1))


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
