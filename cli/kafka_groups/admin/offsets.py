"""The committed offsets of one group, kept packed as the broker sent them until somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafka_groups.model import CommittedOffset, Failure, PartitionCommit, TopicPartition
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.packed_offsets import PackedTopics


class GroupOffsets(Mapping[TopicPartition, CommittedOffset | None]):
    """What a group has committed, by partition; None for a partition that was named and has no commit.

    Partitions that the broker refused are not in the mapping but in `refused`, with Kafka's error code.
    Reading decodes; nothing is kept of it, so that a million rows cost no more than their bytes.
    """

    __slots__ = ("_topics", "refused")

    def __init__(self, topics: PackedTopics = (), refused: Mapping[TopicPartition, int] | None = None) -> None:
        self._topics = topics
        self.refused: Mapping[TopicPartition, int] = refused or {}

    def __len__(self) -> int:
        return sum(len(commits) for _, commits in self._topics)

    def __iter__(self) -> Iterator[TopicPartition]:
        for key, _ in self.rows():
            yield key

    def __getitem__(self, key: TopicPartition) -> CommittedOffset | None:
        for partition, commit in self.rows():
            if partition == key:
                return commit
        raise KeyError(key)

    def __repr__(self) -> str:
        return f"GroupOffsets({dict(self.rows())!r})"

    def rows(self) -> Iterator[tuple[TopicPartition, CommittedOffset | None]]:
        """Each partition with its commit; one pass, where `items()` would look each one up."""
        for topic, commits in self.by_topic():
            for partition, offset, epoch, metadata in commits:
                commit = None if offset is None else CommittedOffset(offset, epoch, metadata or "")
                yield TopicPartition(topic, partition), commit

    def by_topic(self) -> Iterator[tuple[str, Sequence[PartitionCommit]]]:
        """Each topic with its partitions, ascending, and their commits: the cheapest way through."""
        yield from self._topics

    def has_commits(self) -> bool:
        """Whether anything is committed at all."""
        return any(offset is not None for _, commits in self.by_topic() for _, offset, _, _ in commits)

    def partitions(self) -> Iterator[tuple[str, list[int]]]:
        """Each topic with its partitions, refused ones included."""
        refused: dict[str, list[int]] = {}
        for topic, partition in self.refused:
            refused.setdefault(topic, []).append(partition)
        for topic, commits in self._topics:
            partitions, others = commits.partitions(), refused.pop(topic, [])
            yield topic, sorted(partitions + others) if others else partitions

    def failures(self, group: str) -> list[Failure]:
        """A failure for each refused partition."""
        return [
            Failure.of(broker_error(code), group=group, topic=topic, partition=partition)
            for (topic, partition), code in self.refused.items()
        ]
