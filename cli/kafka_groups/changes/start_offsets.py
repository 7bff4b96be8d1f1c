"""Changes of start offsets: what differs from changes of commits.

A group has either start offsets or commits. Kafka deletes the start offsets of a topic on all its partitions at once
(DeleteShareGroupOffsets, KIP-932).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.current_groups import CurrentGroup, refuse
from kafka_groups.model import Failure, TopicPartition


def deletes_topic(change: Change) -> bool:
    """Return whether the request of a change deletes the start offsets of its topic on all partitions."""
    return change.action is Action.DELETE_OFFSETS and change.has_start_offset


def refuse_other_offsets(current: CurrentGroup, change: Change) -> Failure | None:
    """Return the failure of a change of start offsets if the group has commits now, and the other way round."""
    if current.description is None or change.key is None or current.has_start_offsets == change.has_start_offset:
        return None
    wanted, found = ("start offset", "commits") if change.has_start_offset else ("commit", "start offsets")
    text = f"the change is one of a {wanted}, and the group has {found}: its type is {current.group_type}"
    return refuse(change.group, text, change.key)


def refuse_topics(current: CurrentGroup, planned: Sequence[Change]) -> Mapping[Change, Failure]:
    """Return the failures of deletions that would also delete the start offset of a partition without a change."""
    deletions = [change for change in planned if deletes_topic(change)]
    if not deletions:
        return {}
    others = other_start_offsets(current, {change.key for change in deletions if change.key is not None})
    return {
        change: refuse_part_of_topic(current.group, change.key, others[change.key.topic])
        for change in deletions
        if change.key is not None and change.key.topic in others
    }


def other_start_offsets(current: CurrentGroup, keys: Collection[TopicPartition]) -> Mapping[str, TopicPartition]:
    """Return, for each topic of partitions, another one that the group reads; topics without one are absent.

    Its start offset may be unknown. The offsets of the group are those of all partitions that it reads.
    """
    topics = {key.topic for key in keys}
    others = (key for key in current.offsets if key not in keys)
    return {key.topic: key for key in sorted(others, reverse=True) if key.topic in topics}


def refuse_part_of_topic(group: str, key: TopicPartition, other: TopicPartition) -> Failure:
    """Return the failure of the deletion of a start offset, which would delete the one of another partition, too."""
    text = (
        f"Kafka deletes start offsets of whole topics only, and the group reads {other.topic}-{other.partition}, too; "
        "name the topic without partitions"
    )
    return refuse(group, text, key)
