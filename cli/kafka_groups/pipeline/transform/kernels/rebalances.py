"""Rows of the table `rebalances`: exact for KIP-848 groups, whose records show begin and end, and bounds for others.

KIP-848: from the record of an epoch until the last member is STABLE at that epoch.

Classic: one for each generation. It ends with its record; when it began is not logged. So `started_at` is the earliest
time at which it can have begun, and the duration a bound. It began after the group's record before; commits show
nothing, because the broker accepts those of the old generation until all members have joined. It also began no longer
than the members' rebalance timeout before all had joined, and the record has that time. If neither is known,
`started_at` is the record, and the duration null.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import Record
from kafka_groups.pipeline.transform.kernels.memberships import FIRST_EPOCH, Epoch, Life, Span
from kafka_groups.pipeline.transform.kernels.segments import DAY_US

# The broker's timer ends a join phase that members hold up, and may be late.
_LATE_MS: Final = 1_000


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


def consumer_rebalance(life: Life, epoch: Epoch, next_epoch: Epoch | None) -> Rebalance:
    """Return the rebalance that began with an epoch of the KIP-848 protocol, from what was read until now.

    If the next epoch begins before all members have reached this one, it is `overtaken` and ends there; if not all
    have by the end, it is open. Members whose join is not among the records must reach it, too; if it is not known
    how many there were, it is not known whether all did: the next epoch is a bound then.
    """
    is_known = epoch.follows_join or life.known_from() <= epoch.at
    members = epoch.members + len(life.there) if is_known else None
    ended_at = None if next_epoch is None else next_epoch.at_us
    if members is not None and len(epoch.arrivals) >= members:
        quality, ended_at = "exact", max([epoch.at_us, *epoch.arrivals.values()])
    elif members is None:
        quality = "unknown" if next_epoch is None else "bound"
    else:
        quality = "open" if next_epoch is None else "overtaken"
    span = _what_happened(life, epoch, members)
    joined, left = (None, None) if span is None else (span.joined, span.left)
    before = None if members is None or span is None else members - span.change
    times = epoch.at_us, ended_at, _milliseconds(epoch.at_us, ended_at)
    came, went = _except(joined, left), _except(left, joined)
    return Rebalance("consumer", epoch.number, *times, quality, None, before, members, came, went)


def _what_happened(life: Life, epoch: Epoch, members: int | None) -> Span | None:
    """Return who joined and left, or None if it is not known who was there.

    Compaction removes the classic group's last record with the upgrade, and the first epoch that remains of a group
    need not be its first one. But if members show that they were there, those of the epoch's own batch are those that
    joined; the records of a batch have one time.
    """
    if epoch.span.has_begun:
        return None if epoch.span.kept is None else epoch.span
    if life.before.was_there or life.there:
        batch = Span()
        for change in life.changes:
            if change.at <= epoch.at and change.at_us == epoch.at_us and not change.is_again:
                batch.count(change.name, change.number)
        return batch
    is_first = epoch.number <= FIRST_EPOCH and members is not None and members <= 1
    return epoch.span if is_first else None


class Generation(NamedTuple):
    """The last record of a classic group, or the downgrade that began one."""

    epoch: int | None  # None: the group was removed, or downgraded, so any generation after it is another one
    members: Collection[str] | None
    time: int
    join_timeout_ms: int | None


def classic_rebalance(record: Record, own: Generation, before: Generation | None) -> Rebalance | None:
    """Return the rebalance that ended with this record, if its generation is another one than before."""
    # Generation 0 is a group that was just created (brokers since 4.0 write it).
    if own.epoch is None or own.epoch <= 0 or (before is not None and before.epoch == own.epoch):
        return None
    if before is None:
        # A group's first generation is 1, and had no members before; any other first record had others before it.
        before = Generation(0, (), 0, 0) if own.epoch == 1 else Generation(None, None, 0, None)
    is_known = record.state_us is not None and record.state_us // 1_000 <= own.time // 1_000
    joined_at = record.state_us if is_known else None
    since = max(before.time, _join_since(joined_at, own, before) or 0)
    # A rebalance is followed until the end of the day after it began.
    is_usable = since <= own.time and own.time // DAY_US - since // DAY_US <= 1
    times = since if is_usable else own.time, own.time, _milliseconds(since, own.time) if is_usable else None
    sync_ms = _milliseconds(joined_at, own.time) if own.members else None
    size_before, size = (None if names is None else len(names) for names in (before.members, own.members))
    came, went = _except(own.members, before.members), _except(before.members, own.members)
    return Rebalance("classic", own.epoch, *times, "bound", sync_ms, size_before, size, came, went)


def _join_since(joined_at: int | None, own: Generation, before: Generation) -> int | None:
    """Return the earliest time at which the join phase can have begun: the longest rebalance timeout before its end.

    None if some member's timeout is not known, and if generations before were given up and left no record: then there
    was more than one join phase.
    """
    if joined_at is None or own.join_timeout_ms is None or before.join_timeout_ms is None:
        return None
    longest_ms = max(before.join_timeout_ms, own.join_timeout_ms) + _LATE_MS
    return (joined_at // 1_000 - longest_ms) * 1_000 if own.epoch == (before.epoch or 0) + 1 else None


def _milliseconds(since: int | None, until: int | None) -> int | None:
    """Return the milliseconds between two times; what is below a millisecond is cut off first."""
    return None if since is None or until is None else until // 1_000 - since // 1_000


def _except(names: Collection[str] | None, others: Collection[str] | None) -> tuple[str, ...] | None:
    return None if names is None or others is None else tuple(sorted({*names}.difference(others)))
