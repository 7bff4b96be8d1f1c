"""What the specifications of `reset` share: from what is known of a partition to its new offset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self

from kafka_groups.admin.api import OffsetSpec
from kafka_groups.changes.current_groups import CurrentGroup
from kafka_groups.changes.current_topics import CurrentTopics, note_uncommitted
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.groups.notes import Note
from kafka_groups.model import CommittedOffset, Failure, TopicPartition


class Position(NamedTuple):
    """What is known of a partition of a group: its commit, the ends of the log, and the offsets that were looked up.

    `committed` is the start offset of a share group (`has_start_offset`).
    """

    group: str
    key: TopicPartition
    committed: CommittedOffset | None
    log_start_offset: int
    log_end_offset: int
    found: Mapping[OffsetSpec, int | None] = MappingProxyType({})
    has_start_offset: bool = False

    @property
    def noun(self) -> str:
        """Return what the offset of the group on a partition is called."""
        return "start offset" if self.has_start_offset else "commit"

    def clamp(self, offset: int) -> Target:
        """Return the offset, or the nearest one inside the log."""
        if offset < self.log_start_offset:
            return Target(self.log_start_offset, f"clamped from {offset} to the log start offset")
        if offset > self.log_end_offset:
            return Target(self.log_end_offset, f"clamped from {offset} to the log end offset")
        return Target(offset)


class Target(NamedTuple):
    """The new offset of a partition, and a note on how it differs from what the user may expect.

    `commit` is what is committed, leader epoch and metadata included; None if these are the usual ones.
    """

    offset: int
    note: str = ""
    commit: CommittedOffset | None = None


class Refusal(NamedTuple):
    """The reason why a partition has no new offset."""

    message: str


class Specification(ABC):
    """A source of new offsets. `plan_reset` calls the methods in their order; most sources need only `find`.

    `file` are the rows that name the partitions. A source that `needs_scope` has no partitions of its own.
    """

    file: PlanRows = NO_FILE
    needs_scope: ClassVar[bool] = True

    def scope(self, group: str, named: Sequence[TopicPartition] | None) -> Sequence[TopicPartition] | None:
        """Return the partitions of a group that are read, None for all; `named` are those that the user named."""
        return named

    def groups(self) -> tuple[str, ...]:
        """Return the groups whose commits are read as new offsets, together with those of the groups to reset."""
        return ()

    def with_groups(self, groups: Mapping[str, CurrentGroup]) -> Self:
        """Return the specification with those groups."""
        return self

    def partitions(self, current: CurrentGroup, scope: Sequence[TopicPartition] | None) -> list[TopicPartition]:
        """Return the partitions of a group to reset: those in scope, or all on which it has a commit."""
        if scope is not None:
            return list(scope)
        return sorted(committed_partitions(current) | current.unreadable.keys())

    def group_type(self, group: str) -> str | None:
        """Return the type with start offsets of a group that is created; None for a classic group."""
        return None

    def lookups(self) -> tuple[OffsetSpec, ...]:
        """Return the log offsets that are read of each partition, beside both ends of its log."""
        return ()

    def refuse(self, current: CurrentGroup, key: TopicPartition, topics: CurrentTopics) -> Failure | None:
        """Return why a partition is not reset, whatever its log offsets are; None if nothing forbids it."""
        return None

    @abstractmethod
    def find(self, position: Position) -> Target | Refusal:
        """Return the new offset, or the reason why there is none."""

    def failures(self, scope: Sequence[TopicPartition] | None) -> list[Failure]:
        """Return the failures of the source that belong to none of the groups to reset."""
        return []

    def notes(
        self,
        scope: Sequence[TopicPartition] | None,
        partitions: Mapping[str, Sequence[TopicPartition]],
        topics: CurrentTopics,
    ) -> list[Note]:
        """Return notes on the partitions of each group: without a scope, on those that the reset leaves out."""
        return note_uncommitted(partitions, topics) if scope is None else []


def committed_partitions(current: CurrentGroup) -> set[TopicPartition]:
    """Return the partitions on which a group is known to have a commit."""
    return {key for key, commit in current.offsets.items() if commit is not None}


def find_target(specification: Specification, position: Position) -> Target | Refusal:
    """Return the new offset of a partition with a note, or the reason why there is none."""
    target = specification.find(position)
    if isinstance(target, Refusal):
        return target
    notes = [target.note] if target.note else []
    if position.committed is None:
        notes.append(f"no {position.noun} before")
    elif position.committed.offset == target.offset:
        notes.append("unchanged")
    if position.log_start_offset == position.log_end_offset:
        notes.append("empty partition")
    return target._replace(note=", ".join(notes)) if notes else target
