"""Commits as the other steps take them: each once, whatever was read twice."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, surely


def order_of(*first: str) -> list[Column]:
    """Commits in time; a sample comes before a record of the same time, and records as they stand in the log."""
    return [*(F.col(name) for name in first), F.col("source_offset").asc_nulls_first()]


def commit_points(offset_commits: DataFrame) -> DataFrame:
    """Each commit or removal once. Replayed records are equal in all that stands here, so equal rows are one."""
    return offset_commits.select(
        *COMMIT_KEY,
        "origin",
        "commit_time",
        is_removal().alias("tombstone"),
        "source_offset",
        F.when(~is_removal(), F.col("committed_offset")).alias("committed_offset"),
    ).distinct()


def is_removal() -> Column:
    """Whether a row of offset_commits ends what was committed: brokers take -1 for an offset, and call it none."""
    return surely(F.col("tombstone")) | ~surely(F.col("committed_offset") >= 0)


def moves(points: DataFrame) -> DataFrame:
    """How far each commit moved on from the one before it (null for the first that is known, and after a removal).

    Between records samples tell nothing new, and the sampler's clock is another one: they have moved by 0.
    `is_commit` tells records from samples that saw what was there before; a removal is neither. `is_read` is whether
    a row, also a removal, is a record.
    """
    is_read = F.col("origin") == "topic"
    of_key = Window.partitionBy(*COMMIT_KEY)
    before = of_key.orderBy(*order_of("commit_time")).rowsBetween(Window.unboundedPreceding, -1)
    told = points.select(
        "*",
        is_read.alias("is_read"),
        F.last(F.when(is_read, ~F.col("tombstone")), ignorenulls=True).over(before).alias("is_told"),
        F.max(F.when(is_read, F.col("commit_time"))).over(of_key).alias("last_read"),
    )
    is_between = surely(F.col("is_told") & (F.col("commit_time") <= F.col("last_read")))
    told = told.select("*", (~F.col("is_read") & ~F.col("tombstone") & is_between).alias("is_idle"))
    offset = F.when(~F.col("is_idle"), F.struct("committed_offset"))
    last = F.last(offset, ignorenulls=True).over(before)["committed_offset"]
    moved = F.when(F.col("is_idle"), F.lit(0)).otherwise(F.col("committed_offset") - last)
    is_made = ~F.col("tombstone")
    return told.select("*", moved.alias("moved")).select(
        *COMMIT_KEY,
        "commit_time",
        "source_offset",
        "tombstone",
        "is_read",
        F.when(is_made, F.col("moved")).alias("moved"),
        F.when(is_made, F.col("is_read") | surely(F.col("moved") != 0)).alias("is_commit"),
        F.when(is_made, F.col("is_read")).alias("is_record"),
    )
