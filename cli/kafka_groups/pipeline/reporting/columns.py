"""Conditions on rows of tables, as Spark takes them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from kafka_groups.pipeline.reporting.asking import DAY_MS
from kafka_groups.pipeline.tables import OFFSETS_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def date_of(time: str) -> Column:
    """Return the UTC date of a time, in any time zone of the session."""
    from pyspark.sql import functions as F

    return F.date_from_unix_date(F.floor(F.unix_millis(time) / DAY_MS).cast("int"))


def is_removal() -> Column:
    """Return whether a row of offset_commits removes a commit. Brokers accept the offset -1, and report none."""
    from pyspark.sql import functions as F

    is_commit = F.coalesce(F.col("committed_offset") >= 0, F.expr("false"))
    return F.coalesce(F.col("tombstone"), F.expr("false")) | ~is_commit


def is_whole() -> Column:
    """Return whether the rows of a run of partition_offsets are complete: every coordinator has listed its groups.

    The partitions of the offsets topic show it; without permission to describe it, all partitions need a log end.
    """
    from pyspark.sql import functions as F

    is_known, is_coordinator = F.col("log_end_offset").isNotNull(), F.col("topic") == OFFSETS_TOPIC
    return F.coalesce(F.min(F.when(is_coordinator, is_known)), F.min(is_known))


def has_no_rebalances() -> Column:
    """Return whether an event is of a share or streams group, of which rebalances are not derived."""
    from pyspark.sql import functions as F

    kind = F.coalesce("group_type", "type")
    return kind.startswith("Share") | kind.startswith("Streams")


def newest_days(*days: DataFrame) -> DataFrame:
    """Return (cluster_id, date): the newest day of each cluster in any of these tables of days."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    every = reduce(DataFrame.unionByName, (rows.select("cluster_id", "date") for rows in days))
    return every.groupBy("cluster_id").agg(F.max("date").alias("date"))
