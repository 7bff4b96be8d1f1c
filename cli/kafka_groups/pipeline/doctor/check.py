"""One thing that was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """What was looked at, how it is (ok, warning, failed), and what was found or helps."""

    check: str
    status: str
    detail: str


class Cluster(NamedTuple):
    """A cluster that was reached; where the partitions of its `__consumer_offsets` end, and the topic's id.

    `ends` is None if it is not known, and empty if there is no such topic.
    """

    id: str
    ends: Mapping[int, int] | None
    topic_id: str | None = None


def instant(ms: int) -> str:
    """Return a time as checks write it."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
