"""Lag: the last commit at each time that a log end is known for."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import order_of
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, GONE_AFTER_MS, PARTITION_KEY, date_of, surely
from kafka_groups.pipeline.steps.observations import OFFSETS

# Producers' clocks are others than ours: so far ahead they may be.
_CLOCKS_MS: Final = 60_000


def lag(observed: DataFrame, points: DataFrame, *, since_ms: int) -> DataFrame:
    """A row for each observation and each group that had a commit on the partition then, `since_ms` before the day.

    The commit is the last one at or before the observation (what was committed later never counts); from a removal on
    there is no row until the next commit. A sample that would be left with a commit beyond its log end was taken by
    another clock: then the commit is the one that the sample itself saw. Nor is a backfill's end believed that is below
    the commit because its record was read before the time that it bears: by more than clocks differ, it is of no log
    end. `removals` counts those before the row.
    """
    commit = F.struct("commit_time", "commit_origin", "committed_offset", "tombstone")
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
        _in_turn(observed, points, since_ms)
        .withColumn("last", last)
        .withColumn("sampled", sampled)
        .withColumn("removals", F.count(F.when(F.col("tombstone"), 1)).over(so_far))
        .where((F.col("kind") == 1) & ~F.col("last.tombstone"))
        .withColumn("known", known)
        .where(~_is_ahead())
        .select(
            *COMMIT_KEY,
            "observed_at",
            "origin",
            "known.committed_offset",
            "known.commit_time",
            "known.commit_origin",
            *OFFSETS,
            "log",
            "removals",
            (F.col("log_end_offset") - F.col("known.committed_offset")).alias("lag"),
            (F.col("known.committed_offset") - F.col("log_start_offset")).alias("retention_margin"),
        )
    )


def _is_ahead() -> Column:
    """Whether the record that tells the log end has a timestamp of later than when it was read."""
    is_read = F.col("known.committed_offset") > F.col("log_end_offset")
    by_ms = F.unix_millis("point_time") - F.unix_millis("observed_at")
    return surely((F.col("origin") == "backfill") & is_read & (by_ms > _CLOCKS_MS))


def _in_turn(observed: DataFrame, points: DataFrame, since_ms: int) -> DataFrame:
    """Commits (`kind` 0) and, of groups that have some there, observations (`kind` 1), with their `at`."""
    recent = observed.where(F.unix_millis("observed_at") >= F.unix_date("day").cast("long") * DAY_MS - since_ms)
    readers = points.select(*COMMIT_KEY).distinct()
    looked = recent.where(F.col("log_end_offset").isNotNull()).join(readers, list(PARTITION_KEY))
    told = points.select(
        *COMMIT_KEY,
        F.col("commit_time").alias("at"),
        F.lit(0).alias("kind"),
        "commit_time",
        F.col("origin").alias("commit_origin"),
        "committed_offset",
        "tombstone",
        "source_offset",
    )
    return told.unionByName(
        looked.withColumn("at", F.col("observed_at")).withColumn("kind", F.lit(1)), allowMissingColumns=True
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
