"""What a report says besides: findings, and what the tables do not hold."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

from kafka_groups.history import Finding
from kafka_groups.pipeline.reporting.asking import FRESH_MS, Key, Tables, Wanted, among
from kafka_groups.pipeline.steps.findings import KINDS, group_findings, topic_findings
from kafka_groups.pipeline.tables import (
    GROUP_DAILY,
    INGEST_GAPS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    TOPIC_DAILY,
)

if TYPE_CHECKING:
    from pyspark.sql import Row

_FINDINGS_A_KIND: Final = 50
_GAPS: Final = 50
_HOUR_MS: Final = 3_600_000


def findings(tables: Tables, wanted: Wanted, removed: Collection[Key]) -> tuple[Finding, ...]:
    """From the newest day of each cluster in the period: what is only on an older one is over, or is gone.

    Of a group that was removed there are none, and of topics only if no group is selected.
    """
    from kafka_groups.pipeline.steps.daily import of_newest_day

    midnight = tables.period.from_midnight()
    days, topics = (tables.read(table, "day", period=midnight) for table in (GROUP_DAILY, TOPIC_DAILY))
    found = [
        finding
        for row in of_newest_day(days, topics).orderBy("cluster_id", "group").collect()
        if wanted.has(row["group"]) and (row["cluster_id"], row["group"]) not in removed
        for finding in group_findings(row.asDict())
    ]
    if wanted.is_all():
        today = of_newest_day(topics, days).orderBy("cluster_id", "topic").collect()
        found += [finding for row in today for finding in topic_findings(row.asDict())]
    kinds = {kind: [finding for finding in found if finding.kind == kind] for kind in KINDS}
    return tuple(finding for kind in KINDS for finding in kinds[kind][:_FINDINGS_A_KIND])


def gaps(tables: Tables) -> tuple[str, ...]:
    """What was found missing in `__consumer_offsets`: deletions, the largest first, and what else there is in all."""
    from pyspark.sql import functions as F

    columns = ("cluster_id", "source_partition", "from_offset", "until_offset", "missing", "reason")
    rows = tables.read(INGEST_GAPS, "found_at").select(*columns).distinct()
    deleted = rows.where(F.col("reason") == "deleted")
    found = deleted.orderBy(F.desc("missing"), "source_partition", "from_offset").limit(_GAPS).collect()
    others = rows.where(F.col("reason") != "deleted").agg(F.sum("missing")).collect()[0][0]
    return (*dict.fromkeys(_gap(row) for row in found), *([_thinned(others)] if others else []))


def missing(tables: Tables, evaluated_ms: Mapping[str, int], judged: Collection[Key] | None) -> tuple[str, ...]:
    """Sentences about what no table holds; `judged` are the groups whose lag is known, None if that is all of them.

    `evaluated_ms` says until when the lag of each cluster is known, as far as it is.
    """
    if not evaluated_ms:
        return ("The tables hold no lag for this period: sample or backfill log ends, then build.",)
    return (*_ended(tables, evaluated_ms), *_of_lag(tables, judged), *_of_commits(tables))


def _ended(tables: Tables, evaluated_ms: Mapping[str, int]) -> list[str]:
    """Clusters whose lag is not known for the last ten minutes of the period."""
    return [
        (f"Cluster {cluster}: n" if len(evaluated_ms) > 1 else "N")
        + f"othing was sampled since {_spell(newest)}, or it was not built yet: lag and verdicts are as of then."
        for cluster, newest in sorted(evaluated_ms.items())
        if tables.period.until_ms - newest > FRESH_MS
    ]


def _of_lag(tables: Tables, judged: Collection[Key] | None) -> list[str]:
    from pyspark.sql import functions as F

    rows = tables.read(LAG_HISTORY, "observed_at")
    seen = (
        (rows if judged is None else rows.where(among(judged)))
        .agg(
            F.min(F.unix_millis("observed_at")).alias("first"),
            F.count(F.when(F.col("time_lag_quality") == "unknown", 1)).alias("unknown"),
        )
        .collect()[0]
    )
    told = []
    if seen["first"] is not None and seen["first"] - tables.period.since_ms > _HOUR_MS:
        told.append(f"No log ends are known before {_spell(seen['first'])}: lag begins there.")
    if seen["unknown"]:
        told.append(f"The time lag of {seen['unknown']:,} observations is unknown: no log end was seen before them.")
    return told


def _of_commits(tables: Tables) -> list[str]:
    from pyspark.sql import functions as F

    # A sample is later than the record it confirms, so lag_history does not tell whether there was one.
    if tables.storage.read(tables.spark, OFFSET_COMMITS).where(F.col("origin") == "topic").take(1):
        return []
    return ["No commits were read from __consumer_offsets: verdicts rest on samples, rebalances are unknown."]


def _gap(row: Row) -> str:
    return (
        f"Partition {row['source_partition']} of __consumer_offsets: {row['missing']:,} offsets from "
        f"{row['from_offset']} to {row['until_offset']} were deleted before they were read."
    )


def _thinned(offsets: int) -> str:
    # Nobody can tell these apart: what compaction took is not there to be asked.
    return (
        f"{offsets:,} offsets of __consumer_offsets held no record when they were read: compaction had taken it for a "
        "later one of its key, or it marked or belonged to a transaction."
    )


def _spell(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(ms // 1_000))
