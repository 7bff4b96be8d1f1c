"""What the tables lack, as sentences; with several clusters, each names its cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
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
    sentences = []
    for row in tables.select(INGEST_GAPS, GAPS):
        if row["reason"] != "deleted":
            others[row["cluster_id"]] += row["missing"]
            continue
        sentence = (
            f"partition {row['source_partition']} of __consumer_offsets: {row['missing']:,} offsets from "
            f"{row['from_offset']} to {row['until_offset']} were deleted before they were read."
        )
        sentences.append(of_cluster(sentence, row["cluster_id"], known.reach))
    for cluster, count in sorted(others.items()):
        # The log does not show which of these it was.
        sentence = (
            f"{count:,} offsets of __consumer_offsets had no record when they were read: compaction had removed it, or "
            "it was a transaction marker or part of an aborted transaction."
        )
        sentences.append(of_cluster(sentence, cluster, known.reach))
    return tuple(dict.fromkeys(sentences))


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
    for cluster, rows in _by_cluster(chosen, lambda row: bool(row["unknown_partitions"])):
        listed = [f"{row['group']} ({row['unknown_partitions']:,} of {row['committed']:,})" for row in rows]
        noun = "1 group has" if len(rows) == 1 else f"{len(rows):,} groups have"
        sentence = (
            f"{noun} partitions without a known log end offset for ten minutes, which lag and verdict do not include: "
            f"{few(listed)}."
        )
        yield of_cluster(sentence, cluster, known.reach)
    for cluster, rows in _by_cluster(chosen, lambda row: bool(row["is_outdated"])):
        whose = "the coordinator of 1 group" if len(rows) == 1 else f"the coordinators of {len(rows):,} groups"
        sentence = (
            f"{whose} did not respond to samples for ten minutes, so lag and verdict are derived from older commits: "
            f"{few([row['group'] for row in rows])}."
        )
        yield of_cluster(sentence, cluster, known.reach)


def _by_cluster(rows: Sequence[Row], is_wanted: Callable[[Row], bool]) -> list[tuple[str, list[Row]]]:
    wanted = sorted(filter(is_wanted, rows), key=lambda row: str(row["cluster_id"]))
    return [(cluster, list(found)) for cluster, found in groupby(wanted, lambda row: str(row["cluster_id"]))]


def _describe_clusters(tables: Tables, known: Groups, chosen: Sequence[Row]) -> Iterator[str]:
    since_ms, until_ms = tables.period
    if not known.evaluated_ms and len(known.reach) != 1:
        yield capital(_NOTHING)
        return
    for cluster in sorted(known.reach.keys() - known.evaluated_ms.keys()):
        yield of_cluster(_SAMPLED if _is_sampled(known, cluster, since_ms) else _NOTHING, cluster, known.reach)
    if not known.evaluated_ms:
        return
    for cluster, newest_ms in sorted(known.evaluated_ms.items()):
        if until_ms - newest_ms > FRESH_MS:
            is_sampled = _is_sampled(known, cluster, until_ms - FRESH_MS)
            nothing = "no group has had a commit" if is_sampled else "nothing was sampled"
            sentence = (
                f"{nothing} since {spell(newest_ms)}, or build has not run since: lag and verdicts are as of then."
            )
            yield of_cluster(sentence, cluster, known.reach)
    yield from _describe_lag(known, chosen, since_ms)
    yield from commits_missing(known.reach, "verdicts are derived from samples, and rebalances are unknown")
    yield from behind(known.reach)


def _is_sampled(known: Groups, cluster: str, since_ms: int) -> bool:
    sampled_ms = known.reach[cluster].sampled_ms
    return sampled_ms is not None and sampled_ms >= since_ms


def _describe_lag(known: Groups, chosen: Collection[Row], since_ms: int) -> Iterator[str]:
    rows = sorted((row for row in chosen if row["removed_ms"] is None), key=key_of)
    for cluster, lagging in _by_cluster(rows, lambda row: row["first_ms"] is not None):
        first_ms = min(row["first_ms"] for row in lagging)
        if first_ms - since_ms > _HOUR_MS:
            sentence = f"no log end offsets are known before {spell(first_ms)}: lag begins there."
            yield of_cluster(sentence, cluster, known.reach)
        if names := [row["group"] for row in lagging if row["has_unknown_time_lag"]]:
            noun = "1 group" if len(names) == 1 else f"{len(names):,} groups"
            sentence = (
                f"the time lag of {noun} is unknown for a part of the period, because no log end offset is known from "
                f"before their commits: {few(names)}."
            )
            yield of_cluster(sentence, cluster, known.reach)


def _describe_stale_groups(tables: Tables, selectors: Selectors) -> list[str]:
    """Return sentences on groups without a row because their commits are too old, as of the day that was built last."""
    dates = tables.storage.dates(TOPIC_DAILY)
    if not dates or dates[-1] > date_of(tables.period.until_ms).isoformat():
        return []
    sql = f"SELECT max(lookback_days) AS lookback_days FROM {{rows}} WHERE date = DATE '{dates[-1]}'"
    days = tables.queries.select(TOPIC_DAILY, sql)[0]["lookback_days"]
    return left_out(tables.storage, days or 0, is_wanted=selectors.selects)
