"""Who was in a group when, as its records and samples tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import DAY_MS, date_of

GROUP: Final = ("cluster_id", "group")
LIFE: Final = (*GROUP, "life")
# A group begins with one member, and with epoch 1; since Kafka 4.3 with 2 (KAFKA-20268).
FIRST_EPOCH: Final = 2
_CLASSIC: Final = "GroupMetadata"
_OF_MEMBERS: Final = ("member_metadata", "member_left", "member_assignment", "static_member_away")
# A member that does not answer for so long is fenced (group.consumer.max.session.timeout.ms).
_SILENT_MS: Final = 60_000
_UNKNOWN: Final = 2**31 - 1
# The same batch holds both records of an online upgrade.
_MOVES_WITHIN_MS: Final = 60_000
_MOVED_ON: Final = ("ConsumerGroupMetadata", _CLASSIC)


def events_once(group_events: DataFrame) -> DataFrame:
    """Each event once, whatever was read twice: records by their place in the log, samples by their time."""
    kept = (
        *GROUP,
        "origin",
        "source_offset",
        "record_time",
        "type",
        "group_type",
        "meaning",
        "epoch",
        "previous_epoch",
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


def in_lives(events: DataFrame) -> DataFrame:
    """Records with their `life`: how many KIP-848 groups of that name were removed before."""
    before = Window.partitionBy(*GROUP).orderBy("source_offset").rowsBetween(Window.unboundedPreceding, -1)
    is_end = (F.col("meaning") == "group_removed") & (F.col("type") != _CLASSIC)
    topic = events.where(F.col("origin") == "topic")
    return topic.select("*", F.count(F.when(is_end, 1)).over(before).alias("life"))


def memberships(events: DataFrame, *, days_after: int = 0) -> DataFrame:
    """KIP-848: a row for each member that came (`change` 1) or went (-1), once, whatever records repeat it.

    Old records may be gone, and with them the coming of members. But each member writes its assignment within seconds
    of every epoch, so one that does without having come, or goes, `was_there`: its row stands before all others of the
    group (`part` 0) from `days_after` days before on, for what came later is not looked at. `members` is the number
    after the row, null where it is not known; `was_told` says of one that came that it only told of itself again.
    """
    told = _in_view(events, days_after)
    state = F.when(F.col("meaning") == "member_left", -1).otherwise(1)
    of_member = Window.partitionBy(*LIFE, "member_id").orderBy("source_offset")
    following = F.lead(F.struct("meaning", "previous_epoch", "day")).over(of_member)
    members = (
        told.where(F.col("meaning").isin(*_OF_MEMBERS))
        .select("*", state.alias("state_after"), following.alias("following"))
        .withColumn("state_before", F.lag("state_after").over(of_member))
    )
    so_far = Window.partitionBy(*LIFE).orderBy("source_offset", "part")
    is_known = F.col("is_known") | F.col("was_there") | (F.min("joined_at").over(so_far) < F.col("record_time"))
    return (
        members.select(*LIFE, "member_id", "is_known", F.explode(_changes(days_after)).alias("row"))
        .select(*LIFE, "member_id", "is_known", "row.*")
        .withColumn("joined_at", F.when((F.col("change") > 0) & ~F.col("was_there"), F.col("record_time")))
        .withColumn("is_known", F.max(is_known).over(so_far))
        .withColumn("members", F.when(F.col("is_known"), F.sum("change").over(so_far)).cast("int"))
        .drop("joined_at")
    )


def _in_view(events: DataFrame, days_after: int) -> DataFrame:
    """Records with the `first` one of their days, and whether all members that were there have shown themselves.

    They have where the group's beginning or its end is among the records, or others follow a minute later.
    """
    life = Window.partitionBy(*LIFE)
    by_day = life.orderBy("day")
    place = F.struct("source_offset", "record_time")
    is_removed = F.col("meaning") == "group_removed"
    is_ours = F.col("type") != _CLASSIC
    upgraded_at = F.min(F.when(is_removed & ~is_ours, F.col("source_offset"))).over(life)
    first_epoch = F.min(F.when(F.col("meaning") == "group_epoch", F.col("epoch"))).over(life)
    removed_on = F.max(F.when(is_removed & is_ours, F.col("day"))).over(life)
    newest = F.max("record_time").over(by_day.rangeBetween(0, days_after))
    is_known = (
        (F.col("life") > 0)
        | (upgraded_at < F.col("source_offset"))
        | (first_epoch <= FIRST_EPOCH)
        | (removed_on <= F.col("day") + days_after)
        | (F.unix_millis(newest) - F.unix_millis("record_time") >= _SILENT_MS)
    )
    return (
        in_lives(events)
        .withColumn("day", F.unix_date(date_of("record_time")))
        .select(
            "*",
            F.coalesce(is_known, F.expr("false")).alias("is_known"),
            F.min(F.when(is_ours, place))
            .over(by_day.rangeBetween(-days_after, Window.unboundedFollowing))
            .alias("first"),
        )
    )


def _changes(days_after: int) -> Column:
    """Of a member's record: what changed with it, as an array of rows."""
    is_join = F.col("meaning") == "member_metadata"
    is_first = F.col("state_before").isNull()
    is_again = (F.col("following.previous_epoch") > 0) & (F.col("following.day") <= F.col("day") + days_after)
    was_told = is_join & F.coalesce(is_again, F.expr("false"))
    there = _change(F.col("first.source_offset"), F.col("first.record_time"), 0, F.lit(1), F.expr("false"))
    own = _change(F.col("source_offset"), F.col("record_time"), 1, F.col("state_after"), was_told)
    # Nobody went that had not come: the one row tells that it was there, the other that it went.
    is_new = (is_first & (is_join | (F.col("state_after") < 0))) | (F.col("state_before") != F.col("state_after"))
    return F.array_compact(F.array(F.when(is_first & ~is_join, there), F.when(is_new, own)))


