"""What deserves a look: findings of the newest day of each cluster, and lost records of all days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Final

from kafka_groups.groups.selection import Selectors
from kafka_groups.history import Finding
from kafka_groups.pipeline.reports.groups import Groups
from kafka_groups.pipeline.reports.period import Tables, date_of, key_of
from kafka_groups.pipeline.schemas import GROUP_DAILY, TOPIC_DAILY
from kafka_groups.pipeline.storage import Row

KINDS: Final = ("retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew")
# Uneven enough to be worth a look: one partition has three times the mean.
_SKEWED: Final = 3.0
# Time enough to do something about it.
_SOON_MS: Final = 86_400_000
# Rates of a day are reported after an hour of it, and its first observation may be some minutes late.
_YOUNG_MS: Final = 4_200_000


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
    if selectors.selects_all():
        # Topics of Kafka itself are nobody's to read.
        sql = """
            SELECT cluster_id, topic, at_ms, date, messages_produced, lookback_days FROM {rows}
            WHERE is_unread AND NOT starts_with(topic, '__') ORDER BY cluster_id, topic
        """
        for row in tables.select(TOPIC_DAILY, sql, tables.days):
            cluster, topic = row["cluster_id"], row["topic"]
            if row["at_ms"] == known.newest_day_ms[cluster]:
                text = describe_topic(row)
                found.append(Finding(kind="unread_topic", cluster_id=cluster, group=None, topic=topic, message=text))
    return tuple(sorted(found, key=lambda finding: KINDS.index(finding.kind)))


def _select_days(tables: Tables, known: Groups) -> list[Row]:
    """Return the days that may have findings, by group, the newest first.

    They are one day more: a period that begins today may need the forecast of yesterday, but not what was lost then.
    """
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
    """Yield kind and sentence of findings in rows of group_daily, the newest first.

    `newest` is the newest day of the cluster, of which so much is known.
    """
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
        if last < 0:
            yield f"it is {_below(last)}"
        elif least < 0:
            yield f"on {today['date']} it was {_below(least)}"
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
    is_young = passed_ms < _YOUNG_MS and today["last_lag"] != 0
    if left_ms is None and is_young:
        yesterday = next((day for day in before if day["date"] == today["date"] - timedelta(days=1)), None)
        # What it had passed by then is no forecast.
        if yesterday is not None and (yesterday["retention_left_ms"] or 0) > 0:
            left_ms, rates = max(0, yesterday["retention_left_ms"] - passed_ms), f"the rates of {yesterday['date']}"
    # Of what it has passed already there is a loss to report.
    has_passed = (today["last_retention_margin"] or 0) < 0
    if left_ms is None or left_ms > _SOON_MS or has_passed:
        return None
    return f"at {rates} the log start passes its commit in {left_ms / 3_600_000:.1f} hours."
