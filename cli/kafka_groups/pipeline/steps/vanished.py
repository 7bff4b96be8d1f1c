"""Commits that samples do not see any more: who only samples reads no removals, so absence has to tell."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import (
    CLUSTER_KEY,
    COMMIT_KEY,
    GONE_AFTER_MS,
    PARTITION_KEY,
    date_of,
    surely,
)
from kafka_groups.pipeline.tables import OFFSETS_TOPIC

_GROUP: Final = (*CLUSTER_KEY, "group")


def with_vanished(points: DataFrame, gone: DataFrame) -> DataFrame:
    """The points of `commit_points`, and a removal for each commit that `vanished`."""
    removals = gone.select(
        *COMMIT_KEY,
        F.lit("sample").alias("origin"),
        F.col("gone_at").alias("commit_time"),
        F.lit(True).alias("tombstone"),  # noqa: FBT003 - a value, not a choice
    )
    return points.unionByName(removals, allowMissingColumns=True)


def vanished(points: DataFrame, observed: DataFrame, events: DataFrame) -> DataFrame:
    """(*COMMIT_KEY, gone_at): commits that the last rounds of samples did not see; since the first that missed them.

    Also those on a log that was made anew since, where only samples tell.
    Two rounds have to miss a commit, the last of them ten minutes after it was seen; only whole ones count, for
    otherwise a broker was away that may be the group's coordinator. Where records are read that come after that, they
    tell what was removed. And a group that is still listed without any commit may be one that failed.
    """
    rounds = _whole_rounds(observed)
    read = points.where(F.col("origin") == "topic").groupBy(*CLUSTER_KEY).agg(F.max("commit_time").alias("read_at"))
    missed = (
        _last_seen(points)
        .join(F.broadcast(rounds), list(CLUSTER_KEY))
        .where(F.unix_millis(F.element_at("rounds", -1)) - F.unix_millis("seen_at") > GONE_AFTER_MS)
        .select(*COMMIT_KEY, "seen_at", "kept", _missing_from().alias("missing"))
        # The first is the round that saw it: log ends are asked for last.
        .where(F.size("missing") > _SAW_IT + 1)
        .select(*COMMIT_KEY, "seen_at", "kept", F.get("missing", F.lit(_SAW_IT)).alias("gone_at"))
        .join(F.broadcast(read), list(CLUSTER_KEY), "left")
        .where(~surely(F.col("kept") & (F.col("read_at") >= F.col("gone_at"))))
    )
    gone = _without_failed(missed, points, events).select(*COMMIT_KEY, "gone_at")
    return gone.unionByName(_of_logs_before(points, observed))


_SAW_IT: Final = 1


def _of_logs_before(points: DataFrame, observed: DataFrame) -> DataFrame:
    """(*COMMIT_KEY, gone_at): commits that only samples tell of, just after the last sample of a log that is no more.

    Who deletes a topic deletes all commits on it; what the next sample sees was committed on the log made anew.
    """
    first = F.min_by("before", "observed_at").alias("before")
    anew = observed.where((F.col("origin") == "sample") & (F.col("log") > 0)).groupBy(*PARTITION_KEY, "log").agg(first)
    ended = anew.select(*PARTITION_KEY, F.timestamp_millis(F.unix_millis("before") + 1).alias("gone_at"))
    is_read = F.max(F.col("origin") == "topic").alias("is_read")
    # There are few such logs, if any: of all points but theirs nothing is asked.
    told = points.join(F.broadcast(ended), list(PARTITION_KEY)).groupBy(*COMMIT_KEY, "gone_at").agg(is_read)
    return told.where(~F.col("is_read")).drop("is_read")


def _missing_from() -> Column:
    return F.filter("rounds", lambda time: time >= F.col("seen_at"))


def is_whole() -> Column:
    """Of a round's rows of partition_offsets: whether every coordinator listed its groups, as their own topic tells.

    Where that topic may not be described, every partition has to have told its log end.
    """
    is_told, is_coordinator = F.col("log_end_offset").isNotNull(), F.col("topic") == OFFSETS_TOPIC
    return F.coalesce(F.min(F.when(is_coordinator, is_told)), F.min(is_told))


def _whole_rounds(observed: DataFrame) -> DataFrame:
    """(*CLUSTER_KEY, rounds): the times, ascending, of whole samples."""
    sampled = observed.where(F.col("origin") == "sample").groupBy(*CLUSTER_KEY, "observed_at")
    whole = sampled.agg(is_whole().alias("is_whole")).where("is_whole")
    return whole.groupBy(*CLUSTER_KEY).agg(F.array_sort(F.collect_list("observed_at")).alias("rounds"))


def _last_seen(points: DataFrame) -> DataFrame:
    """(*COMMIT_KEY, seen_at, kept): the last sample that saw a commit, and whether its last record is no removal."""
    is_record = F.col("origin") == "topic"
    place = F.struct("commit_time", F.coalesce("source_offset", F.lit(-1)).alias("place"), "tombstone")
    return (
        points.groupBy(*COMMIT_KEY)
        .agg(
            F.max(F.when(~is_record, F.col("commit_time"))).alias("seen_at"),
            F.max(F.when(is_record, place)).alias("last"),
        )
        .where(F.col("seen_at").isNotNull())
        .select(*COMMIT_KEY, "seen_at", surely(~F.col("last.tombstone")).alias("kept"))
    )


def _without_failed(missed: DataFrame, points: DataFrame, events: DataFrame) -> DataFrame:
    """Those whose group is not listed since, or of which other commits were seen since."""
    groups = missed.select(*_GROUP).distinct()
    listed = events.where((F.col("origin") == "sample") & (F.col("meaning") == "state_seen"))
    told = (
        listed.join(F.broadcast(groups), list(_GROUP[1:]))
        .where(date_of("record_time") <= F.col("day"))
        .groupBy(*_GROUP)
        .agg(F.max("record_time").alias("listed_at"))
    )
    others = (
        points.where(F.col("origin") == "sample")
        .join(F.broadcast(groups), list(_GROUP))
        .groupBy(*_GROUP)
        .agg(F.max("commit_time").alias("answered_at"))
    )
    since, answered = F.col("listed_at") >= F.col("gone_at"), F.col("answered_at") >= F.col("gone_at")
    return (
        missed.join(told, list(_GROUP), "left")
        .join(others, list(_GROUP), "left")
        .where(~surely(since) | surely(answered))
    )
