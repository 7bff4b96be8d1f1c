"""Lag: the last commit at each time that a log end is known for."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import order_of
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, GONE_AFTER_MS, PARTITION_KEY, date_of, surely

# Two samples that were under way at the same time may be answered in another order than they were asked.
_OVERLAP_MS: Final = 30_000
_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset")


def observations(partition_offsets: DataFrame) -> DataFrame:
    """Each partition's log once for each time; a sample is believed before a backfill.

    `log` counts the times that samples saw the log end fall, or the topic's id change: from then on it is another log,
    made anew. An end that fell within half a minute of the sample before, but not as far as the next one, was told
    before that one's was, and is left out. A backfill goes by the times that producers gave their records, and by the
    topic that there is now: what it says against samples of the same log, whose ends only grow, is left out. `before`
    is the sample before.
    """
    told = ("origin", *_OFFSETS, "point_offset", "point_time", "topic_id")
    once = partition_offsets.groupBy(*PARTITION_KEY, "observed_at").agg(F.max(F.struct(*told)).alias("told"))
    in_time = Window.partitionBy(*PARTITION_KEY).orderBy("observed_at")
    earlier = in_time.rowsBetween(Window.unboundedPreceding, -1)
    # Backwards: a frame that ends with the partition is looked through anew for each row.
    later = Window.partitionBy(*PARTITION_KEY).orderBy(F.desc("observed_at"))
    later = later.rowsBetween(Window.unboundedPreceding, -1)
    is_sample = F.col("origin") == "sample"
    end, topic, at = (F.when(is_sample, F.col(name)) for name in ("log_end_offset", "topic_id", "observed_at"))
    seen = F.when(end.isNotNull(), F.struct("observed_at", "log_end_offset"))
    beside = once.select(*PARTITION_KEY, "observed_at", "told.*").select(
        "*",
        F.last(at, ignorenulls=True).over(earlier).alias("before"),
        F.last(seen, ignorenulls=True).over(earlier).alias("last_seen"),
        F.last(end, ignorenulls=True).over(later).alias("next_end"),
        surely(topic != F.last(topic, ignorenulls=True).over(earlier)).alias("is_another"),
    )
    last_end = F.col("last_seen.log_end_offset")
    is_close = F.unix_millis("observed_at") - F.unix_millis("last_seen.observed_at") <= _OVERLAP_MS
    fell = surely(end < last_end)
    is_anew = F.col("is_another") | (fell & (~is_close | surely(F.col("next_end") < last_end)))
    logs = (
        beside.select("*", is_anew.alias("is_anew"))
        .where(F.col("is_anew") | ~fell)
        .select(
            *PARTITION_KEY,
            "observed_at",
            *told,
            "before",
            F.sum(F.col("is_anew").cast("int")).over(in_time).alias("log"),
        )
    )
    in_log = Window.partitionBy(*PARTITION_KEY, "log")
    so_far = in_log.orderBy("observed_at").rowsBetween(Window.unboundedPreceding, 0)
    from_here = in_log.orderBy(F.desc("observed_at")).rowsBetween(Window.unboundedPreceding, 0)
    least, most = F.max(end).over(so_far), F.min(end).over(from_here)
    topic_of_log = F.max(topic).over(Window.partitionBy(*PARTITION_KEY, "log"))
    return (
        logs.select("*", least.alias("least"), most.alias("most"), topic_of_log.alias("topic_of_log"))
        .where(
            is_sample
            | ~(
                surely(F.col("log_end_offset") < F.col("least"))
                | surely(F.col("log_end_offset") > F.col("most"))
                | surely(F.col("topic_id") != F.col("topic_of_log"))
            )
        )
        .select(*PARTITION_KEY, "observed_at", *told[:-1], "before", "log")
    )


def lag(observed: DataFrame, points: DataFrame, *, since_ms: int) -> DataFrame:
    """A row for each observation and each group that had a commit on the partition then, `since_ms` before the day.

    The commit is the last one at or before the observation (what was committed later never counts); from a removal on
    there is no row until the next commit. A sample that would be left with a commit beyond its log end was taken by
    another clock: then the commit is the one that the sample itself saw. `removals` counts those before the row.
    """
    recent = observed.where(F.unix_millis("observed_at") >= F.unix_date("day").cast("long") * DAY_MS - since_ms)
    readers = points.select(*COMMIT_KEY).distinct()
    looked = recent.where(F.col("log_end_offset").isNotNull()).join(readers, list(PARTITION_KEY))
    commit = F.struct("commit_time", "commit_origin", "committed_offset", "tombstone")
    events = points.select(
        *COMMIT_KEY,
        F.col("commit_time").alias("at"),
        F.lit(0).alias("kind"),
        "commit_time",
        F.col("origin").alias("commit_origin"),
        "committed_offset",
        "tombstone",
        "source_offset",
    ).unionByName(looked.withColumn("at", F.col("observed_at")).withColumn("kind", F.lit(1)), allowMissingColumns=True)
    so_far = (
        Window.partitionBy(*COMMIT_KEY)
        .orderBy(*order_of("at", "kind"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    last = F.last(F.when(F.col("kind") == 0, commit), ignorenulls=True).over(so_far)
    is_sample = ~F.col("tombstone") & (F.col("commit_origin") == "sample")
    sampled = F.last(F.when((F.col("kind") == 0) & is_sample, commit), ignorenulls=True).over(so_far)
    is_beyond = F.col("last.committed_offset") > F.col("log_end_offset")
    round_ms = F.coalesce(F.unix_millis("before"), F.unix_millis("observed_at") - GONE_AFTER_MS)
    is_of_round = (F.col("origin") == "sample") & (F.unix_millis("sampled.commit_time") > round_ms)
    known = F.when(surely(is_beyond & is_of_round), F.col("sampled")).otherwise(F.col("last"))
    return (
        events.withColumn("last", last)
        .withColumn("sampled", sampled)
        .withColumn("removals", F.count(F.when(F.col("tombstone"), 1)).over(so_far))
        .where((F.col("kind") == 1) & ~F.col("last.tombstone"))
        .withColumn("known", known)
        .select(
            *COMMIT_KEY,
            "observed_at",
            "origin",
            "known.committed_offset",
            "known.commit_time",
            "known.commit_origin",
            *_OFFSETS,
            "log",
            "removals",
            (F.col("log_end_offset") - F.col("known.committed_offset")).alias("lag"),
            (F.col("known.committed_offset") - F.col("log_start_offset")).alias("retention_margin"),
        )
    )


def on_day(rows: DataFrame, time: str) -> DataFrame:
    """Of rows that reach back before their day, those of the day itself."""
    return rows.where(date_of(time) == F.col("day")).select("*")


def lag_at_commits(points: DataFrame, observed: DataFrame) -> DataFrame:
    """Commits with the lag that they left: the log end at their time minus the offset, or 0; null where not known.

    The end at a commit's time is read off between those seen before and after it: the one before alone would be the
    same for all commits until the next sample, and lag would seem to fall between any two samples.
    """
    in_time = Window.partitionBy(*PARTITION_KEY).orderBy("at")
    ends = observed.where(F.col("log_end_offset").isNotNull()).select(
        *PARTITION_KEY,
        F.col("observed_at").alias("at"),
        F.unix_millis("observed_at").alias("ms"),
        "log_end_offset",
        "log",
    )
    told = F.struct("ms", F.col("log_end_offset").alias("end"), "log").alias("told")
    spans = ends.select(*PARTITION_KEY, "at", F.lit(0).alias("kind"), told).select(
        *PARTITION_KEY, "at", "kind", F.struct("told", F.lead("told").over(in_time).alias("next")).alias("span")
    )
    events = points.select("*", F.col("commit_time").alias("at"), F.lit(1).alias("kind"))
    seen = F.last("span", ignorenulls=True).over(
        Window.partitionBy(*PARTITION_KEY).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, 0)
    )
    behind = _end_at("span", F.unix_millis("commit_time")) - F.col("committed_offset")
    return (
        events.unionByName(spans, allowMissingColumns=True)
        .withColumn("span", seen)
        .where(F.col("kind") == 1)
        # A null would be passed over by `greatest`.
        .select(*points.columns, F.when(behind.isNotNull(), F.greatest(F.lit(0), behind)).alias("commit_lag"))
    )


def _end_at(span: str, at_ms: Column) -> Column:
    """The log end then; as it was seen before, where the log was made anew since or nothing was seen after."""
    before, after = F.col(f"{span}.told"), F.col(f"{span}.next")
    grown, share = after["end"] - before["end"], (at_ms - before["ms"]) / (after["ms"] - before["ms"])
    is_one_log = surely((after["log"] == before["log"]) & (grown >= 0) & (after["ms"] > before["ms"]))
    return before["end"] + F.when(is_one_log, F.floor(grown * share)).otherwise(F.lit(0))
