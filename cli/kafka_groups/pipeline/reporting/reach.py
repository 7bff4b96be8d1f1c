"""Until when each cluster was read, sampled and backfilled, from the newest facts and as few older ones as possible."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.reached import TIMES, Reach
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ORIGINS: Final = {
    OFFSET_COMMITS: ("topic", "sample"),
    GROUP_EVENTS: ("topic", "sample"),
    PARTITION_OFFSETS: ("sample", "backfill"),
}
# A cluster that is read has facts of yesterday or of today.
_NEWEST: Final = 2


def reached(
    spark: SparkSession, storage: Storage, clusters: Collection[str] = (), *, until_ms: int | None = None
) -> dict[str, Reach]:
    """By cluster: those of `clusters`, and those that the newest dates have facts of; later facts are left out."""
    from pyspark.sql import functions as F

    found: dict[str, dict[tuple[str, str], int]] = {cluster: {} for cluster in clusters}
    dates = sorted({day for table in TIMES for day in storage.dates(table)})
    if not dates:
        return {cluster: Reach() for cluster in found}
    begin = dates[-_NEWEST:][0]
    is_new, is_old = F.col("date") >= F.lit(begin).cast("date"), F.col("date") < F.lit(begin).cast("date")
    _fill(found, [_newest(storage.read(spark, table).where(is_new), table, until_ms) for table in TIMES])
    older = []
    for table, origins in _ORIGINS.items() if begin != dates[0] else ():
        lacking = [
            (F.col("cluster_id") == cluster) & (F.col("origin") == origin)
            for cluster, told in sorted(found.items())
            for origin in origins
            if (table.name, origin) not in told
        ]
        if lacking:
            # Files are of one cluster and origin, as a rule, and say so: most are not read for this.
            sought = reduce(lambda one, other: one | other, lacking)
            older.append(_newest(storage.read(spark, table).where(is_old & sought), table, until_ms))
    _fill(found, older)
    return {cluster: Reach(told) for cluster, told in found.items()}


def _newest(facts: DataFrame, table: Table, until_ms: int | None) -> DataFrame:
    from pyspark.sql import functions as F

    at_ms = F.unix_millis(TIMES[table])
    facts = facts if until_ms is None else facts.where(at_ms <= until_ms)
    told = facts.groupBy("cluster_id", "origin").agg(F.max(at_ms).alias("last_ms"))
    return told.select("cluster_id", F.lit(table.name).alias("table"), "origin", "last_ms")


def _fill(found: dict[str, dict[tuple[str, str], int]], parts: Collection[DataFrame]) -> None:
    if not parts:
        return
    for row in reduce(lambda one, other: one.unionByName(other), parts).collect():
        found.setdefault(row["cluster_id"], {})[row["table"], row["origin"]] = row["last_ms"]
