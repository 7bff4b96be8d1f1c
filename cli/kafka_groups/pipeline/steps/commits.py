"""Commits as the other steps take them: each once, whatever was read twice."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

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


def alive(points: DataFrame) -> DataFrame:
    """The last commit of each key at its day's end; keys whose commit was removed are left out."""
    newest = Window.partitionBy(*COMMIT_KEY).orderBy(*(column.desc() for column in _columns_of_order()))
    return (
        points.withColumn("place", F.row_number().over(newest))
        .where((F.col("place") == 1) & ~F.col("tombstone"))
        .select(*COMMIT_KEY, "origin", "commit_time", "committed_offset")
    )


def moves(points: DataFrame) -> DataFrame:
    """How far each commit moved on from the one before it (null for the first that is known, and after a removal).

    `is_commit` tells records from samples that saw what was there before.
    """
    sequence = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("commit_time"))
    before = F.lag("committed_offset").over(sequence)
    moved = F.col("committed_offset") - before
    return (
        points.select("*", moved.alias("moved"))
        .where(~F.col("tombstone"))
        .select(
            *COMMIT_KEY,
            "commit_time",
            "moved",
            ((F.col("origin") == "topic") | surely(F.col("moved") != 0)).alias("is_commit"),
            (F.col("origin") == "topic").alias("is_record"),
        )
    )


def _columns_of_order() -> list[Column]:
    return [F.col("commit_time"), F.coalesce(F.col("source_offset"), F.lit(-1))]
