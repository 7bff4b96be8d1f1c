"""Who joined and who left a group of the KIP-848 protocol, a share group or a streams group, record by record.

Old records may be lost to compaction, and with them the joins of members. But each member writes its assignment within
seconds of every epoch: one that writes it, or leaves, without a join among the records *was there* before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import CLASSIC, UNKNOWN, Record

EMPTY: Final = "Empty"
# A group begins with one member, and with epoch 1; since Kafka 4.3 with 2 (KAFKA-20268).
FIRST_EPOCH: Final = 2
_JOIN: Final = "member_metadata"
_LEAVE: Final = "member_left"
_ASSIGNMENT: Final = "member_assignment"
_OF_MEMBERS: Final = frozenset({_JOIN, _LEAVE, _ASSIGNMENT, "static_member_away"})
_CURRENT_ASSIGNMENT: Final = "ConsumerGroupCurrentMemberAssignment"
# A member that sends no heartbeat for so long is fenced (group.consumer.max.session.timeout.ms).
_SILENT_US: Final = 60_000_000


class Membership(NamedTuple):
    """What is known of a group's members at the end of a day, since the last group of this name was removed."""

    is_whole: bool = False  # its first epoch, or the removal before it, was among the records
    is_upgraded: bool = False
    has_changed: bool = False  # some member joined, left, or was there
    was_there: bool = False  # some member was there without a join among the records
    members: Mapping[str, int | None] = {}  # each member, and the last epoch at which it was STABLE
    left: Sequence[str] = ()  # members that left on the last day with records


class Entry(NamedTuple):
    """What holds of a group from a record on. At the same time the place in the log decides."""

    time: int
    at: int
    state: str | None
    members: int


class Change(NamedTuple):
    """A member that joined (1) or left (-1), at a place among the records of its life."""

    at: int
    record: Record
    number: int


class Life:
    """One life of a group: its records from the beginning of a day on, until the group is removed."""

    def __init__(self, before: Membership, start: int) -> None:
        self.before, self.start = before, start  # the place of its first record among all
        self.records: list[Record] = []
        self.changes: list[Change] = []
        self.there: set[str] = set()  # members that were there before their first record
        self.is_whole, self.was_there, self.is_removed = before.is_whole, before.was_there, False
        self.change = 0  # of the number of members, in what was read of it
        self.joined_at: int | None = None  # the first join
        self._newest = 0
        # The place of the classic group's removal, which keeps its members.
        self._upgraded_at = -1 if before.is_upgraded else None
        self._members, self._left = dict(before.members), set(before.left)

    def read(self, record: Record) -> tuple[Change | None, bool]:
        """Take in the next record; return its change, and whether the member became STABLE at another epoch."""
        self.records.append(record)
        self._newest = max(self._newest, record.at_us)
        if record.event_type == "group_removed":
            if record.type != CLASSIC:
                self.is_removed = self.is_whole = True
            elif self._upgraded_at is None:
                self._upgraded_at = len(self.records) - 1
        elif record.event_type == "group_epoch" and record.epoch is not None and record.epoch <= FIRST_EPOCH:
            self.is_whole = True
        elif record.event_type in _OF_MEMBERS and record.member_id is not None:
            return self._read_member(record, record.member_id)
        return None, False

    def _read_member(self, record: Record, name: str) -> tuple[Change | None, bool]:
        is_member, has_left = name in self._members, name in self._left
        if not is_member and not has_left and record.event_type != _JOIN:
            self.there.add(name)
            self.was_there = True
        if record.event_type == _LEAVE:
            self._members.pop(name, None)
            self._left.add(name)
            return self._change(record, -1) if is_member or not has_left else None, False
        change = None
        if not is_member:
            change = self._change(record, 1) if has_left or name not in self.there else None
            self._members[name] = None
        is_current = record.type == _CURRENT_ASSIGNMENT and record.event_type == _ASSIGNMENT
        is_arrival = is_current and record.member_state == "STABLE" and self._members[name] != record.epoch
        if is_arrival:
            self._members[name] = record.epoch
        return change, is_arrival

    def _change(self, record: Record, number: int) -> Change:
        self.changes.append(Change(len(self.records) - 1, record, number))
        self.change += number
        if number > 0:
            self.joined_at = record.at_us if self.joined_at is None else min(self.joined_at, record.at_us)
        return self.changes[-1]

    def membership(self) -> Membership:
        """Return what is known now."""
        if self.is_removed:
            return Membership(is_whole=True)
        left = {change.record.member_id or "" for change in self.changes if change.number < 0}
        return Membership(
            self.is_whole,
            self._upgraded_at is not None,
            self.before.has_changed or bool(self.changes or self.there),
            self.was_there,
            dict(self._members),
            sorted(left - self._members.keys()),
        )

    def known_from(self) -> int | None:
        """Return the place from which on it is known how many members there are; None if it is not known.

        It is if a change is among the records that shows that all members are known: the beginning or the end of the
        group is among the records, or others follow a minute later.
        """
        if self.before.has_changed or self.there:
            return 0
        joined_at = self._newest
        for at, record, number in self.changes:
            is_upgraded = self._upgraded_at is not None and at > self._upgraded_at
            if self.is_whole or is_upgraded or self._newest - record.at_us >= _SILENT_US or joined_at < record.at_us:
                return at
            if number > 0:
                joined_at = min(joined_at, record.at_us)
        return None

    def entries(self) -> Iterator[Entry]:
        """Return the number of members after each join and leave.

        A join or a leave begins a rebalance; records do not have the state that it ends with, except if nobody remains.
        """
        members, known_from = len(self.before.members) + len(self.there), self.known_from()
        if self.there:
            first = next(at for at, record in enumerate(self.records) if record.type != CLASSIC)
            yield Entry(self.records[first].at_us, self.start + first, None, members)
        for at, record, number in self.changes:
            members += number
            is_known = known_from is not None and known_from <= at
            state = EMPTY if is_known and members == 0 else None
            yield Entry(record.at_us, self.start + at, state, members if is_known else UNKNOWN)

    def changes_of_batch(self, until: int) -> list[Change]:
        """Return the changes that were written with the record at that place; the records of a batch have one time."""
        time = self.records[until].at_us
        return [one for one in self.changes if one.at <= until and one.record.at_us == time and not self._is_again(one)]

    def _is_again(self, change: Change) -> bool:
        """Return whether a member only subscribed to other topics: it writes that again, and has an epoch before."""
        others = (one for one in self.records[change.at + 1 :] if one.member_id == change.record.member_id)
        following = next((one for one in others if one.event_type in _OF_MEMBERS), None)
        return change.record.event_type == _JOIN and following is not None and (following.previous_epoch or 0) > 0
