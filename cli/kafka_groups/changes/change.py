"""Changes of groups as values: the state before, and the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.groups.notes import Note
from kafka_groups.kinds import has_start_offsets
from kafka_groups.model import CommittedOffset, Failure, TopicPartition


class Action(StrEnum):
    """What a change does. The values are those of plans and journals."""

    COMMIT = "commit"
    SHARE_OFFSET = "share_offset"
    DELETE_GROUP = "delete_group"
    DELETE_OFFSETS = "delete_offsets"
    REMOVE_MEMBER = "remove_member"


class Status(StrEnum):
    """The status of a change; UNKNOWN means that neither the response nor the cluster showed it."""

    PLANNED = "planned"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"


_SETS_OFFSET: Final = frozenset({Action.COMMIT, Action.SHARE_OFFSET})
_NEEDS_NO_MEMBERS: Final = _SETS_OFFSET | {Action.DELETE_GROUP}


class Change(NamedTuple):
    """One change of one group, with the commit before it: None if there was none, or if the change has no partition.

    COMMIT, SHARE_OFFSET and DELETE_OFFSETS have a partition. DELETE_GROUP has one change for each partition with a
    commit, so that the commits can be restored, or a single one without a partition. REMOVE_MEMBER has a member.
    `topic_id` is as Kafka's tools print it, None if it is unknown.

    A share group has start offsets in place of commits; they have neither leader epoch nor metadata here. SHARE_OFFSET
    without a `new_offset` leaves none: the next consumer starts where `share.auto.offset.reset` says. `group_type` is
    the type of a group with start offsets, None for others.
    """

    action: Action
    group: str
    topic: str | None = None
    partition: int | None = None
    committed_offset: int | None = None
    leader_epoch: int | None = None
    metadata: str | None = None
    new_offset: int | None = None
    new_leader_epoch: int | None = None
    new_metadata: str | None = None
    member_id: str | None = None
    group_instance_id: str | None = None
    topic_id: str | None = None
    group_type: str | None = None

    @property
    def has_start_offset(self) -> bool:
        """Return whether the group has start offsets in place of commits."""
        return self.action is Action.SHARE_OFFSET or has_start_offsets(self.group_type)

    @property
    def noun(self) -> str:
        """Return what an offset of the group is called."""
        return "start offset" if self.has_start_offset else "commit"

    @property
    def sets_offset(self) -> bool:
        """Return whether the change alters a commit or a start offset, and so creates an absent group."""
        return self.action in _SETS_OFFSET

    @property
    def needs_no_members(self) -> bool:
        """Return whether brokers refuse the change while the group has members."""
        return self.action in _NEEDS_NO_MEMBERS or (self.action is Action.DELETE_OFFSETS and self.has_start_offset)

    @property
    def key(self) -> TopicPartition | None:
        """Return the partition, if the change has one."""
        return None if self.topic is None or self.partition is None else TopicPartition(self.topic, self.partition)

    @property
    def before(self) -> CommittedOffset | None:
        """Return the commit before the change."""
        if self.committed_offset is None:
            return None
        return CommittedOffset(self.committed_offset, self.leader_epoch, self.metadata or "")

    @property
    def after(self) -> CommittedOffset | None:
        """Return the commit after the change."""
        if self.new_offset is None:
            return None
        return CommittedOffset(self.new_offset, self.new_leader_epoch, self.new_metadata or "")


def to_change(
    action: Action,
    group: str,
    key: TopicPartition,
    before: CommittedOffset | None,
    after: CommittedOffset | None = None,
    *,
    topic_id: str | None = None,
    group_type: str | None = None,
) -> Change:
    """Return the change of a partition, with the commit before it and the one after it.

    A `group_type` with start offsets makes a COMMIT a SHARE_OFFSET; any other is not kept.
    """
    offset, epoch, metadata = before or (None, None, None)
    new_offset, new_epoch, new_metadata = after or (None, None, None)
    start_type = group_type if has_start_offsets(group_type) else None
    if start_type is not None:
        action = Action.SHARE_OFFSET if action is Action.COMMIT else action
        epoch = new_epoch = metadata = new_metadata = None
    return Change(
        action=action,
        group=group,
        topic=key.topic,
        partition=key.partition,
        committed_offset=offset,
        leader_epoch=epoch,
        metadata=metadata,
        new_offset=new_offset,
        new_leader_epoch=new_epoch,
        new_metadata=new_metadata,
        topic_id=topic_id,
        group_type=start_type,
    )


class Plan(NamedTuple):
    """The changes of one command on one cluster; `created_at` has a time zone."""

    cluster_id: str
    created_at: datetime
    changes: tuple[Change, ...]


class PlannedChange(NamedTuple):
    """A change of a plan with a note for the user. One with a `refusal` is shown, but not made."""

    change: Change
    note: str = ""
    refusal: Failure | None = None


class PlannedGroups(NamedTuple):
    """The planned changes of each group, by id, with what could not be planned, and notes.

    `existing` are groups that no change may create: they existed when they were planned.
    """

    rows: Mapping[str, tuple[PlannedChange, ...]] = MappingProxyType({})
    failures: tuple[Failure, ...] = ()
    notes: tuple[Note, ...] = ()
    existing: frozenset[str] = frozenset()

    def changes(self) -> list[Change]:
        """Return the changes to make: those that are not refused."""
        return [row.change for rows in self.rows.values() for row in rows if row.refusal is None]

    def refusals(self) -> list[Failure]:
        """Return the failures of the changes that are refused, in as few as possible."""
        return summarize_failures({group: [row.refusal for row in rows] for group, rows in self.rows.items()})

    def all_failures(self) -> tuple[Failure, ...]:
        """Return the failures and the refusals."""
        return (*self.failures, *self.refusals())


class Outcome(NamedTuple):
    """The outcome of a change: its status, and the failure if it was not made."""

    change: Change
    status: Status
    note: str = ""
    failure: Failure | None = None


def summarize_failures(by_group: Mapping[str, Sequence[Failure | None]]) -> list[Failure]:
    """Return the failures of partitions, one for each topic or group whose partitions all failed alike.

    `by_group` has the failure of each row of a group, None for a row without one.
    """
    failures: list[Failure] = []
    for group, rows in by_group.items():
        failed = list(dict.fromkeys(failure for failure in rows if failure is not None))
        reasons = {(failure.code, failure.name, failure.message) for failure in failed}
        if len(failed) > 1 and len(reasons) == 1 and None not in rows:
            topics = {failure.topic for failure in failed}
            topic = topics.pop() if len(topics) == 1 else None
            failed = [failed[0]._replace(group=group, topic=topic, partition=None)]
        failures += failed
    return failures
