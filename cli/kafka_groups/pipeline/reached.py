"""Until when each cluster was read, sampled and backfilled, and sentences about those that were not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.sentences import capital, of_cluster, spell
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMES: Final = {OFFSET_COMMITS: "commit_time", GROUP_EVENTS: "record_time", PARTITION_OFFSETS: "observed_at"}
_ORIGINS: Final = {
    OFFSET_COMMITS: ("topic", "sample"),
    GROUP_EVENTS: ("topic", "sample"),
    PARTITION_OFFSETS: ("sample", "backfill"),
}
_LATE_MS: Final = 600_000
# A cluster that is read has facts of yesterday or of today.
_NEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Reach:
    """The last time, in milliseconds since 1970, that a cluster's facts of each table and origin are of."""

    last_ms: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def of(self, table: Table, *origins: str) -> int | None:
        """None if there are no such facts."""
        keys = ((table.name, origin) for origin in origins)
        return max((self.last_ms[key] for key in keys if key in self.last_ms), default=None)

    @property
    def read_ms(self) -> int | None:
        """The last record of `__consumer_offsets`."""
        times = (self.of(OFFSET_COMMITS, "topic"), self.of(GROUP_EVENTS, "topic"))
        return max((at_ms for at_ms in times if at_ms is not None), default=None)

    @property
    def sampled_ms(self) -> int | None:
        """The last sample of log ends."""
        return self.of(PARTITION_OFFSETS, "sample")


def reached(
    spark: SparkSession, storage: Storage, clusters: Collection[str] = (), *, until_ms: int | None = None
) -> dict[str, Reach]:
    """By cluster: those of `clusters`, and those that the newest dates have facts of; later facts are left out."""
    from pyspark.sql import functions as F

    found: dict[str, dict[tuple[str, str], int]] = {cluster: {} for cluster in clusters}
    dates = sorted({day for table in _TIMES for day in storage.format.dates(table.name)})
    if not dates:
        return {cluster: Reach() for cluster in found}
    begin = dates[-_NEWEST:][0]
    is_new, is_old = F.col("date") >= F.lit(begin).cast("date"), F.col("date") < F.lit(begin).cast("date")
    _fill(found, [_newest(storage.read(spark, table).where(is_new), table, until_ms) for table in _TIMES])
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

    at_ms = F.unix_millis(_TIMES[table])
    facts = facts if until_ms is None else facts.where(at_ms <= until_ms)
    told = facts.groupBy("cluster_id", "origin").agg(F.max(at_ms).alias("last_ms"))
    return told.select("cluster_id", F.lit(table.name).alias("table"), "origin", "last_ms")


def _fill(found: dict[str, dict[tuple[str, str], int]], parts: Collection[DataFrame]) -> None:
    if not parts:
        return
    for row in reduce(lambda one, other: one.unionByName(other), parts).collect():
        found.setdefault(row["cluster_id"], {})[row["table"], row["origin"]] = row["last_ms"]


def commits_missing(reach: Mapping[str, Reach], so: str) -> Iterator[str]:
    """Sentences about clusters of which no commit was read; `so` says what follows from that."""
    told = f"no commits were read from __consumer_offsets: {so}."
    return lacking(reach, told, (OFFSET_COMMITS, "topic"))


def lacking(reach: Mapping[str, Reach], told: str, *facts: tuple[Table, str]) -> Iterator[str]:
    """The sentence `told`, once if no cluster has any such facts, of a table and an origin, else of each without."""
    without = [
        cluster
        for cluster, each in sorted(reach.items())
        if all(each.of(table, origin) is None for table, origin in facts)
    ]
    if len(without) == len(reach):
        yield capital(told)
    else:
        yield from (of_cluster(told, cluster, reach) for cluster in without)


def behind(reach: Mapping[str, Reach]) -> Iterator[str]:
    """Sentences about clusters of which samples are known of ten minutes after the last record, or more."""
    for cluster, each in sorted(reach.items()):
        read_ms, sampled_ms = each.read_ms, each.sampled_ms
        if read_ms is not None and sampled_ms is not None and sampled_ms - read_ms > _LATE_MS:
            told = (
                f"the last record that was read from __consumer_offsets is of {spell(read_ms)}, the last sample of "
                f"{spell(sampled_ms)}: commits in between are known from samples only, until ingest runs again."
            )
            yield of_cluster(told, cluster, reach)
