"""Members and rebalances of a group of the KIP-848 protocol, a share group or a streams group, record by record.

A KIP-848 group rebalances from the record of an epoch until the last member is STABLE at that epoch. Old records may be
lost to compaction, and with them the joins of members. But each member writes its assignment within seconds of every
epoch: one that writes it, or leaves, without a join among the records *was there* before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.kernels.segments import LARGEST, NULL

CLASSIC: Final = "GroupMetadata"
CONSUMER: Final = "ConsumerGroupMetadata"
REMOVED: Final = "group_removed"
# A number of members: an event showed that it is not known any more. It is NULL where no event says anything of it.
UNKNOWN: Final = -1
# A group begins with one member, and with epoch 1; since Kafka 4.3 with 2 (KAFKA-20268).
_FIRST_EPOCH: Final = 2
_JOIN: Final = "member_metadata"
_LEAVE: Final = "member_left"
_ASSIGNMENT: Final = "member_assignment"
_OF_MEMBERS: Final = frozenset({_JOIN, _LEAVE, _ASSIGNMENT, "static_member_away"})
# A member that sends no heartbeat for so long is fenced (group.consumer.max.session.timeout.ms).
_SILENT_US: Final = 60_000_000
# What holds of a group from a record on: the record's time and place in the log, the state, and the number of members.
Entry = tuple[int, int, str | None, int]


class Record(NamedTuple):
    """A record of a group in __consumer_offsets: columns of GROUP_INPUT, and what its lists say."""

    source_partition: int
    source_offset: int
    at_us: int
    type: str
    event_type: str
    epoch: int | None
    previous_epoch: int | None
    member_id: str | None
    member_state: str | None
    state_us: int | None
    expression: str | None
    ids: tuple[str, ...] | None  # of all members that the record lists, sorted
    join_timeout_ms: int | None  # the longest rebalance timeout of these; None if a static member may exceed it
    topics: tuple[str, ...]  # that the record and its members name


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


class Membership(NamedTuple):
    """What is known of a group's members at the end of a day, since the last group of this name was removed."""

    is_whole: bool = False  # its first epoch, an upgrade, or the removal before it was among the records
    has_changed: bool = False  # some member joined, left, or was there
    was_there: bool = False  # some member was there without a join among the records
    members: Mapping[str, int | None] = {}  # each member, and the last epoch at which it was STABLE
    left: Sequence[str] = ()  # members that left on the last day with records


@dataclass(slots=True)
class Change:
    """A member that joined (1) or left (-1)."""

    at: int  # the record's place
    at_us: int
    name: str
    number: int
    is_again: bool | None  # it only subscribed to other topics; None until its next record, which shows that


@dataclass
class Span:
    """What happened to a KIP-848 group's members since its last epoch, removal or online upgrade."""

    has_begun: bool = False  # one of these is among the records
    kept: Collection[str] | None = ()  # members that an upgrade kept, who do not join; None if they are not known
    epoch: int | None = None  # the last one of this life
    names: dict[str, int] = field(default_factory=dict)  # members that joined (1), left (-1), or both (0)

    def count(self, name: str, number: int) -> None:
        """Take in a member that joined (1) or left (-1)."""
        if number < 0 or name not in (self.kept or ()):
            self.names[name] = self.names.get(name, 0) + number

    def names_of(self, *numbers: int) -> tuple[str, ...]:
        """Return the members that joined (1), left (-1), or both (0)."""
        return tuple(sorted(name for name, number in self.names.items() if number in numbers))


class Epoch(NamedTuple):
    """The first record of an epoch, and which members reached it."""

    at: int  # the record's place
    at_us: int
    number: int
    span: Span  # what happened before it
    members: int  # without those that were there before their first record
    arrivals: dict[str, int]  # when members that were there before it reached it


