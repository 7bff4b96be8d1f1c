"""The commits of a group in one topic: what a client returns, in a form of its choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Protocol, TypeAlias

# A commit within its topic: partition, offset (None: no commit), leader epoch, metadata. Millions are joined.
PartitionCommit: TypeAlias = tuple[int, int | None, int | None, str | None]


class TopicCommits(Sized, Iterable[PartitionCommit], Protocol):
    """The commits of a group in one topic. Iterating is ascending by partition."""

    def partitions(self) -> Sequence[int]:
        """Return the numbers of the partitions, in any order."""

    def offsets(self) -> Sequence[int | None]:
        """Return the committed offsets in the order of `partitions`; None where there is no commit."""


class CommitTuple(tuple[PartitionCommit, ...]):
    """The plain form of TopicCommits."""

    __slots__ = ()

    def partitions(self) -> tuple[int, ...]:
        """Return the numbers of the partitions."""
        return tuple(partition for partition, _, _, _ in self)

    def offsets(self) -> tuple[int | None, ...]:
        """Return the committed offsets."""
        return tuple(offset for _, offset, _, _ in self)
