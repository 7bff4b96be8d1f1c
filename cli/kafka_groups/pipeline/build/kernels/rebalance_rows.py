"""A rebalance of a group: a row of the table `rebalances`."""

from __future__ import annotations

from typing import NamedTuple


class Rebalance(NamedTuple):
    """A row of the table `rebalances`, without cluster and group. Times are microseconds since 1970, UTC.

    - `group_protocol` is classic, consumer, share or streams. `generation` is the generation of a classic group, or the
      epoch of another one.
    - `ended_at` is None while the rebalance is open. `duration_quality` is exact, bound, timeout, overtaken, open or
      unknown.
    - `sync_ms` is the time from the last join to the record; only classic groups have it.
    - `members_before` and `members_after` are numbers of members; None if unknown.
    - `joined` and `left` are ids of members, sorted; None if they are unknown.
    """

    group_protocol: str
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


def milliseconds_between(start_us: int | None, end_us: int | None) -> int | None:
    """Return the milliseconds between two times in microseconds; None if one of them is None.

    Each time is rounded down to a millisecond first, because that is the precision of Kafka's times.
    """
    if start_us is None or end_us is None:
        return None
    return end_us // 1_000 - start_us // 1_000
