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
        F.coalesce("tombstone", F.col("committed_offset").isNull()).alias("tombstone"),
        "source_offset",
        "committed_offset",
    ).distinct()


def moves(points: DataFrame) -> DataFrame:
    """How far each commit moved on from the one before it (null for the first that is known, and after a removal).

    `is_commit` tells records from samples that saw what was there before; a removal is neither.
    """
    sequence = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("commit_time"))
    moved = F.col("committed_offset") - F.lag("committed_offset").over(sequence)
    is_made = ~F.col("tombstone")
    is_record = F.col("origin") == "topic"
    return points.select("*", moved.alias("moved")).select(
        *COMMIT_KEY,
        "commit_time",
        "source_offset",
        "tombstone",
        F.when(is_made, F.col("moved")).alias("moved"),
        F.when(is_made, is_record | surely(F.col("moved") != 0)).alias("is_commit"),
        F.when(is_made, is_record).alias("is_record"),
    )
