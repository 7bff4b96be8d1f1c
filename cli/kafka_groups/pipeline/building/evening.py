"""Whether a date is told otherwise by what came on the next: a rebalance that begins on it may end after midnight."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, REBALANCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_told_otherwise(spark: SparkSession, storage: Storage, day: date) -> bool:
    """Whether the facts of today make other rebalances of `day` than the table has. Nothing else of it can change."""
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.steps.rebalances import rebalances

    events = storage.read(spark, GROUP_EVENTS)
    had = storage.read(spark, REBALANCES).where(F.col("date") == day)
    return _sum(rebalances(events, [day])) != _sum(had)


def _sum(rows: DataFrame) -> tuple[int, int | None]:
    from pyspark.sql import functions as F

    names = [column.name for column in REBALANCES.columns]
    found = rows.select(F.xxhash64(*names).alias("hash")).agg(F.count("*"), F.bit_xor("hash")).collect()[0]
    return found[0], found[1]
