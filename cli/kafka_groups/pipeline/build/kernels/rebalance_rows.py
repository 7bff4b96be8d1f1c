"""A rebalance of a group, as the table `rebalances` has it."""

from __future__ import annotations

from typing import NamedTuple


class Rebalance(NamedTuple):
    """A row of the table `rebalances`, without cluster and group. Times are microseconds since 1970, UTC."""

    protocol: str  # classic or consumer
    generation: int  # generation of a classic group, or epoch of a KIP-848 group
    started_at: int
    ended_at: int | None  # None while the rebalance is open
    duration_ms: int | None
    duration_quality: str  # exact, bound, overtaken, open or unknown
    sync_ms: int | None  # classic groups: from the last join to the record
    members_before: int | None  # number of members; None if it is unknown
    members_after: int | None
    joined: tuple[str, ...] | None  # ids of members, sorted; None if they are unknown
    left: tuple[str, ...] | None


def milliseconds_between(start_us: int | None, end_us: int | None) -> int | None:
    """Return the milliseconds between two times in microseconds; None if one of them is None.

    Each time is rounded down to a millisecond first, because that is the precision of Kafka's times.
    """
    if start_us is None or end_us is None:
        return None
    return end_us // 1_000 - start_us // 1_000
