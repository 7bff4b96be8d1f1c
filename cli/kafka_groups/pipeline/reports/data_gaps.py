"""Data that the tables lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from kafka_groups.pipeline.coverage import behind, capital, commits_missing, few, left_out, of_cluster, spell
from kafka_groups.pipeline.reports.group_summary import GroupSummary, Summaries
from kafka_groups.pipeline.reports.selection import FRESH_MS, Selection, Tables
from kafka_groups.pipeline.schemas import INGEST_GAPS, TOPIC_DAILY
from kafka_groups.pipeline.storage.queries import Row

_HOUR_MS: Final = 3_600_000
_NOTHING: Final = "the tables have no lag for this period; run sample or backfill, then build."
_SAMPLED: Final = (
    "the tables have no lag for this period, although log end offsets were sampled: no group had a commit then, or "
    "build has not run since."
)
# Ranges without what others of the same reason had before: a topic that is read again has other ranges. A recreated
# topic is not known here: an offset that both logs lack counts once.
_GAPS: Final = """
    SELECT cluster_id, source_partition, start AS from_offset, until_offset,
        least(missing, until_offset - start + 1) AS missing, reason
    FROM (
        SELECT *, greatest(from_offset, coalesce(1 + max(until_offset) OVER (
            PARTITION BY cluster_id, source_partition, reason ORDER BY from_offset, until_offset DESC, found_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), from_offset)) AS start FROM {rows}
    ) WHERE start <= until_offset
"""


def describe_gaps(tables: Tables, known: Summaries) -> tuple[str, ...]:
    """Return sentences on offsets of `__consumer_offsets` without a record: deleted ranges by size, then others.

    With several clusters, each sentence names its cluster.
    """
    rows = sorted(
        tables.select(INGEST_GAPS, _GAPS),
        key=lambda row: (-row["missing"], row["source_partition"], row["from_offset"]),
    )
    others: dict[str, int] = {}
    sentences = [(row["cluster_id"], _describe_gap(row)) for row in rows if row["reason"] == "deleted"]
    for row in rows:
        if row["reason"] != "deleted":
            others[row["cluster_id"]] = others.get(row["cluster_id"], 0) + row["missing"]
    sentences += [(cluster, _describe_compacted(count)) for cluster, count in sorted(others.items())]
    return tuple(dict.fromkeys(of_cluster(sentence, cluster, known.reach) for cluster, sentence in sentences))


def describe_missing_data(tables: Tables, known: Summaries, groups: Sequence[GroupSummary] | None) -> tuple[str, ...]:
    """Return sentences on data that no table has; `groups` are the selected ones, None if no group was selected.

    With several clusters, each sentence names its cluster.
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
    counted = known.groups.values() if groups is None else groups
    return (
        *without,
        *_describe_ends(tables, known),
        *_describe_lag(tables, known, counted),
        *commits,
        *behind(known.reach),
    )


def describe_stale_groups(tables: Tables, selection: Selection) -> list[str]:
    """Return sentences on groups without a row because their commits are too old, as of the day that was built last."""
    dates = tables.storage.dates(TOPIC_DAILY)
    until = datetime.fromtimestamp(tables.period.until_ms / 1_000, UTC).date().isoformat()
    if len(dates) < 2 or dates[-1] > until:  # noqa: PLR2004 - with one day no group is stale
        return []
    sql = f"SELECT max(lookback_days) AS lookback_days FROM {{rows}} WHERE date = DATE '{dates[-1]}'"
    days = tables.queries.select(TOPIC_DAILY, sql)[0]["lookback_days"]
    return left_out(tables.storage, days or 0, is_wanted=selection.has)


def _describe_ends(tables: Tables, known: Summaries) -> Iterator[str]:
    """Yield sentences on clusters whose lag is not known for the last ten minutes of the period."""
    for cluster, newest in sorted(known.evaluated_ms.items()):
        if tables.period.until_ms - newest > FRESH_MS:
            is_sampled = _is_sampled(known, cluster, tables.period.until_ms - FRESH_MS)
            nothing = "no group has had a commit" if is_sampled else "nothing was sampled"
            sentence = f"{nothing} since {spell(newest)}, or build has not run since: lag and verdicts are as of then."
            yield of_cluster(sentence, cluster, known.reach)


def _is_sampled(known: Summaries, cluster: str, since_ms: int) -> bool:
    sampled_ms = known.reach[cluster].sampled_ms if cluster in known.reach else None
    return sampled_ms is not None and sampled_ms >= since_ms


def _describe_lag(tables: Tables, known: Summaries, groups: Iterable[GroupSummary]) -> Iterator[str]:
    first_ms: dict[str, int] = {}
    unknown: dict[str, list[str]] = {}
    for one in sorted(groups, key=lambda one: one.key):
        cluster = one.key[0]
        if one.first_ms is not None:
            first_ms[cluster] = min(one.first_ms, first_ms.get(cluster, one.first_ms))
        if one.has_unknown_time_lag:
            unknown.setdefault(cluster, []).append(one.group)
    for cluster in sorted(first_ms):
        if first_ms[cluster] - tables.period.since_ms > _HOUR_MS:
            sentence = f"no log end offsets are known before {spell(first_ms[cluster])}: lag begins there."
            yield of_cluster(sentence, cluster, known.reach)
        if names := unknown.get(cluster):
            noun = "1 group" if len(names) == 1 else f"{len(names):,} groups"
            sentence = (
                f"the time lag of {noun} is unknown for a part of the period, because no log end offset is known from "
                f"before their commits: {few(names)}."
            )
            yield of_cluster(sentence, cluster, known.reach)


def _describe_gap(row: Row) -> str:
    return (
        f"partition {row['source_partition']} of __consumer_offsets: {row['missing']:,} offsets from "
        f"{row['from_offset']} to {row['until_offset']} were deleted before they were read."
    )


def _describe_compacted(offsets: int) -> str:
    # The log does not show which of these it was.
    return (
        f"{offsets:,} offsets of __consumer_offsets had no record when they were read: compaction had removed it, or "
        "it was a transaction marker or part of an aborted transaction."
    )
