"""How groups came to where they stand: their lag over time, since when they are behind, their rebalances."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from kafka_groups.history import LagPoint, Rebalance
from kafka_groups.pipeline.reporting.asking import FRESH_MS, GROUP, Key, Tables, among
from kafka_groups.pipeline.reporting.spans import spans
from kafka_groups.pipeline.tables import GROUP_STATUS, LAG_HISTORY, REBALANCES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_POINTS: Final = 1_000
# Samples are seldom nearer to each other.
_BUCKET_MS: Final = 60_000
# Build looks at a rebalance until the end of the day after it began.
_DAYS_OF_A_REBALANCE: Final = 2


def points(tables: Tables, keys: Collection[Key]) -> dict[Key, list[LagPoint]]:
    """At most a thousand a group: of each stretch of time the one with the highest lag.

    Where nothing is known for longer, a point without a lag stands between them: no line is to be drawn there.
    """
    from pyspark.sql import functions as F

    period = tables.period
    stretch = max(1, -(-(period.until_ms - period.since_ms + 1) // _POINTS))
    place = F.floor((F.col("at_ms") - period.since_ms) / stretch)
    kept = _sums(tables, keys).groupBy(*GROUP, place.alias("place")).agg(F.max(F.struct("lag", "at_ms")).alias("kept"))
    kept = kept.select(*GROUP, "kept.*")
    # A row can only meet the points of a few buckets: it counts for ten minutes at most.
    size = max(stretch, _BUCKET_MS)
    bucket = F.floor(F.col("at_ms") / size).alias("bucket")
    buckets = F.sequence(F.floor(F.col("from_ms") / size), F.floor((F.col("until_ms") - 1) / size))
    spread = _spans(tables, keys).select("*", F.explode(buckets).alias("bucket"))
    longest = (
        kept.select("*", bucket)
        .join(spread.drop("lag"), [*GROUP, "bucket"], "left")
        .where(F.col("from_ms").isNull() | F.col("at_ms").between(F.col("from_ms"), F.col("until_ms") - 1))
        .groupBy(*GROUP, "at_ms")
        .agg(F.max("time_lag_ms").alias("time_lag_ms"))
    )
    told = kept.join(longest, [*GROUP, "at_ms"], "left").orderBy("at_ms")
    found: dict[Key, list[LagPoint]] = {}
    for row in told.collect():
        point = LagPoint(row["at_ms"], row["lag"], row["time_lag_ms"])
        known = found.setdefault((row["cluster_id"], row["group"]), [])
        # Two points of neighbouring stretches may be nearly two stretches apart.
        if known and point.at_ms - known[-1].at_ms > max(FRESH_MS, 2 * stretch):
            known.append(LagPoint(known[-1].at_ms + FRESH_MS, None, None))
        known.append(point)
    return found


def behind_since(tables: Tables, keys: Collection[Key]) -> dict[Key, tuple[int, bool]]:
    """Since when groups have had a lag, and whether that is only a bound.

    It is one where nothing shows them without a lag before, or only what is older than ten minutes then.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    times = _sums(tables, keys).select(*GROUP, "at_ms", (F.col("lag") == 0).alias("is_caught_up"))
    in_group = Window.partitionBy(*GROUP)
    told = (
        times.select(*GROUP, "at_ms", F.max(F.when(F.col("is_caught_up"), F.col("at_ms"))).over(in_group).alias("last"))
        .where(F.col("last").isNull() | (F.col("at_ms") > F.col("last")))
        .groupBy(*GROUP)
        .agg(F.min("at_ms").alias("since_ms"), F.max("last").alias("last"))
    )
    found = {}
    for row in told.collect():
        is_bound = row["last"] is None or row["since_ms"] - row["last"] > FRESH_MS
        found[row["cluster_id"], row["group"]] = (row["since_ms"], is_bound)
    return found


def rebalances(tables: Tables, keys: Collection[Key]) -> dict[Key, list[Rebalance]]:
    """Those that began or ended in the period, ascending by their begin, which of classic groups is only a bound."""
    from pyspark.sql import functions as F

    rows = turns(tables).where(among(keys))
    times = (F.unix_millis("started_at").alias("started_ms"), F.unix_millis("ended_at").alias("ended_ms"))
    found: dict[Key, list[Rebalance]] = {}
    for row in rows.select("*", *times).orderBy("started_ms", "generation").collect():
        found.setdefault((row["cluster_id"], row["group"]), []).append(
            Rebalance(
                started_ms=row["started_ms"],
                ended_ms=row["ended_ms"],
                duration_ms=row["duration_ms"],
                duration_quality=row["duration_quality"],
                generation=row["generation"],
                joined=_count(row["joined"]),
                left=_count(row["left"]),
            )
        )
    return found


def turns(tables: Tables) -> DataFrame:
    """Rows of rebalances that began or ended in the period."""
    from pyspark.sql import functions as F

    rows = tables.read(REBALANCES, "started_at", period=tables.period.with_days_before(_DAYS_OF_A_REBALANCE))
    return rows.where(F.unix_millis(F.coalesce("ended_at", "started_at")) >= tables.period.since_ms)


def _count(members: Sequence[str] | None) -> int | None:
    """Nobody knows is not nobody."""
    return None if members is None else len(members)


def _sums(tables: Tables, keys: Collection[Key]) -> DataFrame:
    """The groups' lag at each time; build lets each partition count as last seen within ten minutes."""
    from pyspark.sql import functions as F

    rows = tables.read(GROUP_STATUS, "evaluated_at").where(F.col("topic").isNull() & among(keys))
    return rows.select(*GROUP, F.unix_millis("evaluated_at").alias("at_ms"), "lag")


def _spans(tables: Tables, keys: Collection[Key]) -> DataFrame:
    """The partitions' rows, those that were carried into the period, too, each with the time that it counts for."""
    period = tables.period.with_carried()
    rows = tables.read(LAG_HISTORY, "observed_at", period=period).where(among(keys))
    counting = spans(tables, rows, "lag", "time_lag_ms", keys=keys, since_ms=period.since_ms)
    return counting.select(*GROUP, "from_ms", "until_ms", "lag", "time_lag_ms")
