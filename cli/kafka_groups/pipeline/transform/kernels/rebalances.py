"""Rows of the table `rebalances`: exact for KIP-848 groups, whose records show begin and end, and bounds for others."""

from __future__ import annotations

from typing import NamedTuple

from kafka_groups.pipeline.transform.kernels.segments import DAY_US


class Rebalance(NamedTuple):
    """A row of the table `rebalances` without the columns of the group. Times are microseconds since 1970, UTC."""

    protocol: str
    generation: int
    started_at: int
    ended_at: int | None
    duration_ms: int | None
    duration_quality: str
    sync_ms: int | None
    members_before: int | None
    members_after: int | None
    joined: tuple[str, ...] | None
    left: tuple[str, ...] | None


def milliseconds(since: int, until: int) -> int:
    """Return the milliseconds between two times; what is below a millisecond is cut off first."""
    return until // 1_000 - since // 1_000


def midnights(since: int, until: int) -> int:
    """Return how many midnights are between: a rebalance is followed until the end of the day after it began."""
    return until // DAY_US - since // DAY_US
