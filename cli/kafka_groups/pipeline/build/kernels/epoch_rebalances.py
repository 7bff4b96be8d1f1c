"""Rebalances of groups with epochs (KIP-848 groups, share groups and streams groups), and the incarnations of a group.

A group may be removed and created again under the same name. An *incarnation* is a group from its creation to its
removal, or the part of this period that the records show.

Such a group *rebalances* from the record of a new epoch until all its members are STABLE at that epoch: each member
owns exactly the partitions or tasks that the epoch assigns to it. A member of a share group revokes nothing, and waits
for no other member. It is STABLE at an epoch when the coordinator has responded to its next heartbeat, so the duration
is the time until all members had their new assignment. An epoch of a share or streams group without members, such as a
reset of a share group's offsets writes, is no rebalance. The quality of the duration depends on what the records show:

- `exact`: all members reached the epoch before the next epoch began. The rebalance ended when the last member did.
- `overtaken`: the next epoch began before all members had reached this epoch, and ended the rebalance.
- `open`: no next epoch began, and at least one member has not reached this epoch.
- `bound`: the number of members is unknown (`membership`). The next epoch began, and bounds the duration.
- `unknown`: the number of members is unknown, and no next epoch began.

Records are read up to the end of the day after the start of the rebalance. `joined` and `left` are the members that
joined and left since the previous epoch; `members_before` is the number of members before these changes. All three are
None if the members at the previous epoch are unknown. `members_before` is also None if the number of members is
unknown.

Example: a group begins with the member `a`, and `b` joins 10 seconds later.

>>> def row(seconds, kind, event, epoch=None, member=None):
...     fields = {"epoch": epoch, "member_id": member, "member_state": "STABLE"}
...     return GroupRecord(0, seconds, seconds * 1_000_000, f"ConsumerGroup{kind}", event, **fields)
>>> group = GroupIncarnation(Membership(), EpochChanges(), EpochChanges())
>>> group.read(0, row(0, "MemberMetadata", "member_metadata", None, "a"))
>>> group.read(1, row(0, "Metadata", "group_epoch", 1))
>>> group.read(2, row(2, "CurrentMemberAssignment", "member_assignment", 1, "a"))
>>> group.read(3, row(10, "MemberMetadata", "member_metadata", None, "b"))
>>> group.read(4, row(10, "Metadata", "group_epoch", 2))
>>> first, second = group.epochs
>>> for rebalance in filter(None, (group.rebalance(first, second), group.rebalance(second, None))):
...     print(rebalance.generation, rebalance.duration_quality, rebalance.duration_ms, rebalance.joined)
1 exact 2000 ('a',)
2 open None ('b',)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.pipeline.build.kernels.group_records import (
    GROUP_EPOCH,
    GroupRecord,
)
from kafka_groups.pipeline.build.kernels.membership import MemberHistory, Membership
from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance, milliseconds_between

# A group begins with one member, and with epoch 1; since Kafka 4.3 with epoch 2 (KAFKA-20268).
_HIGHEST_FIRST_EPOCH: Final = 2


@dataclass
class EpochChanges:
    """The joins and leaves of a group since its last epoch, its removal or its online upgrade."""

    # True if that epoch, removal or upgrade is among the records: then all later joins and leaves are, too.
    has_start: bool = False
    # Members that an online upgrade keeps. They write member records, but do not join. None if they are unknown.
    kept_members: Collection[str] | None = ()
    epoch: int | None = None  # last epoch of this incarnation
    steps: dict[str, int] = field(default_factory=dict)  # by member: 1 joined, -1 left, 0 both

    def count(self, member_id: str, step: int) -> None:
        """Count a join (1) or a leave (-1) of a member."""
        if step < 0 or member_id not in (self.kept_members or ()):
            self.steps[member_id] = self.steps.get(member_id, 0) + step

    def joined(self) -> tuple[str, ...]:
        """Return the sorted ids of members that joined, except those that left again."""
        return tuple(sorted(member_id for member_id, step in self.steps.items() if step == 1))

    def left(self) -> tuple[str, ...]:
        """Return the sorted ids of members that left, except those that had joined since the epoch."""
        return tuple(sorted(member_id for member_id, step in self.steps.items() if step == -1))

    def all_left(self) -> tuple[str, ...]:
        """Return the sorted ids of members that left, including those that had joined since the epoch."""
        return tuple(sorted(member_id for member_id, step in self.steps.items() if step <= 0))


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch of a group, which begins with its first record."""

    is_kip_848: bool
    protocol: str  # consumer, share or streams

    record_index: int  # index of that record among those that were read
    at_us: int  # time of that record, in microseconds since 1970
    number: int
    changes: EpochChanges  # joins and leaves between the previous epoch and this one
    present_count: int  # members at that record (`MemberHistory.present_count`)
    arrivals: dict[str, int]  # by member that joined before the epoch: when it reached it, in µs since 1970


