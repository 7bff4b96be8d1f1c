"""Metadata: all topics of a cluster, with their partitions and who leads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kafka_groups.admin.driver import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import broker_error
from kafka_groups.protocol.messages import METADATA


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic with its partitions, ascending. `topic_id` is None on brokers before 2.8, which tell none."""

    name: str
    topic_id: UUID | None
    internal: bool
    partitions: tuple[int, ...]


@dataclass(kw_only=True)
class Listed:
    """What one broker tells of all topics; partitions without a leader are not among `leaders`."""

    topics: dict[str, Topic] = field(default_factory=dict)
    leaders: dict[TopicPartition, int] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)


class ListTopicsHandler:
    """The only key is the broker that is asked, for each of them knows all topics."""

    api = METADATA

    def build_requests(self, keys: Sequence[int], version: int) -> list[tuple[Sequence[int], Mapping[str, Any]]]:
        """One body, which names no topic and so asks about all."""
        return [(keys, {"topics": None, "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[int], version: int, payload: bytes) -> ApiResult[int, Listed]:
        """The topics, or the errors of single ones."""
        answer = METADATA.read_response(version, payload)
        if answer["error_code"]:
            return ApiResult(failed={keys[0]: broker_error(answer["error_code"])})
        listed = Listed()
        for topic in answer["topics"]:
            _take(listed, topic)
        return ApiResult(completed={keys[0]: listed})

    def to_failure(self, key: int, error: AdminError, broker: int | None) -> Failure:
        """The broker's failure."""
        return Failure.of(error, broker=broker)


def _take(listed: Listed, topic: Struct) -> None:
    name = topic["name"]
    if topic["error_code"]:
        listed.failed[name] = Failure.of(broker_error(topic["error_code"]), topic=name)
        return
    rows = sorted((row["partition_index"], row["leader_id"]) for row in topic["partitions"])
    listed.topics[name] = Topic(
        name=name,
        topic_id=topic["topic_id"] if topic["topic_id"].int else None,
        internal=topic["is_internal"],
        partitions=tuple(partition for partition, _ in rows),
    )
    listed.leaders.update({TopicPartition(name, partition): leader for partition, leader in rows if leader >= 0})
