"""Which member has which partitions."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_groups.model import Assignment, GroupDescription, Member, TopicPartition


def owners(group: GroupDescription) -> dict[TopicPartition, Member]:
    """Return the member of each partition that is assigned to one whose assignment is readable."""
    return {key: member for member in group.members for key in partitions_of(member.assignment)}


def partitions_of(assignment: tuple[Assignment, ...] | None) -> Iterator[TopicPartition]:
    """Yield the partitions of an assignment; none of one that is unreadable."""
    for topic in assignment or ():
        for partition in topic.partitions:
            yield TopicPartition(topic.topic, partition)
