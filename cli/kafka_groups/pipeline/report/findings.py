"""What deserves a look, and what the tables lack, as sentences; with several clusters, they name their cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Final

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.build.coverage import behind, capital, commits_missing, few, left_out, of_cluster, spell
from kafka_groups.pipeline.report.groups import Groups
from kafka_groups.pipeline.report.history import Finding
from kafka_groups.pipeline.report.period import FRESH_MS, Tables, date_of, key_of
from kafka_groups.pipeline.store import Row
from kafka_groups.pipeline.tables import GROUP_DAILY, INGEST_GAPS, TOPIC_DAILY

KINDS: Final = ("retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew")
_SKEWED: Final = 3.0  # uneven enough to be worth a look: one partition has three times the mean
_SOON_MS: Final = 86_400_000  # time enough to do something about it
# Rates of a day are reported after an hour of it, and its first observation may be some minutes late.
_YOUNG_MS: Final = 4_200_000
_HOUR_MS: Final = 3_600_000
_NOTHING: Final = "the tables have no lag for this period; run sample or backfill, then build."
_SAMPLED: Final = (
    "the tables have no lag for this period, although log end offsets were sampled: no group had a commit then, or "
    "build has not run since."
)
# Topics of Kafka itself are nobody's to read.
_UNREAD_TOPICS: Final = """
    SELECT cluster_id, topic, at_ms, date, messages_produced, lookback_days FROM {rows}
    WHERE is_unread AND NOT starts_with(topic, '__') ORDER BY cluster_id, topic
"""
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


def find_findings(tables: Tables, selectors: Selectors, known: Groups) -> tuple[Finding, ...]:
    """Return findings of the newest day of each cluster in the period; older days are over.

    Records that were lost are found on all days of the period, and those that will be lost on the day before, too,
    while the new day is too short for rates. Deleted groups have no findings, and topics only if no group is selected.
    """
    found = []
    for (cluster, group), days in groupby(_select_days(tables, known), key_of):
        # A group without a row has nothing but a day before the period.
        group_row, day_ms = known.rows.get((cluster, group)), known.newest_day_ms.get(cluster)
        if selectors.selects(group) and group_row and group_row["removed_ms"] is None and day_ms is not None:
            passed_ms = max(0, known.evaluated_ms.get(cluster, 0) - day_ms)
            for kind, text in describe_group(list(days), date_of(day_ms), passed_ms):
                found.append(Finding(kind=kind, cluster_id=cluster, group=group, topic=None, message=text))
    for row in tables.select(TOPIC_DAILY, _UNREAD_TOPICS, tables.days) if selectors.selects_all() else ():
        cluster, topic = row["cluster_id"], row["topic"]
        if row["at_ms"] == known.newest_day_ms[cluster]:
            text = describe_topic(row)
            found.append(Finding(kind="unread_topic", cluster_id=cluster, group=None, topic=topic, message=text))
    return tuple(sorted(found, key=lambda finding: KINDS.index(finding.kind)))


def _select_days(tables: Tables, known: Groups) -> list[Row]:
    """Return the days that may have findings, by group, the newest first; of the day before, only its forecast."""
    newest = ", ".join(f"DATE '{day}'" for day in sorted({*map(date_of, known.newest_day_ms.values())})) or "NULL"
    lost = f"CASE WHEN date >= DATE '{date_of(tables.period.since_ms)}' THEN retention_margin END"
    sql = f"""
        SELECT cluster_id, "group", date, orphaned_partitions, is_idle, skew, last_lag, {lost} AS retention_margin,
            last_retention_margin, retention_left_ms, CAST(last_commit_time AS DATE) AS last_commit_date
        FROM {{rows}} WHERE date IN ({newest}) OR {lost} < 0 OR retention_left_ms IS NOT NULL
        ORDER BY cluster_id, "group", date DESC
    """
    return tables.select(GROUP_DAILY, sql, tables.period.days_before(1))


def describe_group(days: Sequence[Row], newest: date, passed_ms: int) -> Iterator[tuple[str, str]]:
    """Yield kind and sentence of findings in rows of group_daily, the newest first; so much of `newest` has passed."""
    today, before = (days[0], days[1:]) if days[0]["date"] == newest else (None, days)
    group = f"Group {days[0]['group']}:"
    for text in _lost(today, before):
        yield "retention_risk", f"{group} {text}"
    if today is None:
        return
    if forecast := _to_be_lost(today, before, passed_ms):
        yield "retention_risk", f"{group} {forecast}"
    if count := today["orphaned_partitions"]:
        partitions = "partition that no longer exists" if count == 1 else "partitions that no longer exist"
        yield "orphaned_commit", f"{group} it has commits on {count:,} {partitions}."
    if today["is_idle"]:
        when = today["last_commit_date"]
        since = "" if when is None else f"; its last commit is of {when}"
        yield "idle_group", f"{group} no commit in 24 hours, and no member seen on {today['date']}{since}."
    if (today["skew"] or 0) >= _SKEWED:
        times = f"{today['skew']:.1f} times the records of an average one of that topic"
        yield "skew", f"{group} the busiest partition of a topic had {times}."


def describe_topic(row: Row) -> str:
    """Return the sentence on a topic without readers, of a row of topic_daily."""
    days, grown = row["lookback_days"] or 0, row["messages_produced"]
    period = ("of that day", "of that day and the one before")[days] if days <= 1 else f"of the {days} days until then"
    nobody = f"no group has a commit on it at the end of {row['date']} ({period}), and no known member reads it"
    written = ""
    if grown is not None:
        were = "record was" if grown == 1 else "records were"
        written = f"; {grown:,} {were} written between the first and the last observation of that day"
    return f"Topic {row['topic']}: {nobody}{written}."


def _lost(today: Row | None, before: Sequence[Row]) -> Iterator[str]:
    """Yield how it was at the day's last observation; and the worst before that, which nothing brings back."""
    reported = 0
    if today is not None:
        least, last = today["retention_margin"] or 0, today["last_retention_margin"] or 0
        reported = last if last < 0 else min(0, least)
        if reported:
            yield f"it is {_below(last)}" if last < 0 else f"on {today['date']} it was {_below(least)}"
    # What lay below for days is reported once.
    worst = min(before, key=lambda day: day["retention_margin"] or 0, default=None)
    if worst is not None and (worst["retention_margin"] or 0) < reported:
        yield f"on {worst['date']} it was {_below(worst['retention_margin'])}"


