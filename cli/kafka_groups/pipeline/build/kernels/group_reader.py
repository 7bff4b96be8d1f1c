"""The records of one group, read one after another: its incarnations, its protocol, and the topics that it reads.

At any time, a group is a classic group, a KIP-848 group, a share group or a streams group. An *online upgrade* converts
a classic group to a KIP-848 group, and a *downgrade* converts it back: in one batch, the coordinator removes the record
of one protocol and writes a record of the other. So a removal shows that the group is Dead only if no record of the
other protocol follows at once.

Example: a classic group is created, upgraded with its member, and removed.

>>> def row(seconds, kind, event, **fields):
...     return GroupRecord(0, seconds, seconds * 1_000_000, kind, event, **fields)
>>> reader = GroupReader(GroupCheckpoint())
>>> reader.read([
...     row(1, "GroupMetadata", "generation", epoch=1, member_ids=("a",)),
...     row(2, "GroupMetadata", "group_removed"),
...     row(2, "ConsumerGroupMemberMetadata", "member_metadata", member_id="a"),
...     row(2, "ConsumerGroupMetadata", "group_epoch", epoch=2),
...     row(9, "ConsumerGroupMetadata", "group_removed"),
... ])
>>> sorted((entry.at_us // 1_000_000, entry.state, entry.member_count) for entry in reader.entries())
[(1, 'Stable', 1), (2, None, 1), (9, 'Dead', 0)]
>>> [(rebalance.group_protocol, rebalance.joined) for rebalance in reader.rebalances()]
[('classic', ('a',)), ('consumer', ())]
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import zip_longest
from typing import Final

from kafka_groups.pipeline.build.kernels.classic_rebalances import Generation, classic_rebalance
from kafka_groups.pipeline.build.kernels.epoch_rebalances import GroupIncarnation
from kafka_groups.pipeline.build.kernels.group_checkpoint import GroupCheckpoint, Subject
from kafka_groups.pipeline.build.kernels.group_records import (
    CLASSIC_GROUP,
    CONSUMER_GROUP,
    GENERATION,
    GROUP_EPOCH,
    GROUP_REMOVED,
    GroupRecord,
    log_position,
)
from kafka_groups.pipeline.build.kernels.group_timeline import TimelineEntry
from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance

# A removal followed by a record of the other protocol within this time is an upgrade or downgrade. Both are in one
# batch, whose records have one time. The limit only has to be shorter than the pause before a new group of that name.
_ONE_BATCH_US: Final = 60_000_000
# The events of a record of a group with epochs itself, in contrast to those of its members.
_EPOCH_GROUP_EVENTS: Final = frozenset({GROUP_EPOCH, GROUP_REMOVED})
# Suffixes of types. A record of such a type replaces the topics that the previous record with its key named.
_SUFFIXES_OF_TOPIC_TYPES: Final = (
    CLASSIC_GROUP,
    "MemberMetadata",
    "StatePartitionMetadata",
    "RegularExpression",
    "Topology",
)


class GroupReader:
    """A group from a checkpoint on, as shown by the records that were read."""

    def __init__(self, checkpoint_before: GroupCheckpoint) -> None:
        """Begin with a checkpoint, which is not modified; its state, member count and `recent` are not used."""
        self._incarnations = [
            GroupIncarnation(
                checkpoint_before.membership,
                deepcopy(checkpoint_before.changes),
                deepcopy(checkpoint_before.other_changes),
            )
        ]
        self._generation = checkpoint_before.generation
        self._topics = dict(checkpoint_before.topics)
        self._last_position = checkpoint_before.last_position
        self._next_index = 0
        self._protocol_entries = list[TimelineEntry]()
        self._protocol_record: GroupRecord | None = None  # the last one about the group itself
        self._classic_rebalances = list[Rebalance]()

    def read(self, records: Sequence[GroupRecord]) -> None:
        """Apply the next records, in the order of the log; all of them must be later than the checkpoint.

        This may be called again with later records.
        """
        for record in records:
            record_index = self._next_index
            self._next_index += 1
            self._last_position = log_position(record)
            incarnation = self._incarnations[-1]
            if incarnation.is_removed:
                incarnation = GroupIncarnation(incarnation.membership(), incarnation.changes, incarnation.other_changes)
                self._incarnations.append(incarnation)
            if record.is_classic:
                self._read_classic(record_index, record)
            elif record.event_type in _EPOCH_GROUP_EVENTS:
                self._read_epoch_group(record_index, record)
            if record.record_name.endswith(_SUFFIXES_OF_TOPIC_TYPES):
                self._topics[Subject(record.record_name, record.member_id, record.expression)] = record.topics
            incarnation.read(record_index, record)

    def _read_classic(self, record_index: int, record: GroupRecord) -> None:
        """Apply a record of a classic group: a generation, or the group's removal, which may be an upgrade to KIP-848.

        A removal passes the members that an upgrade would keep to the incarnation; None if they are unknown.
        """
        self._add_removal_entry(record_index, record)
        generation = self._generation
        if record.is_group_deletion:
            has_members = generation is not None and generation.number is not None and not generation.is_group_deletion
            # Directly after a downgrade or a removal, the generation with the members is lost: None stands for unknown.
            self._incarnations[-1].upgrade(generation.members if generation is not None and has_members else None)
            self._generation = Generation.removed(record)
            return
        rebalance = classic_rebalance(record, generation)
        if rebalance is not None:
            self._classic_rebalances.append(rebalance)
        state = "Stable" if record.event_type == GENERATION else "Empty"
        self._protocol_entries.append(TimelineEntry(record.at_us, record_index, state, len(record.member_ids or ())))
        self._generation = Generation.from_record(record)

    def _read_epoch_group(self, record_index: int, record: GroupRecord) -> None:
        """Apply a record of a group with epochs itself: an epoch, or the group's removal.

        The removal of a KIP-848 group may be a downgrade.
        """
        self._add_removal_entry(record_index, record)
        if record.is_group_deletion and record.record_name == CONSUMER_GROUP:
            # An online downgrade removes all members in its batch, and keeps them as classic members.
            kept_members = self._incarnations[-1].changes.all_left()
            self._generation = Generation.downgraded(record, kept_members)

    def _add_removal_entry(self, record_index: int, record: GroupRecord) -> None:
        """Add the entry of a removal, or delete the last one if this record shows an online upgrade or downgrade.

        After an upgrade or downgrade, a record of the other protocol follows the removal at once. Share and streams
        groups have neither.
        """
        previous_record = self._protocol_record or record
        is_convertible = {previous_record.record_name, record.record_name} == {CLASSIC_GROUP, CONSUMER_GROUP}
        is_same_batch = record.at_us - previous_record.at_us <= _ONE_BATCH_US
        self._protocol_record = record
        if record.is_group_deletion:
            self._protocol_entries.append(TimelineEntry(record.at_us, record_index, "Dead", 0))
        elif previous_record.is_group_deletion and is_convertible and is_same_batch:
            self._protocol_entries.pop()

    def entries(self) -> list[TimelineEntry]:
        """Return the entries of all records that show a state or a number of members, in any order.

        Records that are read later may change the entries: they may revoke a removal, or show preexisting members.
        """
        return [
            *self._protocol_entries,
            *(entry for incarnation in self._incarnations for entry in incarnation.members.entries()),
        ]

    def topics(self) -> set[str]:
        """Return the topics that the newest records of the group name."""
        return set().union(*self._topics.values())

    def rebalances(self) -> list[Rebalance]:
        """Return the rebalances of all protocols, in any order.

        Records that are read later may end or complete the rebalances of groups with epochs.
        """
        incarnations_and_epochs = [
            (incarnation, epoch) for incarnation in self._incarnations for epoch in incarnation.epochs
        ]
        next_epochs = [epoch for _, epoch in incarnations_and_epochs[1:]]
        epoch_rebalances = [
            incarnation.rebalance(epoch, next_epoch)
            for (incarnation, epoch), next_epoch in zip_longest(incarnations_and_epochs, next_epochs)
        ]
        return [*self._classic_rebalances, *filter(None, epoch_rebalances)]

    def checkpoint(self, state: str | None, member_count: int) -> GroupCheckpoint:
        """Return what is known after the last record that was read, without `recent`.

        `state` and `member_count` come from `Timeline.last`, which includes samples. An unknown state is None, and an
        unknown number of members is UNKNOWN_COUNT or NULL.
        """
        incarnation = self._incarnations[-1]
        return GroupCheckpoint(
            membership=incarnation.membership(),
            changes=deepcopy(incarnation.changes),
            other_changes=deepcopy(incarnation.other_changes),
            generation=self._generation,
            state=state,
            member_count=member_count,
            topics=dict(self._topics),
            last_position=self._last_position,
        )