class Life:
    """One life of a group: its records from the beginning of a day on, until the group is removed."""

    def __init__(self, before: Membership, span: Span) -> None:
        self._before, self.span, self.is_removed = before, span, False
        self.epochs = list[Epoch]()
        self._there = set[str]()  # members that were there before their first record
        self._changes = list[Change]()
        self._first: tuple[int, int] | None = None  # time and place of the first record that is not classic
        self._newest, self._joined_us = NULL, LARGEST  # the last time, and that of the first join
        self._is_whole = before.is_whole  # all members are known: its beginning or end is among the records
        self._members, self._left = dict(before.members), set(before.left)
        self._joins: dict[str, Change] = {}  # the last one of each member

    def upgrade(self, members: Collection[str] | None) -> None:
        """Take in that a classic group is removed, whose members an online upgrade keeps."""
        self.span.has_begun, self.span.kept, self._is_whole = True, members, True

    def read(self, at: int, record: Record) -> None:
        """Take in the next record, and its place among all."""
        self._newest = max(self._newest, record.at_us)
        if record.type == CLASSIC:
            return
        self._first = self._first or (record.at_us, at)
        if record.event_type == REMOVED:
            self.is_removed = self._is_whole = True
            is_consumer = record.type == CONSUMER
            # The next life may be a group of another kind.
            self.span = Span(is_consumer or self.span.has_begun, () if is_consumer else self.span.kept)
        elif record.event_type == "group_epoch":
            self._is_whole |= record.epoch is not None and record.epoch <= _FIRST_EPOCH
            if record.type == CONSUMER and record.epoch != self.span.epoch:
                members = len(self._members) - len(self._there)
                self.epochs.append(Epoch(at, record.at_us, record.epoch or 0, self.span, members, {}))
                self.span = Span(has_begun=True, epoch=record.epoch)
        elif record.event_type in _OF_MEMBERS and record.member_id is not None:
            self._read_member(at, record, record.member_id)

    def _read_member(self, at: int, record: Record, name: str) -> None:
        is_member, has_left, join = name in self._members, name in self._left, self._joins.get(name)
        if join is not None and join.is_again is None:
            # A member that subscribes to other topics writes that as if it joined, but has an epoch before.
            join.is_again = (record.previous_epoch or 0) > 0
        if not is_member and not has_left and record.event_type != _JOIN:
            self._there.add(name)
        if record.event_type == _LEAVE:
            self._members.pop(name, None)
            self._left.add(name)
            if is_member or not has_left:
                self._change(at, record, name, -1)
            return
        if not is_member:
            self._members[name] = None
            if has_left or record.event_type == _JOIN:
                self._change(at, record, name, 1)
        is_current = record.type == "ConsumerGroupCurrentMemberAssignment" and record.event_type == _ASSIGNMENT
        if is_current and record.member_state == "STABLE" and self._members[name] != record.epoch:
            self._members[name] = record.epoch
            epoch, join = self.epochs[-1] if self.epochs else None, self._joins.get(name)
            # A member that joins with the next epoch is first STABLE, with no partitions, at the epoch before.
            if epoch is not None and epoch.number == record.epoch and (join is None or join.at < epoch.at):
                epoch.arrivals.setdefault(name, record.at_us)

    def _change(self, at: int, record: Record, name: str, number: int) -> None:
        change = Change(at, record.at_us, name, number, None if record.event_type == _JOIN else False)
        self._changes.append(change)
        if number > 0:
            self._joins[name], self._joined_us = change, min(self._joined_us, record.at_us)
        if record.type.startswith("ConsumerGroup"):
            self.span.count(name, number)

    def membership(self) -> Membership:
        """Return what is known now."""
        if self.is_removed:
            return Membership(is_whole=True)
        gone = (change.name for change in self._changes if change.number < 0)
        left = sorted({*gone} - self._members.keys()) if self._first else self._before.left
        was_there = self._before.was_there or bool(self._there)
        has_changed = self._before.has_changed or was_there or bool(self._changes)
        return Membership(self._is_whole, has_changed, was_there, self._members, left)

    def _known_from(self) -> int:
        """Return the place from which on the number of members is known; LARGEST if it is not.

        A change shows it if the group's beginning or end is among the records, or if others follow a minute later.
        """
        if self._before.has_changed or self._there:
            return 0
        silent_us, joined_us = self._newest - _SILENT_US, self._joined_us
        known = (one.at for one in self._changes if self._is_whole or not silent_us < one.at_us <= joined_us)
        return next(known, LARGEST)

    def entries(self) -> Iterator[Entry]:
        """Return the number of members after each join and leave; a state only if nobody remains to rebalance."""
        members, known_from = len(self._before.members) + len(self._there), self._known_from()
        if self._there and self._first:
            yield *self._first, None, members
        for change in self._changes:
            members += change.number
            is_known = known_from <= change.at
            state = "Empty" if is_known and members == 0 else None
            yield change.at_us, change.at, state, members if is_known else UNKNOWN

    def rebalance(self, epoch: Epoch, next_epoch: Epoch | None) -> Rebalance:
        """Return the rebalance that began with an epoch, from what was read until now.

        It is `overtaken` and ends if the next epoch begins before all members have reached this one, also those whose
        join is not among the records; if it is not known how many there were, the next epoch is a bound.
        """
        is_known = epoch.at_us > self._joined_us or self._known_from() <= epoch.at
        members = epoch.members + len(self._there) if is_known else None
        ended_at = None if next_epoch is None else next_epoch.at_us
        if members is not None and len(epoch.arrivals) >= members:
            quality, ended_at = "exact", max([epoch.at_us, *epoch.arrivals.values()])
        elif members is None:
            quality = "unknown" if next_epoch is None else "bound"
        else:
            quality = "open" if next_epoch is None else "overtaken"
        span = self._what_happened(epoch, members)
        before = None if members is None or span is None else members - sum(span.names.values())
        times = epoch.at_us, ended_at, milliseconds(epoch.at_us, ended_at)
        came, went = (None if span is None else span.names_of(number) for number in (1, -1))
        return Rebalance("consumer", epoch.number, *times, quality, None, before, members, came, went)

    def _what_happened(self, epoch: Epoch, members: int | None) -> Span | None:
        """Return who joined and left, or None if it is not known who was there.

        The first epoch that compaction left need not be the group's first one. But if members show that they were
        there, those joined that are in the epoch's own batch, whose records have one time.
        """
        if epoch.span.has_begun:
            return None if epoch.span.kept is None else epoch.span
        if self._before.was_there or self._there:
            batch = Span()
            for change in self._changes:
                if change.at <= epoch.at and change.at_us == epoch.at_us and not change.is_again:
                    batch.count(change.name, change.number)
            return batch
        return epoch.span if epoch.number <= _FIRST_EPOCH and members is not None and members <= 1 else None


def milliseconds(since: int | None, until: int | None) -> int | None:
    """Return the milliseconds between two times; what is below a millisecond is cut off first."""
    return None if since is None or until is None else until // 1_000 - since // 1_000
