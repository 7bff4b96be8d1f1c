"""The members of a group with a record for each member (KIP-848 groups, share groups and streams groups).

A member joins with its first record MemberMetadata, and leaves with the tombstone of that record. Compaction may have
removed joins of members that are still in the group. So there are five states of a member:

| member | what the records show | when it counts |
|---|---|---|
| present | its join, and no leave since | from its join on |
| preexisting | an assignment without a join: it joined before the first record left | from the first record on |
| unseen joiner | an assignment without a join: it joined after the first record | from its assignment on |
| unseen leaver | only its leave: compaction replaced its join by the leave | just before its leave |
| kept | an online upgrade of a classic group kept it, and its join may be lost | from the upgrade on |

- Every member writes an assignment within seconds of a new epoch. So when one preexisting member has written, all have.
- An unseen joiner is certain if all members were known before, or if the assignment is its first one and belongs to an
  epoch that the records lack. Compaction replaced its join by a later record, or a clock that is ahead dated the join
  to the next day. Numbers before its assignment stay the same.
- Before an unseen leaver's leave, the number is UNKNOWN_COUNT if no other member is known.

The number of members is UNKNOWN_COUNT until one of these holds: the records include the group's start; a preexisting
member or unseen leaver was seen; a minute of records follows a join or leave; an earlier join made every member write.

Example: `a` joins a new group, `b` joins and leaves, and after two hours `x` leaves, whose join is lost, and then `a`.

>>> def row(seconds, event, member):
...     return GroupRecord(0, seconds, seconds * 1_000_000, "ConsumerGroupMemberMetadata", event, member_id=member)
>>> history = MemberHistory(Membership(is_complete=True))
>>> rows = [row(0, "member_metadata", "a"), row(9, "member_metadata", "b"), row(60, "member_left", "b")]
>>> for index, record in enumerate([*rows, row(7_200, "member_left", "x"), row(7_201, "member_left", "a")]):
...     change = history.read(index, record)
>>> [(entry.at_us // 1_000_000, entry.member_count) for entry in history.entries()]
[(0, 1), (9, 2), (60, 1), (7200, 2), (7200, 1), (7201, 0)]
>>> history.membership().departed
['a', 'b', 'x']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.kernels.group_records import (
    GROUP_EPOCH,
    MEMBER_ASSIGNMENT,
    MEMBER_LEFT,
    MEMBER_METADATA,
    STATIC_MEMBER_AWAY,
    GroupRecord,
)
from kafka_groups.pipeline.build.kernels.group_timeline import UNKNOWN_COUNT, TimelineEntry
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL

_MEMBER_EVENTS: Final = frozenset({MEMBER_METADATA, MEMBER_LEFT, MEMBER_ASSIGNMENT, STATIC_MEMBER_AWAY})
# The default of group.consumer.max.session.timeout.ms, which can be raised. A broker removes a member that has sent no
# heartbeat for this time.
_SESSION_TIMEOUT_US: Final = 60_000_000


class Membership(NamedTuple):
    """The members of a group at the end of a day; an earlier group of the same name does not count."""

    is_complete: bool = False  # all members are known: the beginning of the group is among the records
    has_changed: bool = False  # a member joined or left, or a preexisting member was seen
    has_preexisting: bool = False  # a preexisting member or an unseen leaver was seen
    members: Mapping[str, int | None] = {}  # epoch at which each present member was last STABLE; None if never
    departed: Sequence[str] = ()  # sorted ids of members that left on the last day with records of members
    kept_members: Sequence[str] = ()  # sorted ids of members that an upgrade kept, and that wrote no record since


@dataclass(slots=True)
class MemberChange:
    """A join or a leave of a member."""

    record_index: int  # index of the record among those that were read
    at_us: int  # time of the record, in microseconds since 1970
    member_id: str
    step: int  # 1 for a join, -1 for a leave
    is_unseen: bool  # the leave is the only record of the member
    # True if `entries` counts this change as a join although the member joined earlier: its join record is lost, and it
    # resubscribed or wrote its first visible assignment. None until the member's next record shows whether it joined.
    has_joined_earlier: bool | None


class MemberHistory:
    """The members of one incarnation of a group, as the records show them that were read until now.

    Each further record may also correct the past: a member that turns out to be preexisting was present from the start.
    """

    def __init__(self, initial_membership: Membership) -> None:
        """Begin with the membership before the first record, which stays as it is."""
        self._initial_membership = initial_membership
        self._is_complete = initial_membership.is_complete
        self._members = dict(initial_membership.members)
        self._departed = set(initial_membership.departed)
        self._preexisting = set[str]()
        self._changes = list[MemberChange]()
        self._last_joins: dict[str, MemberChange] = {}
        self._first_record: GroupRecord | None = None
        self._first_index = 0
        self._newest_us = NULL
        self._newest_epoch: int | None = None
        self._kept_members = set(initial_membership.kept_members)
        # Index of the last leave of an unseen leaver that may have joined before the first record; -1 if there is none.
        self._last_unseen_index = -1
        self._first_join_us = LARGEST

    def note_time(self, record: GroupRecord) -> None:
        """Note the time of a record of the group, of any type, to find out when a member is alone in the group.

        A join or leave begins a new epoch, and every member writes an assignment for it. If no other member has written
        one within the session timeout, there is no other member.
        """
        self._newest_us = max(self._newest_us, record.at_us)

    def mark_complete(self, kept_members: Collection[str] = ()) -> None:
        """Mark all members as known, because the group was created, removed, or upgraded with `kept_members`."""
        self._is_complete = True
        self._kept_members.update(kept_members)

    def read(self, record_index: int, record: GroupRecord) -> MemberChange | None:
        """Apply the next record; return the join or leave that it shows, or None if it shows neither.

        `record_index` is the record's index among all records that were read, and must increase. Records of classic
        groups are not allowed.
        """
        self.note_time(record)
        if self._first_record is None:
            self._first_record = record
            self._first_index = record_index
        if record.event_type == GROUP_EPOCH:
            self._newest_epoch = record.epoch
        if record.event_type not in _MEMBER_EVENTS or record.member_id is None:
            return None
        self._notice_resubscription(record.member_id, record)
        apply_record = self._leave if record.event_type == MEMBER_LEFT else self._mark_present
        change = apply_record(record_index, record, record.member_id)
        self._kept_members.discard(record.member_id)
        return change

    def _notice_resubscription(self, member_id: str, record: GroupRecord) -> None:
        """Decide by a member's next record whether the member really joined, or only resubscribed."""
        join = self._last_joins.get(member_id)
        if join is not None and join.has_joined_earlier is None:
            # The first assignment of a member that has just joined has no previous epoch.
            join.has_joined_earlier = (record.previous_epoch or 0) > 0

    def _leave(self, record_index: int, record: GroupRecord, member_id: str) -> MemberChange | None:
        """Apply a leave; return it, or None if the member has already left.

        A member that is neither present nor has left is an unseen leaver, unless an online upgrade kept it: then it has
        been present since the upgrade.
        """
        was_present = member_id in self._members
        if not was_present and member_id in self._kept_members:
            self._preexisting.add(member_id)
            was_present = True
        if not was_present and member_id in self._departed:
            return None
        self._members.pop(member_id, None)
        self._departed.add(member_id)
        if not was_present and not self._is_complete:
            self._last_unseen_index = record_index
        change = MemberChange(record_index, record.at_us, member_id, -1, not was_present, has_joined_earlier=False)
        self._changes.append(change)
        return change

    def _mark_present(self, record_index: int, record: GroupRecord, member_id: str) -> MemberChange | None:
        """Apply a record that only present members write; return the join that it shows, or None.

        A member that writes its first record without a join is preexisting or an unseen joiner.
        """
        if member_id in self._members:
            return None
        self._members[member_id] = None
        is_join = record.event_type == MEMBER_METADATA
        is_first_record = not is_join and member_id not in self._departed
        if is_first_record and not self._is_unseen_joiner(record):
            self._preexisting.add(member_id)
            return None
        has_joined_earlier = None if is_join else is_first_record
        change = MemberChange(
            record_index, record.at_us, member_id, 1, is_unseen=False, has_joined_earlier=has_joined_earlier
        )
        self._changes.append(change)
        self._last_joins[member_id] = change
        self._first_join_us = min(self._first_join_us, record.at_us)
        return change

    def _is_unseen_joiner(self, record: GroupRecord) -> bool:
        """Return whether a member is an unseen joiner. `record` is its first one, and is no join.

        While no join or leave has been counted, the member may have joined at any time before. A member that an online
        upgrade kept was present before.
        """
        has_counted_changes = self._initial_membership.has_changed or bool(self._changes)
        if not has_counted_changes or record.member_id in self._kept_members:
            return False
        has_lost_epoch = self._newest_epoch is not None and (record.epoch or 0) > self._newest_epoch
        return self._is_complete or (has_lost_epoch and record.previous_epoch == 0)

    def reach_epoch(self, member_id: str, epoch: int | None) -> bool:
        """Note that a present member is STABLE at an epoch; return False if that was known already."""
        is_new = self._members[member_id] != epoch
        self._members[member_id] = epoch
        return is_new

    def joined_before(self, member_id: str, record_index: int) -> bool:
        """Return whether a member last joined before the record at `record_index`, or before all records."""
        join = self._last_joins.get(member_id)
        return join is None or join.record_index < record_index

    @property
    def present_count(self) -> int:
        """The number of present members after the last record, minus all preexisting members seen until then.

        It is negative if preexisting members have left. Once all records are read, add the final `preexisting_count`:
        the sum is the number of members at that time.
        """
        return len(self._members) - len(self._preexisting)

    @property
    def preexisting_count(self) -> int:
        """The number of preexisting members seen until now, including those that have left."""
        return len(self._preexisting)

    def is_known_at(self, record_index: int, at_us: int) -> bool:
        """Return whether the number of members is known at the record with this index and time (µs since 1970)."""
        return at_us > self._first_join_us or self._known_from() <= record_index

    def has_unseen_leave_after(self, record_index: int) -> bool:
        """Return whether an unseen leaver, which may have been present at the record with this index, left after it."""
        return self._last_unseen_index > record_index

    def _known_from(self) -> int:
        """Return the index of the record from which on the number of members is known; LARGEST if it never is."""
        if self._initial_membership.has_changed or self._preexisting:
            return 0
        silent_until_us = self._newest_us - _SESSION_TIMEOUT_US
        for change in self._changes:
            was_alone_for_long = change.at_us <= silent_until_us
            if self._is_complete or change.is_unseen or was_alone_for_long or change.at_us > self._first_join_us:
                return change.record_index
        return LARGEST

    def has_preexisting_at(self, record_index: int) -> bool:
        """Return whether members joined before the records: a preexisting one, or an unseen leaver up to this index."""
        has_left = any(change.is_unseen and change.record_index <= record_index for change in self._changes)
        return self._initial_membership.has_preexisting or bool(self._preexisting) or has_left

    def changes_in_batch(self, record_index: int, at_us: int) -> list[MemberChange]:
        """Return the joins and leaves that the broker wrote in one batch with a record, up to that record.

        All records of a batch have the same time, `at_us` (µs since 1970). Joins of members that joined earlier are
        excluded.
        """
        return [
            change
            for change in self._changes
            if change.record_index <= record_index and change.at_us == at_us and not change.has_joined_earlier
        ]

    def entries(self) -> Iterator[TimelineEntry]:
        """Yield the number of members whenever it changes, in the order of the log.

        The first record has an entry if there are preexisting members. An entry follows each join and leave, and one
        precedes the leaves of unseen leavers. The state is Empty where no member remains, else None.
        """
        member_count = len(self._initial_membership.members) + len(self._preexisting)
        known_from = self._known_from()
        if self._preexisting and self._first_record is not None:
            yield TimelineEntry(self._first_record.at_us, self._first_index, None, member_count)
        for at_us, changes_of_batch in groupby(self._changes, attrgetter("at_us")):
            changes = list(changes_of_batch)
            # Unseen leavers were present just before the batch of their leaves, whose records have one time.
            unseen_leavers = sum(change.is_unseen for change in changes)
            if unseen_leavers:
                member_count += unseen_leavers
                yield TimelineEntry(at_us, changes[0].record_index, None, member_count)
            for change in changes:
                member_count += change.step
                # Zero members are not certain while a member whose join is lost still leaves later.
                is_certain = member_count > 0 or self._last_unseen_index <= change.record_index
                is_known = known_from <= change.record_index and is_certain
                state = "Empty" if is_known and member_count == 0 else None
                yield TimelineEntry(at_us, change.record_index, state, member_count if is_known else UNKNOWN_COUNT)

    def membership(self) -> Membership:
        """Return the membership after the last record, or the initial one if no record was read."""
        departed = self._initial_membership.departed
        if self._first_record is not None:
            leavers = {change.member_id for change in self._changes if change.step < 0}
            departed = sorted(leavers - self._members.keys())
        has_preexisting = self.has_preexisting_at(LARGEST)
        has_changed = self._initial_membership.has_changed or has_preexisting or bool(self._changes)
        kept_members = sorted(self._kept_members)
        return Membership(self._is_complete, has_changed, has_preexisting, dict(self._members), departed, kept_members)
