"""How long each observation of a partition counts; build sums a group's partitions up in the same way."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_groups.pipeline.reporting.asking import FRESH_MS, PARTITION, Key, Period, Tables, among
from kafka_groups.pipeline.reporting.columns import is_removal
from kafka_groups.pipeline.tables import OFFSET_COMMITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def spans(tables: Tables, lags: DataFrame, *told: str, keys: Collection[Key] | None, since_ms: int) -> DataFrame:
    """Rows of lag_history, none older than `since_ms`, with the time that each counts for; `keys` are their groups.

    From `from_ms` until before `until_ms`: until the partition's next row, or its commit's removal, and for ten minutes
    at most. `removed_ms` is when the commit was removed, if that is what came next in the period.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rows = lags.select(*PARTITION, F.unix_millis("observed_at").alias("from_ms"), *told)
    removals = _removals(tables, keys, since_ms).withColumn("is_removal", F.expr("true"))
    both = rows.withColumn("is_removal", F.expr("false")).unionByName(removals, allowMissingColumns=True)
    in_order = Window.partitionBy(*PARTITION).orderBy("from_ms", "is_removal")
    following = F.lead(F.struct("from_ms", "is_removal")).over(in_order)
    # What was observed in the millisecond of its removal counts in that one.
    ended_ms = F.when(F.col("next").isNotNull(), F.greatest("next.from_ms", F.col("from_ms") + 1))
    return (
        both.select("*", following.alias("next"))
        .where(~F.col("is_removal"))
        .select(
            *PARTITION,
            "from_ms",
            F.least(ended_ms, F.col("from_ms") + FRESH_MS + 1).alias("until_ms"),
            F.when(F.col("next.is_removal"), F.col("next.from_ms")).alias("removed_ms"),
            *told,
        )
    )


def _removals(tables: Tables, keys: Collection[Key] | None, since_ms: int) -> DataFrame:
    """(*PARTITION, from_ms): those that were read. What samples miss for ten minutes counts no longer anyway."""
    from pyspark.sql import functions as F

    period = Period(since_ms, tables.period.until_ms)
    rows = tables.read(OFFSET_COMMITS, "commit_time", period=period).where(is_removal())
    rows = rows if keys is None else rows.where(among(keys))
    return rows.select(*PARTITION, F.unix_millis("commit_time").alias("from_ms"))
