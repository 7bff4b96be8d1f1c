"""How far a group is from losing records to the end of their keeping, and when it will."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import COMMIT_KEY

_GROUP_KEY: Final = ("day", "cluster_id", "group")
# The log start moves on by whole segments: over less than this one of them would look like a flood.
_LEAST_MS: Final = 3_600_000
_FRESH_MS: Final = 600_000


def worst_lags(lags: DataFrame) -> DataFrame:
    """Of a day's rows of lag_history, for each group: the longest time lag, the least margin, the least time left.

    `last_retention_margin` and the time left are of partitions that were seen within ten minutes before the group's
    last observation: others are past. The time left is until the log start passes a commit that has lag, if both go on
    as on that day: the margin over the difference of how fast they moved between the day's first and last observation,
    at least an hour apart. It is 0 where the log start has passed already, and null where it does not come closer.
    """
    told = F.struct(
        F.unix_millis("observed_at").alias("at"),
        F.col("log_start_offset").alias("start"),
        F.col("committed_offset").alias("committed"),
        "lag",
    )
    told = F.when(F.col("log_start_offset").isNotNull(), told)
    keys = lags.groupBy(*COMMIT_KEY).agg(
        F.max("time_lag_ms").alias("time_lag_ms"),
        F.min("retention_margin").alias("least"),
        F.min(told).alias("first"),
        F.max(told).alias("last"),
    )
    span = F.col("last.at") - F.col("first.at")
    consumed = F.greatest(F.lit(0), F.col("last.committed") - F.col("first.committed"))
    closer = F.col("last.start") - F.col("first.start") - consumed
    newest = F.max("last.at").over(Window.partitionBy(*_GROUP_KEY))
    margin = F.when(newest - F.col("last.at") <= _FRESH_MS, F.col("last.committed") - F.col("last.start"))
    is_behind = F.col("last.lag") > 0
    left = (
        F.when(is_behind & (F.col("margin") < 0), F.lit(0).cast("long"))
        .when(is_behind & (span >= _LEAST_MS) & (closer > 0), F.floor(F.col("margin") * span / closer).cast("long"))
        .alias("left")
    )
    return (
        keys.withColumn("margin", margin)
        .select(*_GROUP_KEY, "time_lag_ms", "least", "margin", left)
        .groupBy(*_GROUP_KEY)
        .agg(
            F.max("time_lag_ms").alias("max_time_lag_ms"),
            F.min("least").alias("retention_margin"),
            F.min("margin").alias("last_retention_margin"),
            F.min("left").alias("retention_left_ms"),
        )
        .select(*_GROUP_KEY, "max_time_lag_ms", "retention_margin", "last_retention_margin", "retention_left_ms")
    )
