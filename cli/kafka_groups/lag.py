"""The one lag rule, and the one join of commits, log ends and members that every view of offsets shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_groups.model import CommittedOffset, Member, OffsetRow, TopicPartition

Ends = Mapping[str, Mapping[int, int]]


def lag_of(*, committed: int | None, end: int | None) -> int | None:
    """Messages between the committed offset and the log end offset; may be negative, None when either is unknown."""
    if committed is None or end is None:
        return None
    return end - committed


def in_order_of_work(members: Iterable[Member]) -> list[Member]:
    """Members with the most partitions first, as Kafka's tool shows them; equals by their first partition."""
    return sorted(members, key=lambda member: (-member.partitions(), _first_partition(member), member.member_id))


def join_offsets(
    group: str,
    *,
    members: Sequence[Member],
    committed: Iterable[tuple[TopicPartition, CommittedOffset | None]],
    ends: Ends,
    starts: Ends,
) -> list[OffsetRow]:
    """A row for each partition that a member owns or that has a commit.

    `ends` and `starts` are log offsets by topic and partition; a partition that they lack is unknown.
    Owned partitions come first, by member; then the commits on partitions that no member owns (KIP-88).
    """
    if not members:
        return list(_unowned(group, sorted(committed), ends, starts))
    commits = dict(committed)
    owned = list(_owned(group, members, commits, ends, starts))
    taken = {(row.topic, row.partition) for row in owned}
    rest = sorted(item for item in commits.items() if item[0] not in taken)
    return owned + list(_unowned(group, rest, ends, starts))


def _owned(
    group: str,
    members: Sequence[Member],
    commits: Mapping[TopicPartition, CommittedOffset | None],
    ends: Ends,
    starts: Ends,
) -> Iterator[OffsetRow]:
    for member in in_order_of_work(members):
        who = (member.member_id, member.host, member.client_id)
        for topic in sorted(member.assignment, key=lambda part: part.topic):
            for partition in sorted(topic.partitions):
                commit = commits.get(TopicPartition(topic.topic, partition))
                yield _row(group, topic.topic, partition, commit, ends, starts, who)


def _unowned(
    group: str,
    commits: Iterable[tuple[TopicPartition, CommittedOffset | None]],
    ends: Ends,
    starts: Ends,
) -> Iterator[OffsetRow]:
    for (topic, partition), commit in commits:
        yield _row(group, topic, partition, commit, ends, starts, (None, None, None))


def _row(
    group: str,
    topic: str,
    partition: int,
    commit: CommittedOffset | None,
    ends: Ends,
    starts: Ends,
    who: tuple[str | None, str | None, str | None],
) -> OffsetRow:
    offset, leader_epoch, metadata = commit or (None, None, None)
    end = ends[topic].get(partition) if topic in ends else None
    start = starts[topic].get(partition) if topic in starts else None
    lag = lag_of(committed=offset, end=end)
    return OffsetRow(group, topic, partition, leader_epoch, offset, end, lag, *who, start, metadata)


def _first_partition(member: Member) -> tuple[str, int]:
    return min(
        ((topic.topic, min(topic.partitions)) for topic in member.assignment if topic.partitions), default=("", 0)
    )