def _change(offset: Column, time: Column, part: int, change: Column, was_told: Column) -> Column:
    return F.struct(
        offset.alias("source_offset"),
        time.alias("record_time"),
        F.lit(part).alias("part"),
        change.alias("change"),
        F.lit(part == 0).alias("was_there"),
        was_told.alias("was_told"),
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
    """`state` and `members` of a group from a time on; null where that is not known.

    A sample that could not list the members says nothing about them (`tells_members`), so what was told before holds.
    """
    is_empty = (F.col("meaning") == "group_emptied") | F.col("state").isin("Empty", "Dead")
    counted = events.where(F.col("meaning").isin("state_seen", "generation", "group_emptied")).select(
        *GROUP,
        "record_time",
        F.coalesce(
            F.col("state"),
            F.when(F.col("meaning") == "group_emptied", "Empty"),
            F.when(F.col("meaning") == "generation", "Stable"),
        ).alias("state"),
        # A sample of a group that has nobody has no list of members either.
        F.when(is_empty, 0).when(F.col("member_ids").isNotNull(), F.size("member_ids")).alias("members"),
        (F.coalesce(is_empty, F.expr("false")) | F.col("member_ids").isNotNull()).alias("tells_members"),
        "source_offset",  # the records of one batch, as those of a downgrade are, have the same time
        F.lit(1).alias("part"),
    )
    # Whoever comes or goes begins a rebalance; records do not tell the state that it ends with, but for nobody left.
    joined = joins.select(
        *GROUP,
        "record_time",
        F.when(F.col("members") == 0, "Empty").alias("state"),
        "members",
        F.expr("true").alias("tells_members"),
        "source_offset",
        "part",
    )
    gone = (
        removals(events)
        .where(F.col("kind") == "deleted")
        .select(
            *GROUP,
            "record_time",
            F.lit("Dead").alias("state"),
            F.lit(0).alias("members"),
            F.expr("true").alias("tells_members"),
            "source_offset",
            F.lit(1).alias("part"),
        )
    )
    return counted.unionByName(joined).unionByName(gone)


def on_days(told: DataFrame, days: Sequence[date]) -> DataFrame:
    """The most members that a group had on each of `days`; those that it went into the day with count, too.

    `members_max` is null where their number was not known at some time of the day; `has_members` is true then, too.
    """
    wanted = F.explode(F.array(*(F.lit(day) for day in days))).alias("day")
    begin = F.unix_date("day").cast("long") * DAY_MS
    at = F.unix_millis("record_time")
    counted = told.where("tells_members").select("*", wanted).where(at < begin + DAY_MS)
    # What is not known is larger than any number.
    number = F.coalesce("members", F.lit(_UNKNOWN))
    order = F.struct("record_time", "source_offset", "part")
    carried = F.max_by(F.when(at < begin, number), F.when(at < begin, order))
    most = counted.groupBy("day", *GROUP).agg(F.greatest(F.max(F.when(at >= begin, number)), carried).alias("most"))
    return most.select(
        "day",
        *GROUP,
        F.when(F.col("most") < _UNKNOWN, F.col("most")).alias("members_max"),
        (F.col("most") > 0).alias("has_members"),
    )


def at_times(rows: DataFrame, told: DataFrame, time: str) -> DataFrame:
    """`rows` of groups with the `state` and `members` that were last told at or before their `time`.

    What was last told may be that it is not known: then nothing older holds.
    """
    events = rows.select("*", F.col(time).alias("at"), F.lit(1).alias("kind")).unionByName(
        told.withColumnRenamed("record_time", "at").withColumn("kind", F.lit(0)), allowMissingColumns=True
    )
    so_far = Window.partitionBy(*GROUP).orderBy("at", "kind", "source_offset", "part")
    so_far = so_far.rowsBetween(Window.unboundedPreceding, 0)
    is_told = {"state": F.col("kind") == 0, "members": F.col("tells_members")}
    for name, holds in is_told.items():
        last = F.last(F.when(holds, F.struct(name)), ignorenulls=True).over(so_far)
        events = events.withColumn(name, last[name])
    return events.where(F.col("kind") == 1).select(*rows.columns, "state", "members")
