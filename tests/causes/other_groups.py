"""Other groups for tests of causes that compare groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafka_groups.causes.evidence import OtherGroup, PartitionPoll
from kafka_groups.model import TopicPartition
from tests.causes.observed_group import line, time_of


def other_group(name: str, coordinator: int | None, partitions: Mapping[int, tuple[int, Sequence[int]]]) -> OtherGroup:
    """Return a group of the topic `other`: the leader and the commits of each partition, whose log grows from 200."""
    return OtherGroup(
        name,
        coordinator,
        {
            TopicPartition("other", number): tuple(
                PartitionPoll(time_of(poll), commit, end, lag=end - commit, leader=leader)
                for poll, (commit, end) in enumerate(zip(commits, line(200, 10), strict=True))
            )
            for number, (leader, commits) in partitions.items()
        },
    )
