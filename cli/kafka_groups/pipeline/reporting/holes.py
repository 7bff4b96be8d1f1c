"""What the tables do not hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.left_out import left_out
from kafka_groups.pipeline.reached import behind, commits_missing
from kafka_groups.pipeline.reporting.asking import FRESH_MS, Key, Tables, Wanted, among
from kafka_groups.pipeline.reporting.standing import Roster
from kafka_groups.pipeline.sentences import capital, of_cluster, spell
from kafka_groups.pipeline.tables import INGEST_GAPS, LAG_HISTORY, TOPIC_DAILY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

_HOUR_MS: Final = 3_600_000
_NOTHING: Final = "the tables have no lag for this period; run sample or backfill, then build."
_SAMPLED: Final = (
    "the tables have no lag for this period, although log end offsets were sampled: no group had a commit then, or "
    "build has not run since."
)


def gaps(tables: Tables, known: Roster) -> tuple[str, ...]:
    """What was found missing in `__consumer_offsets`: deletions, the largest first, and what else there is in all.

    Where there are several clusters, it is said of which one.
    """
    from pyspark.sql import functions as F

    rows = _told_once(tables.read(INGEST_GAPS, "found_at"))
    deleted = rows.where(F.col("reason") == "deleted")
    found = deleted.orderBy(F.desc("missing"), "source_partition", "from_offset").collect()
    others = rows.where(F.col("reason") != "deleted").groupBy("cluster_id").agg(F.sum("missing").alias("missing"))
    told = [(row, _gap(row)) for row in found]
    told += [(row, _thinned(row["missing"])) for row in others.orderBy("cluster_id").collect()]
    return tuple(dict.fromkeys(of_cluster(sentence, row["cluster_id"], known.reach) for row, sentence in told))


def missing(tables: Tables, known: Roster, judged: Collection[Key] | None) -> tuple[str, ...]:
    """Sentences about what no table holds; `judged` are the groups whose lag is known, None if that is all of them.

    Where there are several clusters, they say of which one they are.
    """
    if not known.evaluated_ms and len(known.reach) != 1:
        return (capital(_NOTHING),)
    without = (
        of_cluster(_SAMPLED if _is_sampled(known, one, tables.period.since_ms) else _NOTHING, one, known.reach)
        for one in sorted(known.reach)
        if one not in known.evaluated_ms
    )
    if not known.evaluated_ms:
        return tuple(without)
    commits = commits_missing(known.reach, "verdicts are derived from samples, and rebalances are unknown")
    return (*without, *_ended(tables, known), *_of_lag(tables, known, judged), *commits, *behind(known.reach))


def unseen(tables: Tables, wanted: Wanted) -> list[str]:
    """Groups of which no row tells any more, as of the day that was built last."""
    from pyspark.sql import functions as F

    dates = tables.storage.dates(TOPIC_DAILY)
    until = datetime.fromtimestamp(tables.period.until_ms / 1_000, UTC).date().isoformat()
    if len(dates) < 2 or dates[-1] > until:  # noqa: PLR2004 - of one day nothing is left out
        return []
    rows = tables.storage.read(tables.spark, TOPIC_DAILY).where(F.col("date") == dates[-1])
    built = rows.select(F.max("lookback_days").alias("lookback_days")).collect()[0]
    return left_out(tables.storage, built["lookback_days"] or 0, is_wanted=wanted.has)


def _told_once(gaps: DataFrame) -> DataFrame:
    """Ranges without what others of their reason told before: a topic that is read anew is cut otherwise.

    What was made anew itself, with its offsets from 0, is not told apart: an offset that both logs lack counts once.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    in_order = Window.partitionBy("cluster_id", "source_partition", "reason").orderBy(
        "from_offset", F.desc("until_offset"), "found_at"
    )
    told = F.max("until_offset").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    start = F.greatest("from_offset", told + 1)
    return (
        gaps.select("*", start.alias("start"))
        .where(F.col("start") <= F.col("until_offset"))
        .select(
            "cluster_id",
            "source_partition",
            F.col("start").alias("from_offset"),
            "until_offset",
            F.least("missing", F.col("until_offset") - F.col("start") + 1).alias("missing"),
            "reason",
        )
    )


def _ended(tables: Tables, known: Roster) -> Iterator[str]:
    """Clusters whose lag is not known for the last ten minutes of the period."""
    for cluster, newest in sorted(known.evaluated_ms.items()):
        if tables.period.until_ms - newest > FRESH_MS:
            is_sampled = _is_sampled(known, cluster, tables.period.until_ms - FRESH_MS)
            nothing = "no group has had a commit" if is_sampled else "nothing was sampled"
            told = f"{nothing} since {spell(newest)}, or build has not run since: lag and verdicts are as of then."
            yield of_cluster(told, cluster, known.reach)


def _is_sampled(known: Roster, cluster: str, since_ms: int) -> bool:
    sampled_ms = known.reach[cluster].sampled_ms if cluster in known.reach else None
    return sampled_ms is not None and sampled_ms >= since_ms


def _of_lag(tables: Tables, known: Roster, judged: Collection[Key] | None) -> Iterator[str]:
    from pyspark.sql import functions as F

    rows = tables.read(LAG_HISTORY, "observed_at")
    seen = (
        (rows if judged is None else rows.where(among(judged)))
        .groupBy("cluster_id")
        .agg(
            F.min(F.unix_millis("observed_at")).alias("first"),
            F.count(F.when(F.col("time_lag_quality") == "unknown", 1)).alias("unknown"),
        )
        .orderBy("cluster_id")
        .collect()
    )
    for row in seen:
        if row["first"] - tables.period.since_ms > _HOUR_MS:
            told = f"no log end offsets are known before {spell(row['first'])}: lag begins there."
            yield of_cluster(told, row["cluster_id"], known.reach)
        if row["unknown"]:
            count = row["unknown"]
            many, them = ("1 observation", "it") if count == 1 else (f"{count:,} observations", "them")
            told = f"the time lag of {many} is unknown: no log end offset is known before {them}."
            yield of_cluster(told, row["cluster_id"], known.reach)


def _gap(row: Row) -> str:
    return (
        f"partition {row['source_partition']} of __consumer_offsets: {row['missing']:,} offsets from "
        f"{row['from_offset']} to {row['until_offset']} were deleted before they were read."
    )


def _thinned(offsets: int) -> str:
    # Nobody can tell these apart: what compaction took is not there to be asked.
    return (
        f"{offsets:,} offsets of __consumer_offsets had no record when they were read: compaction had removed it, or "
        "it was a transaction marker or part of an aborted transaction."
    )
