"""Who joined and who left a group of the KIP-848 protocol, a share group or a streams group, record by record.

Old records may be lost to compaction, and with them the joins of members. But each member writes its assignment within
seconds of every epoch: one that writes it, or leaves, without a join among the records *was there* before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import CLASSIC, Record

# A group begins with one member, and with epoch 1; since Kafka 4.3 with 2 (KAFKA-20268).
FIRST_EPOCH: Final = 2
JOIN: Final = "member_metadata"
_ASSIGNMENT: Final = "member_assignment"
_LEAVE: Final = "member_left"
OF_MEMBERS: Final = frozenset({JOIN, _LEAVE, _ASSIGNMENT, "static_member_away"})
_CURRENT_ASSIGNMENT: Final = "ConsumerGroupCurrentMemberAssignment"
# A member that sends no heartbeat for so long is fenced (group.consumer.max.session.timeout.ms).
_SILENT_US: Final = 60_000_000


class Membership(NamedTuple):
    """What is known of a group's members at the end of a date."""

    life: int = 0  # how many groups of this name were deleted, or moved to the classic protocol, before
    is_upgraded: bool = False
    least_epoch: int | None = None  # of this life
    has_changed: bool = False  # some member joined, left, or was there, in this life
    was_there: bool = False  # some member was there without a join among the records
    members: Mapping[str, int | None] = {}  # each member, and the last epoch at which it was STABLE
    left: tuple[str, ...] = ()  # members that left on the last date with records


class Change(NamedTuple):
    """A member that joined (1) or left (-1), at a place among the records of its life on a date."""

    at: int
    record: Record
    number: int


@dataclass(frozen=True, slots=True)
class LifeDay:
    """What one life of a group has of one date."""

    start: int  # the place of its first record among those of the date
    records: Sequence[Record]
    before: Membership
    changes: Sequence[Change]
    there: AbstractSet[str]  # members that were there before their first record on this date
    arrivals: AbstractSet[int]  # places where a member became STABLE at another epoch than before

    @property
    def is_removed(self) -> bool:
        """Whether the life ends with the last record."""
        return _ends_life(self.records[-1])

    @property
    def least_epoch(self) -> int | None:
        """The least epoch of the life so far."""
        epochs = [record.epoch for record in self.records if record.event_type == "group_epoch"]
        return min((epoch for epoch in (*epochs, self.before.least_epoch) if epoch is not None), default=None)

    @property
    def newest(self) -> int:
        """The time of the last record."""
        return max(record.time for record in self.records)

    def known_from(self, *later: LifeDay) -> int | None:
        """Return the place from which on it is known how many members there are; None if it is not known.

        It is if a change is among the records that shows that all members are known: the beginning or the end of the
        group is among the records, or others follow a minute later. `later` is the same life on the next date, if a
        view includes it.
        """
        if self.before.has_changed or any(day.there for day in (self, *later)):
            return 0
        newest = max(day.newest for day in (self, *later))
        epochs = [epoch for day in (self, *later) if (epoch := day.least_epoch) is not None]
        is_whole = self.before.life > 0 or min(epochs, default=FIRST_EPOCH + 1) <= FIRST_EPOCH
        is_whole = is_whole or any(day.is_removed for day in (self, *later))
        upgraded_at = self._upgraded_at()
        joined_at = newest
        for at, record, number in self.changes:
            if is_whole or at > upgraded_at or newest - record.time >= _SILENT_US or joined_at < record.time:
                return at
            if number > 0:
                joined_at = min(joined_at, record.time)
        return None

    def _upgraded_at(self) -> int:
        """Return the place of the classic group's removal, which keeps its members; after the end if there is none."""
        if self.before.is_upgraded:
            return -1
        upgrades = (at for at, record in enumerate(self.records) if _is_upgrade(record))
        return next(upgrades, len(self.records))


def split_lives(records: Sequence[Record], before: Membership) -> tuple[list[LifeDay], Membership]:
    """Return the lives of a date, whose records are in order of the log, and what is known at its end."""
    lives, start, membership = [], 0, before
    ends = [at + 1 for at, record in enumerate(records) if _ends_life(record)]
    for end in [*ends, len(records)]:
        if end > start:
            life, members = _follow(start, records[start:end], membership)
            lives.append(life)
            membership = _after(life, members)
        start = end
    return lives, membership


def _follow(start: int, records: Sequence[Record], before: Membership) -> tuple[LifeDay, dict[str, int | None]]:
    """Return the life on the date, and its members at the end."""
    members, left = dict(before.members), set(before.left)
    changes: list[Change] = []
    there: set[str] = set()
    arrivals: set[int] = set()
    for at, record in enumerate(records):
        name = record.member_id
        if record.event_type not in OF_MEMBERS or name is None:
            continue
        is_member, is_leave = name in members, record.event_type == _LEAVE
        is_new = not is_member and name not in left
        if is_new and record.event_type != JOIN:
            there.add(name)
        if is_leave:
            if is_member or is_new:
                changes.append(Change(at, record, -1))
            members.pop(name, None)
            left.add(name)
            continue
        if not is_member:
            if name not in there or name in left:
                changes.append(Change(at, record, 1))
            members[name] = None
        if _is_arrival(record) and members[name] != record.epoch:
            members[name] = record.epoch
            arrivals.add(at)
    return LifeDay(start, records, before, changes, there, arrivals), members


def _after(day: LifeDay, members: Mapping[str, int | None]) -> Membership:
    before = day.before
    if day.is_removed:
        return Membership(before.life + 1)
    left = {change.record.member_id or "" for change in day.changes if change.number < 0}
    return Membership(
        before.life,
        is_upgraded=before.is_upgraded or any(map(_is_upgrade, day.records)),
        least_epoch=day.least_epoch,
        has_changed=before.has_changed or bool(day.changes or day.there),
        was_there=before.was_there or bool(day.there),
        members=members,
        left=tuple(sorted(left - members.keys())),
    )


def _ends_life(record: Record) -> bool:
    return record.event_type == "group_removed" and record.type != CLASSIC


def _is_upgrade(record: Record) -> bool:
    return record.event_type == "group_removed" and record.type == CLASSIC


def _is_arrival(record: Record) -> bool:
    is_current = record.type == _CURRENT_ASSIGNMENT and record.event_type == _ASSIGNMENT
    return is_current and record.member_state == "STABLE"