class GroupIncarnation:
    """A group from the beginning of a day, or from its creation, until it is removed."""

    def __init__(self, membership: Membership, changes: EpochChanges, other_changes: EpochChanges) -> None:
        """Begin with the membership and the changes before the first record.

        `changes` are those of the KIP-848 group, `other_changes` those of a share or streams group with the same id;
        both will be modified.
        """
        self.changes = changes
        self.other_changes = other_changes
        self.members = MemberHistory(membership)
        self.epochs = list[Epoch]()
        self.is_removed = False

    def upgrade(self, members: Collection[str] | None) -> None:
        """Apply the removal of a classic group; an online upgrade keeps its members (None: unknown)."""
        self.changes.has_start = True
        self.changes.kept_members = members
        # Share and streams groups keep no members of a classic group.
        self.other_changes = EpochChanges(has_start=True)
        self.members.mark_complete(members or ())

    def read(self, record_index: int, record: GroupRecord) -> None:
        """Apply the next record in the order of the log.

        `record_index` is the record's index among all records that were read, and must increase. No record may follow a
        removal. Call `upgrade` before the removal of a classic group.

        Records of members may change the members. After a removal of a group of any type, or an epoch of at most 2, all
        members are known. Only records of groups with epochs change `epochs` and `changes`.
        """
        if record.is_classic:
            self.members.note_time(record)
            return
        change = self.members.read(record_index, record)
        if change is not None and not change.has_joined_earlier:
            changes = self.changes if record.is_kip_848 else self.other_changes
            changes.count(change.member_id, change.step)
        if record.is_group_deletion:
            self._remove(record)
        elif record.event_type == GROUP_EPOCH:
            self._read_epoch(record_index, record)
        elif record.shows_stable_member:
            self._reach_epoch(record_index, record)

    def _remove(self, record: GroupRecord) -> None:
        """Apply the removal of a group of any type: all members are known, and no record may follow."""
        self.is_removed = True
        self.members.mark_complete()
        # The next incarnation begins with these changes. The removal of a share or streams group does not affect the
        # members that an upgrade of a classic group kept.
        self.other_changes = EpochChanges(has_start=True)
        if record.is_kip_848:
            self.changes = EpochChanges(has_start=True)
        else:
            self.changes = EpochChanges(self.changes.has_start, self.changes.kept_members)

    def _read_epoch(self, record_index: int, record: GroupRecord) -> None:
        """Apply an epoch of a group of any type.

        An epoch of at most 2 shows the beginning of the group: from then on, all its members are known. Only an epoch
        whose number differs from the last one begins an `Epoch`.
        """
        if record.epoch is not None and record.epoch <= _HIGHEST_FIRST_EPOCH:
            self.members.mark_complete()
        changes = self.changes if record.is_kip_848 else self.other_changes
        if record.epoch == changes.epoch:
            return
        epoch = Epoch(
            is_kip_848=record.is_kip_848,
            protocol=record.protocol,
            record_index=record_index,
            at_us=record.at_us,
            number=record.epoch or 0,
            changes=changes,
            present_count=self.members.present_count,
            arrivals={},
        )
        self.epochs.append(epoch)
        if record.is_kip_848:
            self.changes = EpochChanges(has_start=True, epoch=record.epoch)
        else:
            self.other_changes = EpochChanges(has_start=True, epoch=record.epoch)

    def _reach_epoch(self, record_index: int, record: GroupRecord) -> None:
        """Apply a record of a member that is STABLE at an epoch.

        The first such record at the newest epoch is the member's arrival, if the member joined before that epoch began.
        """
        member_id = str(record.member_id)
        is_first_time = self.members.reach_epoch(member_id, record.epoch)
        if not is_first_time or not self.epochs:
            return
        epoch = self.epochs[-1]
        # A member that joins with the next epoch is first STABLE at the previous one, without partitions.
        if epoch.number == record.epoch and self.members.joined_before(member_id, epoch.record_index):
            epoch.arrivals.setdefault(member_id, record.at_us)

    def membership(self) -> Membership:
        """Return the membership after the last record; after a removal, the membership of the next incarnation."""
        return Membership(is_complete=True) if self.is_removed else self.members.membership()

    def rebalance(self, epoch: Epoch, next_epoch: Epoch | None) -> Rebalance | None:
        """Return the rebalance that began with one of `epochs`, as shown by the records that were read.

        `next_epoch` is the following epoch, which may belong to the next incarnation; None if none began. Return None
        if the group had no members, and none had joined or left since the epoch before.
        """
        member_count = None
        if self.members.is_known_at(epoch.record_index, epoch.at_us):
            member_count = epoch.present_count + self.members.preexisting_count
        # No member was counted, but later a member left whose join is lost.
        if member_count == 0 and self.members.has_unseen_leave_after(epoch.record_index):
            member_count = None
        # The epoch of an empty KIP-848 group follows from members that have come and gone.
        is_change = epoch.is_kip_848 or bool(epoch.changes.steps)
        if member_count == 0 and epoch.changes.has_start and not is_change:
            return None
        quality, ended_us = _find_end(epoch, next_epoch, member_count)
        changes = self._known_changes(epoch, member_count)
        members_before = joined = left = None
        if changes is not None:
            joined = changes.joined()
            left = changes.left()
            members_before = None if member_count is None else member_count - sum(changes.steps.values())
        return Rebalance(
            group_protocol=epoch.protocol,
            generation=epoch.number,
            started_at=epoch.at_us,
            ended_at=ended_us,
            duration_ms=milliseconds_between(epoch.at_us, ended_us),
            duration_quality=quality,
            sync_ms=None,
            members_before=members_before,
            members_after=member_count,
            joined=joined,
            left=left,
        )

    def _known_changes(self, epoch: Epoch, member_count: int | None) -> EpochChanges | None:
        """Return the joins and leaves since the previous epoch; None if the members at that epoch are unknown.

        `member_count` is the number of members after these changes; None if unknown.
        """
        if epoch.changes.has_start:
            return None if epoch.changes.kept_members is None else epoch.changes
        # The first epoch that compaction left need not be the group's first one. If members that joined earlier were
        # seen, the changes are those in the records that the broker wrote together with the epoch.
        if self.members.has_preexisting_at(epoch.record_index):
            batch_changes = EpochChanges()
            for change in self.members.changes_in_batch(epoch.record_index, epoch.at_us):
                batch_changes.count(change.member_id, change.step)
            return batch_changes
        is_first_epoch = epoch.number <= _HIGHEST_FIRST_EPOCH and member_count is not None and member_count <= 1
        return epoch.changes if is_first_epoch else None


def _find_end(epoch: Epoch, next_epoch: Epoch | None, member_count: int | None) -> tuple[str, int | None]:
    """Return the quality of a rebalance's duration, and the end of the rebalance in µs since 1970 (None if open).

    `member_count` is the number of members that have to reach the epoch; None if unknown. No rebalance ends before it
    began, even if the next coordinator's clock is behind.
    """
    if member_count is not None and len(epoch.arrivals) >= member_count:
        return "exact", max([epoch.at_us, *epoch.arrivals.values()])
    if member_count is not None and next_epoch is None:
        return "open", None
    if member_count is not None and next_epoch is not None:
        return "overtaken", max(epoch.at_us, next_epoch.at_us)
    if next_epoch is None or next_epoch.at_us < epoch.at_us:
        return "unknown", None
    return "bound", next_epoch.at_us
