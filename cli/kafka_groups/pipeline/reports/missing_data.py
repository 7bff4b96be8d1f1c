"""What the tables lack, as sentences; with several clusters, each names its cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.coverage import behind, capital, commits_missing, few, left_out, of_cluster, spell
from kafka_groups.pipeline.reports.groups import Groups
from kafka_groups.pipeline.reports.period import FRESH_MS, Tables, date_of, key_of
from kafka_groups.pipeline.schemas import INGEST_GAPS, TOPIC_DAILY
from kafka_groups.pipeline.storage import Row

_HOUR_MS: Final = 3_600_000
_NOTHING: Final = "the tables have no lag for this period; run sample or backfill, then build."
_SAMPLED: Final = (
    "the tables have no lag for this period, although log end offsets were sampled: no group had a commit then, or "
    "build has not run since."
)
# Ranges without what others of the same reason had before: a topic that is read again has other ranges. A recreated
# topic is not known here: an offset that both logs lack counts once.
GAPS: Final = """
    SELECT cluster_id, source_partition, start AS from_offset, until_offset,
        least(missing, until_offset - start + 1) AS missing, reason
    FROM (
        SELECT *, greatest(from_offset, coalesce(1 + max(until_offset) OVER (
            PARTITION BY cluster_id, source_partition, reason ORDER BY from_offset, until_offset DESC, found_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), from_offset)) AS start FROM {rows}
    ) WHERE start <= until_offset ORDER BY missing DESC, source_partition, from_offset
"""


def describe_gaps(tables: Tables, known: Groups) -> tuple[str, ...]:
    """Return sentences on offsets of `__consumer_offsets` without a record: deleted ranges by size, then others."""
    others: Counter[str] = Counter()
    found = []
    for row in tables.select(INGEST_GAPS, GAPS):
        if row["reason"] == "deleted":
            missing = f"{row['missing']:,} offsets from {row['from_offset']} to {row['until_offset']}"
            place = f"partition {row['source_partition']} of __consumer_offsets"
            found.append((row["cluster_id"], f"{place}: {missing} were deleted before they were read."))
        else:
            others[row["cluster_id"]] += row["missing"]
    # The log does not show which of these it was.
    why = "compaction had removed it, or it was a transaction marker or part of an aborted transaction."
    for cluster, count in sorted(others.items()):
        found.append((cluster, f"{count:,} offsets of __consumer_offsets had no record when they were read: {why}"))
    return tuple(dict.fromkeys(of_cluster(sentence, cluster, known.reach) for cluster, sentence in found))


def describe_missing(tables: Tables, known: Groups, chosen: Sequence[Row], selectors: Selectors) -> Iterator[str]:
    """Yield sentences on lag and verdicts that are unknown, partial or old; of `chosen` groups, the worst first."""
    is_all = selectors.selects_all()
    if known.evaluated_ms and chosen and not is_all and all(row["evaluated_ms"] is None for row in chosen):
        yield "No lag is known of the selected groups in this period."
    yield from _describe_partial_lag(known, chosen)
    yield from _describe_clusters(tables, known, chosen)
    yield from _describe_stale_groups(tables, selectors)


def _describe_partial_lag(known: Groups, chosen: Sequence[Row]) -> Iterator[str]:
    """Yield sentences on partitions and coordinators that did not respond to the last samples."""
    for cluster, rows in _by_cluster(chosen, "unknown_partitions"):
        noun = "1 group has" if len(rows) == 1 else f"{len(rows):,} groups have"
        what = "partitions without a known log end offset for ten minutes, which lag and verdict do not include"
        listed = few([f"{row['group']} ({row['unknown_partitions']:,} of {row['committed']:,})" for row in rows])
        yield of_cluster(f"{noun} {what}: {listed}.", cluster, known.reach)
    for cluster, rows in _by_cluster(chosen, "is_outdated"):
        whose = "the coordinator of 1 group" if len(rows) == 1 else f"the coordinators of {len(rows):,} groups"
        what = "did not respond to samples for ten minutes, so lag and verdict are derived from older commits"
        yield of_cluster(f"{whose} {what}: {few([row['group'] for row in rows])}.", cluster, known.reach)


def _by_cluster(rows: Sequence[Row], column: str) -> list[tuple[str, list[Row]]]:
    """Return by cluster the rows in which a column is neither null nor 0."""
    of_cluster_id = itemgetter("cluster_id")
    found = sorted(filter(itemgetter(column), rows), key=of_cluster_id)
    return [(cluster, list(same)) for cluster, same in groupby(found, of_cluster_id)]


def _describe_clusters(tables: Tables, known: Groups, chosen: Sequence[Row]) -> Iterator[str]:
    since_ms, until_ms = tables.period
    sampled_ms = {cluster: each.sampled_ms or -1 for cluster, each in known.reach.items()}
    if not known.evaluated_ms and len(known.reach) != 1:
        yield capital(_NOTHING)
        return
    for cluster in sorted(known.reach.keys() - known.evaluated_ms.keys()):
        yield of_cluster(_SAMPLED if sampled_ms[cluster] >= since_ms else _NOTHING, cluster, known.reach)
    if not known.evaluated_ms:
        return
    for cluster, newest_ms in sorted(known.evaluated_ms.items()):
        if until_ms - newest_ms > FRESH_MS:
            is_sampled = sampled_ms[cluster] >= until_ms - FRESH_MS
            nothing = "no group has had a commit" if is_sampled else "nothing was sampled"
            sentence = (
                f"{nothing} since {spell(newest_ms)}, or build has not run since: lag and verdicts are as of then."
            )
            yield of_cluster(sentence, cluster, known.reach)
    yield from _describe_lag(known, chosen, since_ms)
    yield from commits_missing(known.reach, "verdicts are derived from samples, and rebalances are unknown")
    yield from behind(known.reach)


def _describe_lag(known: Groups, chosen: Collection[Row], since_ms: int) -> Iterator[str]:
    rows = sorted((row for row in chosen if row["removed_ms"] is None), key=key_of)
    for cluster, lagging in _by_cluster(rows, "first_ms"):
        first_ms = min(row["first_ms"] for row in lagging)
        if first_ms - since_ms > _HOUR_MS:
            sentence = f"no log end offsets are known before {spell(first_ms)}: lag begins there."
            yield of_cluster(sentence, cluster, known.reach)
        if names := [row["group"] for row in lagging if row["has_unknown_time_lag"]]:
            noun = "1 group" if len(names) == 1 else f"{len(names):,} groups"
            why = "for a part of the period, because no log end offset is known from before their commits"
            yield of_cluster(f"the time lag of {noun} is unknown {why}: {few(names)}.", cluster, known.reach)


def _describe_stale_groups(tables: Tables, selectors: Selectors) -> list[str]:
    """Return sentences on groups without a row because their commits are too old, as of the day that was built last."""
    dates = tables.storage.dates(TOPIC_DAILY)
    if not dates or dates[-1] > date_of(tables.period.until_ms).isoformat():
        return []
    sql = f"SELECT max(lookback_days) AS lookback_days FROM {{rows}} WHERE date = DATE '{dates[-1]}'"
    days = tables.queries.select(TOPIC_DAILY, sql)[0]["lookback_days"]
    return left_out(tables.storage, days or 0, is_wanted=selectors.selects)
