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
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import Record
from kafka_groups.pipeline.transform.kernels.memberships import FIRST_EPOCH, Life
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


@dataclass
class Span:
    """What happened to a KIP-848 group's members since its last epoch, removal or online upgrade."""

    has_begun: bool = False  # one of these is among the records
    kept: Collection[str] | None = ()  # members that an upgrade kept, who do not join; None if they are not known
    epoch: int | None = None  # the last one of this life
    change: int = 0
    joined: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        # In a state, they are lists.
        self.joined, self.left = set(self.joined), set(self.left)

    def count(self, name: str, number: int) -> None:
        """Take in a member that joined (1) or left (-1)."""
        if number < 0:
            self.left.add(name)
        elif name in (self.kept or ()):
            return
        else:
            self.joined.add(name)
        self.change += number


@dataclass(frozen=True, slots=True)
class Epoch:
    """The first record of an epoch, and which members reached it."""

    life: Life
    at: int  # the record's place in the life
    record: Record
    span: Span  # what happened before it
    change: int  # of the number of members, in what was read of this life until then
    joined_at: int | None  # the first join, as far as that
    arrivals: dict[str, int] = field(default_factory=dict)  # when members that were there before it reached it

    def rebalance(self, next_epoch: Epoch | None) -> Rebalance:
        """Return the rebalance that began with the epoch, from what was read until now.

        If the next epoch begins before all members have reached this one, it is `overtaken` and ends there; if not all
        have by the end, it is open. Members whose join is not among the records must reach it, too; if it is not known
        how many there were, it is not known whether all did: the next epoch is a bound then.
        """
        started_at, ended_at = self.record.at_us, None
        members = self._members_after()
        if members is not None and len(self.arrivals) >= members:
            quality, ended_at = "exact", max([started_at, *self.arrivals.values()])
        elif next_epoch is not None:
            quality, ended_at = "bound" if members is None else "overtaken", next_epoch.record.at_us
        else:
            quality = "unknown" if members is None else "open"
        span = self._what_happened(members)
        joined, left = (None, None) if span is None else (span.joined, span.left)
        before = None if members is None or span is None else members - span.change
        times = started_at, ended_at, _milliseconds(started_at, ended_at)
        came, went = _except(joined, left), _except(left, joined)
        return Rebalance("consumer", self.record.epoch or 0, *times, quality, None, before, members, came, went)

    def _members_after(self) -> int | None:
        """Return the number of members at the epoch; None if only those that joined are known."""
        known_from = self.life.known_from()
        is_known = known_from is not None and known_from <= self.at
        if not is_known and (self.joined_at is None or self.joined_at >= self.record.at_us):
            return None
        return len(self.life.before.members) + len(self.life.there) + self.change

    def _what_happened(self, members: int | None) -> Span | None:
        """Return who joined and left, or None if it is not known who was there.

        Compaction removes the classic group's last record with the upgrade, and the first epoch that remains of a group
        need not be its first one. But if members show that they were there, those of the epoch's own batch are those
        that joined.
        """
        if self.span.has_begun:
            return None if self.span.kept is None else self.span
        if self.life.was_there:
            batch = Span()
            for change in self.life.changes_of_batch(self.at):
                batch.count(change.record.member_id or "", change.number)
            return batch
        is_first = (self.record.epoch or 0) <= FIRST_EPOCH and members is not None and members <= 1
        return self.span if is_first else None


class Generation(NamedTuple):
    """The last record of a classic group, or the downgrade that began one."""

    epoch: int | None  # None: the group was removed, or downgraded, so any generation after it is another one
    members: Collection[str] | None
    time: int
    join_timeout_ms: int | None

    @classmethod
    def of(cls, record: Record) -> Generation:
        """Return the generation of a record; a rebalance waits no time for a group without members."""
        if record.event_type == "generation":
            return cls(record.epoch, record.ids, record.at_us, record.join_timeout_ms)
        return cls(record.epoch, (), record.at_us, 0)


def classic_rebalance(record: Record, before: Generation | None) -> Rebalance | None:
    """Return the rebalance that ended with this record, if its generation is another one than before."""
    # Generation 0 is a group that was just created (brokers since 4.0 write it).
    if record.event_type == "group_removed" or record.epoch is None or record.epoch <= 0:
        return None
    if before is not None and before.epoch == record.epoch:
        return None
    # A group's first generation is 1, and had no members before; any other first record had others before it.
    if before is None and record.epoch == 1:
        before = Generation(0, (), 0, 0)
    is_known = record.state_us is not None and record.state_us // 1_000 <= record.at_us // 1_000
    joined_at = record.state_us if is_known else None
    own, others = Generation.of(record), before or Generation(None, None, 0, None)
    since = max(others.time, _join_since(joined_at, own, others) or 0)
    # A rebalance is followed until the end of the day after it began.
    is_usable = since <= record.at_us and record.at_us // DAY_US - since // DAY_US <= 1
    started_at = since if is_usable else record.at_us
    times = started_at, record.at_us, _milliseconds(since, record.at_us) if is_usable else None
    sync_ms = _milliseconds(joined_at, record.at_us) if record.event_type == "generation" else None
    before_size, size = (None if names is None else len(names) for names in (others.members, own.members))
    came, went = _except(own.members, others.members), _except(others.members, own.members)
    return Rebalance("classic", record.epoch, *times, "bound", sync_ms, before_size, size, came, went)


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
