"""The partitions that a caller names, checked against the cluster before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.changes.current_topics import CurrentTopics, read_topics
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error

# Topics with their partitions; none for all partitions of a topic.
NamedTopics: TypeAlias = Mapping[str, Sequence[int]]


class FoundPartitions(NamedTuple):
    """The named partitions in order. `absent` are failures of missing partitions, `failed` those of topics."""

    partitions: tuple[TopicPartition, ...]
    absent: tuple[Failure, ...]
    failed: tuple[Failure, ...]
    topics: CurrentTopics = CurrentTopics()


def find_partitions(admin: Admin, topics: NamedTopics, *, timeout: Timeout | None = None) -> FoundPartitions:
    """Return the named partitions, in one Metadata request for all topics."""
    listed = read_topics(admin, topics, timeout=timeout)
    absent = [why for topic, why in listed.failed.items() if listed.is_absent(topic)]
    failed = [why for why in listed.failed.values() if why not in absent]
    found: list[TopicPartition] = []
    for topic, described in sorted(listed.described.items()):
        existing = described.partitions
        known = set(existing)
        found += [TopicPartition(topic, partition) for partition in topics[topic] or existing if partition in known]
        absent += [_absent(topic, partition, existing) for partition in topics[topic] if partition not in known]
    return FoundPartitions(tuple(found), tuple(absent), tuple(failed), listed)


def _absent(topic: str, partition: int, existing: Sequence[int]) -> Failure:
    count = len(existing)
    text = f"it does not exist; the topic has {count} partition{'' if count == 1 else 's'}"
    return Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION, text), topic=topic, partition=partition)
