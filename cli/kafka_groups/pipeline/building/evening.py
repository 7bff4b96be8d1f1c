"""Whether a date is told otherwise by what came on the next: a rebalance that begins on it may end after midnight."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from typing import TYPE_CHECKING, Any

from kafka_groups.pipeline.tables import REBALANCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def told_otherwise(made: DataFrame, had: DataFrame, days: Collection[date]) -> list[date]:
    """Those of `days` whose rebalances are others, as they are made now, than in the table: nothing else can change."""
    if not days:
        return []
    now, before = _sums(made, days), _sums(had, days)
    return [day for day in days if now.get(day) != before.get(day)]


def _sums(rows: DataFrame, days: Collection[date]) -> dict[date, Any]:
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.steps.horizon import date_of

    names = [column.name for column in REBALANCES.columns]
    told = rows.select(date_of(REBALANCES.dated_by).alias("on"), F.xxhash64(*names).alias("hash"))
    summed = told.where(F.col("on").isin([*days])).groupBy("on").agg(F.count("*").alias("rows"), F.bit_xor("hash"))
    return {row["on"]: tuple(row)[1:] for row in summed.collect()}
