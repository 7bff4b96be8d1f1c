"""Time lag: the age of the oldest record that is not yet processed, which is the one at the committed offset.

The index of a partition says when its offsets were written. It is made of points: a backfilled record with its own
time (exact), and log ends that were seen at a time, which mean that the record at that offset came later, and all
before it earlier. Lag is read off between the two points around the committed offset, never outside.

Where a log starts, a backfill cannot tell what was never written from what is deleted: it calls the first record that
is kept the log's end of all times before. Such an end bounds nothing.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import PARTITION_KEY, surely

_LOG: Final = (*PARTITION_KEY, "log")


def index_points(observed: DataFrame) -> DataFrame:
    """A point for each offset: its record's own time where known, the last time it was the end, the first time too.

    `seen` is the first time that a sample saw it as the end, `start` where samples saw the log start meanwhile.
    """
    ends = observed.select(
        *_LOG,
        F.col("log_end_offset").alias("offset"),
        F.unix_millis("observed_at").alias("time"),
        F.lit(None).cast("long").alias("exact"),
        F.when(F.col("origin") == "sample", F.unix_millis("observed_at")).alias("seen"),
        F.col("log_start_offset").alias("start"),
    )
    records = observed.select(
        *_LOG,
        F.col("point_offset").alias("offset"),
        F.unix_millis("point_time").alias("time"),
        F.unix_millis("point_time").alias("exact"),
    )
    return (
        ends.unionByName(records, allowMissingColumns=True)
        .where(F.col("offset").isNotNull() & F.col("time").isNotNull())
        .groupBy(*_LOG, "offset")
        .agg(
            F.min("exact").alias("exact"),
            F.max("time").alias("latest"),
            F.min("time").alias("earliest"),
            F.min("seen").alias("seen"),
            F.max("start").alias("start"),
        )
        .select(*_LOG, "offset", "exact", "latest", "earliest", "seen", "start")
    )


def time_lag(lags: DataFrame, points: DataFrame) -> DataFrame:
    """`lags` with `time_lag_ms` and `time_lag_quality`.

    exact: nothing is left to process (0), or the record's own time is known. interpolated: linear between two points.
    lower_bound: written before the oldest point; or 0, at a last stable offset before the log end. data_loss: committed
    below the log start; the value is a lower bound, too. unknown: no point tells anything; the value is null. A record
    whose own time is later than the observation has none that counts. Never negative.
    """
    events = lags.select("*", F.col("committed_offset").alias("offset"), F.lit(1).alias("kind")).unionByName(
        _beside(points), allowMissingColumns=True
    )
    up = Window.partitionBy(*_LOG).orderBy("offset", "kind").rowsBetween(Window.unboundedPreceding, 0)
    whole = Window.partitionBy(*_LOG)
    is_first = F.col("point").isNull()
    return (
        events.withColumn("lowest", F.min("there").over(whole))
        .withColumn("kept_from", F.max("start").over(whole))
        .withColumn("point", F.last("point", ignorenulls=True).over(up))
        .where(F.col("kind") == 1)
        .withColumn("previous", F.col("point.here"))
        .withColumn("next", F.when(is_first, F.col("lowest")).otherwise(F.col("point.next")))
        .withColumn("now", F.unix_millis("observed_at"))
        .withColumn("least", _least_age())
        .withColumn("written", _written())
        .withColumn("time_lag_quality", _quality())
        .select(*lags.columns, _age().alias("time_lag_ms"), "time_lag_quality")
    )


def _beside(points: DataFrame) -> DataFrame:
    """Points with what there is to say of them and of the `next` one, as a reading between two needs it."""
    here = F.struct("offset", "exact", F.coalesce("exact", "latest").alias("time"))
    there = F.struct("offset", F.col("earliest").alias("time"), F.least("exact", "seen").alias("certain"))
    following = F.lead("there").over(Window.partitionBy(*_LOG).orderBy("offset"))
    told = points.select(*_LOG, "offset", "start", here.alias("here"), there.alias("there"))
    point = F.struct("here", following.alias("next"))
    return told.select(*_LOG, "offset", "start", "there", point.alias("point"), F.lit(0).alias("kind"))


def _quality() -> Column:
    committed, previous = F.col("committed_offset"), F.col("previous")
    is_told = surely(F.col("written") <= F.col("now"))
    return (
        F.when(_is_done(), "exact")
        .when(_is_at_stable(), "lower_bound")
        .when(surely(committed < F.col("log_start_offset")), "data_loss")
        .when(is_told & (previous["offset"] == committed) & previous["exact"].isNotNull(), "exact")
        .when(is_told, "interpolated")
        .when(F.col("least").isNotNull(), "lower_bound")
        .otherwise("unknown")
    )


def _is_done() -> Column:
    return F.col("committed_offset") >= F.col("log_end_offset")


def _is_at_stable() -> Column:
    """Nothing is left for who reads committed records alone, and nobody knows whether this group does."""
    return surely(F.col("committed_offset") == F.col("last_stable_offset"))


def _written() -> Column:
    """When the record at the committed offset was written; null where no point, or none after it, tells.

    Records have the times that producers gave them. Where those go back from a point to the next, nothing can be read
    off between the two; and a time that is yet to come is none.
    """
    previous, following = F.col("previous"), F.col("next")
    steps = (F.col("committed_offset") - previous["offset"]) / (following["offset"] - previous["offset"])
    between = previous["time"] + F.round((following["time"] - previous["time"]) * steps).cast("long")
    at_point = F.when(previous["offset"] == F.col("committed_offset"), previous["time"])
    return F.coalesce(at_point, F.when(previous["time"] <= following["time"], between))


def _least_age() -> Column:
    """What has passed since the next point, as all records before it were written earlier; null where nothing has."""
    now, following, kept_from = F.col("now"), F.col("next"), F.col("kept_from")
    written_before = (
        F.when(following["offset"] > kept_from, following["time"])
        .when(following["offset"] <= kept_from, following["certain"])
        .otherwise(F.coalesce(following["certain"], following["time"]))
    )
    return F.when(written_before < now, now - written_before)


def _age() -> Column:
    now, quality = F.col("now"), F.col("time_lag_quality")
    return (
        F.when(_is_done() | _is_at_stable(), F.lit(0).cast("long"))
        .when(quality.isin("data_loss", "lower_bound"), F.col("least"))
        .when(quality.isin("exact", "interpolated"), now - F.col("written"))
    )