def _below(margin: int) -> str:
    records = "1 record" if margin == -1 else f"{-margin:,} records"
    return f"{records} below the log start: {'it is' if margin == -1 else 'they are'} lost to it."


def _to_be_lost(today: Row, before: Sequence[Row], passed_ms: int) -> str | None:
    """Return when the log start passes its commit: at today's rates, or the day before's while today is too short."""
    left_ms, rates = today["retention_left_ms"], "the day's rates"
    if left_ms is None and passed_ms < _YOUNG_MS and today["last_lag"] != 0:
        yesterday = next((day for day in before if day["date"] == today["date"] - timedelta(days=1)), None)
        # What it had passed by then is no forecast.
        if yesterday is not None and (yesterday["retention_left_ms"] or 0) > 0:
            left_ms, rates = max(0, yesterday["retention_left_ms"] - passed_ms), f"the rates of {yesterday['date']}"
    # Of what it has passed already there is a loss to report.
    if left_ms is None or left_ms > _SOON_MS or (today["last_retention_margin"] or 0) < 0:
        return None
    return f"at {rates} the log start passes its commit in {left_ms / 3_600_000:.1f} hours."


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
    is_none_evaluated = bool(chosen) and all(row["evaluated_ms"] is None for row in chosen)
    if known.evaluated_ms and is_none_evaluated and not selectors.selects_all():
        yield "No lag is known of the selected groups in this period."
    yield from _describe_partial_lag(known, chosen)
    yield from _describe_clusters(tables, known, chosen)
    dates = tables.storage.dates(TOPIC_DAILY)
    if dates and dates[-1] <= date_of(tables.period.until_ms).isoformat():
        # Groups without a row because their commits are too old, as of the day that was built last.
        sql = f"SELECT max(lookback_days) AS lookback_days FROM {{rows}} WHERE date = DATE '{dates[-1]}'"
        days = tables.queries.select(TOPIC_DAILY, sql)[0]["lookback_days"]
        yield from left_out(tables.storage, days or 0, is_wanted=selectors.selects)


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
            what = "or build has not run since: lag and verdicts are as of then."
            yield of_cluster(f"{nothing} since {spell(newest_ms)}, {what}", cluster, known.reach)
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
