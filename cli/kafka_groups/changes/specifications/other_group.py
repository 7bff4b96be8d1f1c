"""New offsets from the commits of another group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from kafka_groups.changes.current_groups import CurrentGroup
from kafka_groups.changes.current_topics import CurrentTopics
from kafka_groups.changes.specifications.specification import (
    Position,
    Refusal,
    Specification,
    Target,
    committed_partitions,
)
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure, TopicPartition

_UNREAD: Final = CurrentGroup("")


@dataclass(frozen=True)
class ToGroup(Specification):
    """The committed offset of another group, clamped to the log. Without a scope: wherever that group has a commit."""

    group: str
    # The group as the cluster shows it.
    current: CurrentGroup = _UNREAD
    needs_scope: ClassVar[bool] = False

    def groups(self) -> tuple[str, ...]:
        """Return the other group."""
        return (self.group,)

    def with_groups(self, groups: Mapping[str, CurrentGroup]) -> Self:
        """Return the specification with the commits of the other group."""
        return replace(self, current=groups[self.group])

    def partitions(self, current: CurrentGroup, scope: Sequence[TopicPartition] | None) -> list[TopicPartition]:
        """Return the partitions in scope, or those with a commit of the other group.

        Where its commit cannot be read it is not known to be missing, so nothing is planned.
        """
        keys = sorted(committed_partitions(self.current) | current.unreadable.keys()) if scope is None else scope
        return [key for key in keys if key not in self.current.unreadable]

    def find(self, position: Position) -> Target | Refusal:
        """Return the other group's offset; there is none without a commit of that group."""
        commit = self.current.offsets.get(position.key)
        if commit is None:
            return Refusal(f"group '{self.group}' has no commit on it")
        return position.clamp(commit.offset)

    def failures(self, scope: Sequence[TopicPartition] | None) -> list[Failure]:
        """Return the failures of the other group's commits in scope; those outside of it do no harm."""
        unreadable = self.current.unreadable
        return [unreadable[key] for key in (unreadable if scope is None else scope) if key in unreadable]

    def notes(
        self,
        scope: Sequence[TopicPartition] | None,
        partitions: Mapping[str, Sequence[TopicPartition]],
        topics: CurrentTopics,
    ) -> list[Note]:
        """Return no notes: the other group decides which partitions are reset."""
        return []
