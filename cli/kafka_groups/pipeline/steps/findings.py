"""What deserves a look, from the last day of a group or of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.history import Finding

# Uneven enough to be worth a look: one partition has three times the mean, of enough records to mean something.
_SKEWED: Final = 3.0
_ENOUGH_RECORDS: Final = 1_000
# Time enough to do something about it.
_SOON_MS: Final = 86_400_000
KINDS: Final = ("retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew")


def group_findings(row: Mapping[str, Any]) -> list[Finding]:
    """Of a row of group_daily."""
    found = []
    margin, left_ms = row["retention_margin"], row["retention_left_ms"]
    if margin is not None and margin < 0:
        found.append(("retention_risk", f"it is {-margin:,} records below the log start: they are lost to it."))
    elif left_ms is not None and left_ms <= _SOON_MS:
        hours = left_ms / 3_600_000
        found.append(("retention_risk", f"at the day's rates the log start passes its commit in {hours:.1f} hours."))
    if row["orphaned_partitions"]:
        count = row["orphaned_partitions"]
        found.append(("orphaned_commit", f"it has commits on {count:,} partitions that are not there any more."))
    if row["is_idle"]:
        when = row["last_commit_time"]
        since = "" if when is None else f"; its last commit is of {when:%Y-%m-%d}"
        found.append(("idle_group", f"no commit on {row['day']:%Y-%m-%d}, and no member seen{since}."))
    if (row["skew"] or 0) >= _SKEWED and row["messages_consumed"] >= _ENOUGH_RECORDS:
        found.append(("skew", f"its busiest partition had {row['skew']:.1f} times the records of the mean one."))
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
    text = f"Topic {row['topic']}: no group has a commit on it; {row['messages_produced'] or 0:,} records were written."
    return [Finding(kind="unread_topic", cluster_id=row["cluster_id"], group=None, topic=row["topic"], message=text)]
