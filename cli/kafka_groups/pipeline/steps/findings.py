"""What deserves a look, from a day of a group or of a topic. They speak of now: the newest day is the one to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_groups.history import Finding

# Uneven enough to be worth a look: one partition has three times the mean.
_SKEWED: Final = 3.0
# Time enough to do something about it.
_SOON_MS: Final = 86_400_000
KINDS: Final = ("retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew")


def group_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Of a row of group_daily."""
    found = [("retention_risk", text) for text in _retention(row)]
    if count := row["orphaned_partitions"]:
        are = "partition that is" if count == 1 else "partitions that are"
        found.append(("orphaned_commit", f"it has commits on {count:,} {are} not there any more."))
    if row["is_idle"]:
        when = row["last_commit_time"]
        since = "" if when is None else f"; its last commit is of {when:%Y-%m-%d}"
        found.append(("idle_group", f"no commit in 24 hours, and no member seen on {row['day']:%Y-%m-%d}{since}."))
    if (row["skew"] or 0) >= _SKEWED:
        text = f"the busiest partition of a topic had {row['skew']:.1f} times the records of that topic's mean one."
        found.append(("skew", text))
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


def topic_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Of a row of topic_daily; topics of Kafka itself are nobody's to read."""
    if not row["is_unread"] or row["topic"].startswith("__"):
        return []
    grown, period = row["messages_produced"], _period(row)
    nobody = f"no commit on it is known {period}, and no member that reads it"
    were = "record was" if grown == 1 else "records were"
    written = "" if grown is None else f"; {grown:,} {were} written between that day's first look at it and the last"
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
    """Of which days commits were looked at."""
    day, before = f"{row['day']:%Y-%m-%d}", row["lookback_days"]
    if not before:
        return f"of {day}"
    return f"of {day} and the day before" if before == 1 else f"of the {before} days until {day}"


def _retention(row: Mapping[str, Any]) -> Iterator[str]:
    """How it was at the day's last observation; and what was lost before that, which nothing brings back."""
    least, last, left_ms = row["retention_margin"], row["last_retention_margin"], row["retention_left_ms"]
    if last is not None and last < 0:
        yield f"it is {-last:,} {_records(-last)} below the log start: {_lost(-last)} to it."
        return
    if least is not None and least < 0:
        when = f"{row['day']:%Y-%m-%d}"
        yield f"on {when} it was {-least:,} {_records(-least)} below the log start: {_lost(-least)} to it."
    if left_ms is not None and left_ms <= _SOON_MS:
        hours = left_ms / 3_600_000
        yield f"at the day's rates the log start passes its commit in {hours:.1f} hours."


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _lost(count: int) -> str:
    return "it is lost" if count == 1 else "they are lost"
