"""Lag: the last commit at each time that a log end is known for."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import order_of
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, date_of, surely

_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset")


def observations(partition_offsets: DataFrame) -> DataFrame:
    """Each partition's log once for each time; a sample is believed before a backfill of the same time.

    `log` counts the times that samples saw the log end fall: from then on it is another log, made anew.
    """
    told = ("origin", *_OFFSETS, "point_offset", "point_time")
    once = partition_offsets.groupBy(*PARTITION_KEY, "observed_at").agg(F.max(F.struct(*told)).alias("told"))
    sampled = F.when(F.col("origin") == "sample", F.col("log_end_offset"))
    in_time = Window.partitionBy(*PARTITION_KEY).orderBy("observed_at")
    before = F.last(sampled, ignorenulls=True).over(in_time.rowsBetween(Window.unboundedPreceding, -1))
    return (
        once.select(*PARTITION_KEY, "observed_at", "told.*")
        .withColumn("fell", surely(sampled < before).cast("int"))
        .select(*PARTITION_KEY, "observed_at", *told, F.sum("fell").over(in_time).alias("log"))
    )


def lag(observed: DataFrame, points: DataFrame, *, since_ms: int) -> DataFrame:
    """A row for each observation and each group that had a commit on the partition then, `since_ms` before the day.

    The commit is the last one at or before the observation (what was committed later never counts); from a removal on
    there is no row until the next commit.
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
    known = F.last(F.when(F.col("kind") == 0, commit), ignorenulls=True).over(
        Window.partitionBy(*COMMIT_KEY)
        .orderBy(*order_of("at", "kind"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        events.withColumn("known", known)
        .where((F.col("kind") == 1) & ~F.col("known.tombstone"))
        .select(
            *COMMIT_KEY,
            "observed_at",
            "origin",
            "known.committed_offset",
            "known.commit_time",
            "known.commit_origin",
            *_OFFSETS,
            "log",
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
