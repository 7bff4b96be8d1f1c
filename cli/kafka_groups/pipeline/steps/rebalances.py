"""Rebalances: exact for KIP-848, whose records tell begin and end; for classic groups a bound, and called so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.epochs import DAYS_AFTER, DOWNGRADED, downgrades, epochs, spans
from kafka_groups.pipeline.steps.horizon import date_of
from kafka_groups.pipeline.steps.members import GROUP, LIFE, events_once, in_lives, memberships

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
# The broker's timer ends a join phase that members hold up, and may be late.
_LATE_MS: Final = 1_000


def tells_no_rebalance() -> Column:
    """Of an event: records of share and streams groups are kept, and not taken for rebalances."""
    kind = F.coalesce("group_type", "type")
    return kind.startswith("Share") | kind.startswith("Streams")


def consumer_rebalances(events: DataFrame, members: DataFrame, cut: DataFrame) -> DataFrame:
    """KIP-848: from the record of the group's epoch to the last member's assignment at that epoch that is STABLE.

    Where the next epoch comes before all members have reached this one, it is `overtaken` and ends there; where
    nothing came by the end of the day after, it is open. Members whose coming is not among the records have to reach
    it, too; where it is not known how many there were, nobody knows whether all did: the next epoch is a bound then.
    """
    in_order = Window.partitionBy(*GROUP).orderBy("source_offset")
    following = F.lead(F.struct("source_offset", "started_at")).over(in_order)
    arrivals = _arrivals(events, members)
    found = epochs(cut).withColumn("next", following).join(arrivals, [*LIFE, "epoch"], "left")
    # Whoever comes with the next epoch is first told to be STABLE, with nothing, at the epoch before.
    counted = F.filter(
        "arrivals",
        lambda one: (
            (one["came_at"] <= F.col("source_offset"))  # who was there stands at the first record
            & (one["place"] > F.col("source_offset"))
            & F.coalesce(one["place"] < F.col("next.source_offset"), F.expr("true"))
        ),
    )
    found = (
        found.withColumn("overtaken_at", F.col("next.started_at"))
        .withColumn("counted", F.coalesce(counted, F.array()))
        .withColumn("reached_at", F.array_max(F.transform("counted", lambda one: one["reached_at"])))
    )
    is_soon = F.coalesce(_days("started_at", "reached_at") <= 1, F.expr("true"))
    is_over = (F.size("counted") >= F.col("members_after")) & is_soon
    is_overtaken = F.coalesce(_days("started_at", "overtaken_at") <= 1, F.expr("false"))
    is_told = F.col("members_after").isNotNull()
    quality = (
        F.when(is_over, "exact")
        .when(is_overtaken, F.when(is_told, "overtaken").otherwise("bound"))
        .otherwise(F.when(is_told, "open").otherwise("unknown"))
    )
    ended = F.when(is_over, F.greatest("started_at", "reached_at")).when(is_overtaken, F.col("overtaken_at"))
    return found.withColumn("ended_at", ended).select(
        *GROUP,
        F.lit("consumer").alias("protocol"),
        F.col("epoch").alias("generation"),
        "started_at",
        "ended_at",
        _milliseconds("started_at", "ended_at").alias("duration_ms"),
        quality.alias("duration_quality"),
        F.lit(None).cast("long").alias("sync_ms"),
        "members_before",
        "members_after",
        "joined",
        "left",
    )


def _arrivals(events: DataFrame, members: DataFrame) -> DataFrame:
    """(…LIFE, epoch, arrivals): when, and where in the log, each member was first STABLE at that epoch.

    `came_at` is where the member itself first stands in the log.
    """
    joins = members.where(F.col("change") > 0)
    came = joins.groupBy(*LIFE, "member_id").agg(F.min("source_offset").alias("came_at"))
    first = F.min(F.struct("source_offset", "record_time")).alias("first")
    return (
        in_lives(events)
        .where(F.col("type") == "ConsumerGroupCurrentMemberAssignment")
        .where((F.col("meaning") == "member_assignment") & (F.col("member_state") == "STABLE"))
        .groupBy(*LIFE, "epoch", "member_id")
        .agg(first)
        .join(came, [*LIFE, "member_id"])
        .select(
            *LIFE,
            "epoch",
            F.struct(
                "came_at", F.col("first.source_offset").alias("place"), F.col("first.record_time").alias("reached_at")
            ).alias("arrival"),
        )
        .groupBy(*LIFE, "epoch")
        .agg(F.collect_list("arrival").alias("arrivals"))
    )


def classic_rebalances(events: DataFrame, cut: DataFrame) -> DataFrame:
    """Classic groups: one for each generation. It ends with its record; when it began is not logged.

    So `started_at` is the earliest that it can have begun, and the duration a bound: no longer than that. It began
    after the group's record before; commits tell nothing, for the broker takes those of the old generation until all
    members have joined. It also began no longer than the members' rebalance timeout before all had joined, which the
    record tells. Where neither is known, `started_at` is the record, and the duration null.
    """
    steps = _generations(events, cut)
    is_usable = (F.col("earliest") <= F.col("record_time")) & (_days("earliest", "record_time") <= 1)
    bounded = (
        steps.withColumn("earliest", F.greatest("previous_time", "join_since"))  # the later one, if one is not null
        .withColumn("earliest", F.when(is_usable, F.col("earliest")))
        .withColumn("started_at", F.coalesce("earliest", "record_time"))
    )
    return bounded.select(
        *GROUP,
        F.lit("classic").alias("protocol"),
        F.col("epoch").alias("generation"),
        "started_at",
        F.col("record_time").alias("ended_at"),
        _milliseconds("earliest", "record_time").alias("duration_ms"),
        F.lit("bound").alias("duration_quality"),
        "sync_ms",
        _count("previous_ids").alias("members_before"),
        _count("ids").alias("members_after"),
        F.array_except("ids", "previous_ids").alias("joined"),
        F.array_except("previous_ids", "ids").alias("left"),
    ).select(*_COLUMNS)


def _generations(events: DataFrame, cut: DataFrame) -> DataFrame:
    """Records of a classic group that have another generation than the one before, with what that one said.

    After a KIP-848 group of the same name, that is who was in it: an online downgrade keeps the members.
    """
    nobody = F.array().cast("array<string>")
    ids = F.when(F.col("meaning") == "generation", F.col("member_ids")).otherwise(nobody)
    # For nobody a rebalance waits no time.
    timeout = F.when(F.col("meaning") == "generation", F.col("join_timeout_ms")).otherwise(0)
    records = (
        events.where((F.col("origin") == "topic") & (F.col("type") == "GroupMetadata"))
        .withColumn("ids", ids)
        .withColumn("join_timeout_ms", timeout)
        .unionByName(downgrades(cut), allowMissingColumns=True)
    )
    told = F.struct("epoch", "ids", "record_time", "meaning", "join_timeout_ms")
    before = F.lag(told).over(Window.partitionBy(*GROUP).orderBy("source_offset"))
    is_first = F.col("before").isNull()
    # A group's first generation is 1, and nobody was there before; any other first record was preceded by lost ones.
    nobody_before = is_first & (F.col("epoch") == 1)
    took = _milliseconds("state_time", "record_time")
    sync = F.when(F.col("meaning") == "generation", took)
    return (
        records.withColumn("before", before)
        .where(~F.col("meaning").isin("group_removed", DOWNGRADED))
        .where(F.col("epoch") > 0)  # generation 0 is a group that was just made (brokers since 4.0 write it down)
        .where(
            is_first
            | F.col("before.meaning").isin("group_removed", DOWNGRADED)
            | (F.col("epoch") != F.col("before.epoch"))
        )
        .withColumn("before_ms", F.when(nobody_before, 0).otherwise(F.col("before.join_timeout_ms")))
        .select(
            *GROUP,
            "epoch",
            "record_time",
            "ids",
            F.when(nobody_before, nobody).otherwise(F.col("before.ids")).alias("previous_ids"),
            F.col("before.record_time").alias("previous_time"),
            F.when(took >= 0, _join_since()).alias("join_since"),
            F.when(sync >= 0, sync).alias("sync_ms"),
        )
    )


def _join_since() -> Column:
    """The earliest that the join phase can have begun: the longest rebalance timeout before it ended.

    Null where some member's timeout is not known, and where generations before were given up and left no record: then
    there was more than one join phase.
    """
    is_next = F.col("epoch") == F.coalesce("before.epoch", F.lit(0)) + 1
    is_known = F.col("before_ms").isNotNull() & F.col("join_timeout_ms").isNotNull()
    longest = F.greatest("before_ms", "join_timeout_ms") + _LATE_MS
    return F.when(is_next & is_known, F.timestamp_millis(F.unix_millis("state_time") - longest))


def _days(since: str, until: str) -> Column:
    """Midnights between two times. A rebalance is looked at until the end of the day after it began, and no further."""
    return F.date_diff(date_of(until), date_of(since))


def _milliseconds(since: str, until: str) -> Column:
    return F.unix_millis(until) - F.unix_millis(since)


def _count(ids: str) -> Column:
    return F.when(F.col(ids).isNotNull(), F.size(ids))


def rebalances(
    group_events: DataFrame, dates: Sequence[date], *, keep: Callable[[DataFrame], DataFrame] = lambda rows: rows
) -> DataFrame:
    """All rebalances that began on `dates`, from the facts until the end of the day after they began.

    `keep` may keep what is read more than once.
    """
    events = keep(events_once(group_events.where(F.col("date") <= max(dates) + timedelta(days=1))))
    members = keep(memberships(events, days_after=DAYS_AFTER))
    cut = keep(spans(events, members))
    of_consumers = consumer_rebalances(events, members, cut).select(*_COLUMNS)
    found = of_consumers.unionByName(classic_rebalances(events, cut))
    return found.withColumn("on", date_of("started_at")).where(F.col("on").isin(list(dates))).select(*_COLUMNS)
