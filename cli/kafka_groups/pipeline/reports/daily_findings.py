"""What deserves a look, from days of a group or of a topic. They speak of now: the newest day is the one to report.

Days are dates, and `last_commit_date` is one: times that Spark hands to Python are of its machine's zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from kafka_groups.history import Finding

# Uneven enough to be worth a look: one partition has three times the mean.
_SKEWED: Final = 3.0
# Time enough to do something about it.
_SOON_MS: Final = 86_400_000
# Rates of a day are reported after an hour of it, and its first observation may be some minutes late.
_YOUNG_MS: Final = 4_200_000
KINDS: Final = ("retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew")


def group_findings(
    today: Mapping[str, Any] | None, before: Sequence[Mapping[str, Any]] = (), *, passed_ms: int = 0
) -> list[Finding]:
    """Find in rows of group_daily: `today` is its cluster's newest day (None without a row), `before` older ones.

    `passed_ms` is how much of today is known.
    """
    found = [("retention_risk", text) for text in (*_lost(today, before), *_to_be_lost(today, before, passed_ms))]
    if today is not None:
        found += _of_today(today)
    row = before[0] if today is None else today
    return [
        Finding(
            kind=kind,
            cluster_id=row["cluster_id"],
            group=row["group"],
            topic=None,
            message=f"Group {row['group']}: {text}",
        )
        for kind, text in found
    ]


def _of_today(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if count := row["orphaned_partitions"]:
        partitions = "partition that no longer exists" if count == 1 else "partitions that no longer exist"
        yield "orphaned_commit", f"it has commits on {count:,} {partitions}."
    if row["is_idle"]:
        when = row["last_commit_date"]
        since = "" if when is None else f"; its last commit is of {when}"
        yield "idle_group", f"no commit in 24 hours, and no member seen on {row['date']}{since}."
    if (row["skew"] or 0) >= _SKEWED:
        text = (
            f"the busiest partition of a topic had {row['skew']:.1f} times the records of an average one of that topic."
        )
        yield "skew", text


def topic_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Find in a row of topic_daily; topics of Kafka itself are nobody's to read."""
    if not row["is_unread"] or row["topic"].startswith("__"):
        return []
    grown, period = row["messages_produced"], _period(row)
    nobody = f"no group has a commit on it at the end of {row['date']} ({period}), and no known member reads it"
    were = "record was" if grown == 1 else "records were"
    written = (
        "" if grown is None else f"; {grown:,} {were} written between the first and the last observation of that day"
    )
    return [
        Finding(
            kind="unread_topic",
            cluster_id=row["cluster_id"],
            group=None,
            topic=row["topic"],
            message=f"Topic {row['topic']}: {nobody}{written}.",
        )
    ]


def _period(row: Mapping[str, Any]) -> str:
    """Return of which days commits were looked at."""
    before = row["lookback_days"]
    if not before:
        return "of that day"
    return "of that day and the one before" if before == 1 else f"of the {before} days until then"


def _lost(today: Mapping[str, Any] | None, before: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how it was at the day's last observation; and the worst before that, which nothing brings back."""
    reported = 0
    if today is not None:
        least, last = today["retention_margin"] or 0, today["last_retention_margin"] or 0
        reported = last if last < 0 else min(0, least)
        if last < 0:
            yield f"it is {-last:,} {_records(-last)} below the log start: {_they_are(-last)} lost to it."
        elif least < 0:
            yield _lost_on(today)
    # What lay below for days is reported once.
    worst = min(before, key=lambda day: day["retention_margin"] or 0, default=None)
    if worst is not None and (worst["retention_margin"] or 0) < reported:
        yield _lost_on(worst)


def _lost_on(day: Mapping[str, Any]) -> str:
    count = -day["retention_margin"]
    return f"on {day['date']} it was {count:,} {_records(count)} below the log start: {_they_are(count)} lost to it."


def _to_be_lost(today: Mapping[str, Any] | None, before: Sequence[Mapping[str, Any]], passed_ms: int) -> Iterator[str]:
    """Yield when the log start passes its commit: at today's rates, or the day before's while today is too short."""
    if today is None:
        return
    left_ms, rates = today["retention_left_ms"], "the day's rates"
    is_young = passed_ms < _YOUNG_MS and (today["last_lag"] is None or today["last_lag"] > 0)
    if left_ms is None and is_young:
        yesterday = next((day for day in before if day["date"] == today["date"] - timedelta(days=1)), None)
        # What it had passed by then is no forecast.
        if yesterday is not None and (yesterday["retention_left_ms"] or 0) > 0:
            left_ms, rates = max(0, yesterday["retention_left_ms"] - passed_ms), f"the rates of {yesterday['date']}"
    # Of what it has passed already there is a loss to report.
    has_passed = (today["last_retention_margin"] or 0) < 0
    if left_ms is not None and left_ms <= _SOON_MS and not has_passed:
        yield f"at {rates} the log start passes its commit in {left_ms / 3_600_000:.1f} hours."


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _they_are(count: int) -> str:
    return "it is" if count == 1 else "they are"
