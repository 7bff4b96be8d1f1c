"""The retention of topics: after which age their records are deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.groups.lag.time_lag import TimeLags

RETENTION: Final = "retention.ms"
CLEANUP_POLICY: Final = "cleanup.policy"
_DELETE: Final = "delete"


class Retention(NamedTuple):
    """The retention of a topic, and how long it still keeps the record at a commit, in ms; None if unknown.

    `is_caught_up` says that no record is behind the commit, only markers of transactions or gaps of compaction.
    """

    topic_ms: int | None = None
    left_ms: int | None = None
    is_caught_up: bool = False


UNKNOWN_RETENTION: Final = Retention()


def read_retentions(admin: Admin, time_lags: TimeLags, *, deadline: Deadline | None = None) -> dict[str, int]:
    """Return the retention in ms of the topics with a record that is not processed.

    A topic is absent if its records are not deleted by age, or if its configuration cannot be read: that needs
    DESCRIBE_CONFIGS on the topic.
    """
    topics = dict.fromkeys(position.topic for position, time_lag in time_lags.items() if time_lag.ms)
    if not topics:
        return {}
    read = admin.describe_topic_configs(topics, (RETENTION, CLEANUP_POLICY), timeout=deadline)
    retentions_ms = {topic: _retention_of(values) for topic, values in read.succeeded.items()}
    return {topic: retention_ms for topic, retention_ms in retentions_ms.items() if retention_ms is not None}


def _retention_of(values: Mapping[str, str | None]) -> int | None:
    """Return the retention of a topic in ms; None if its records are kept, or if it is unknown."""
    retention = values.get(RETENTION)
    if retention is None or _DELETE not in (values.get(CLEANUP_POLICY) or "").split(","):
        return None
    # -1 means that records are kept whatever their age is.
    return int(retention) if int(retention) >= 0 else None
