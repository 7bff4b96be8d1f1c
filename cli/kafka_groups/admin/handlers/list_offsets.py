"""List log offsets of partitions: ListOffsets to their leaders."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kafka_groups.admin.api import IsolationLevel, OffsetSpec
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import (
    LEADER_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_OR_PARTITION,
    broker_error,
    error_code,
)
from kafka_groups.protocol.messages import LIST_OFFSETS
from kafka_groups.protocol.messages.list_offsets import ISOLATION_SINCE

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_UNMAPPED: Final = frozenset({NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION})


class ListOffsetsHandler:
    """Partitions to log offsets; None if no record is at or after the time of the specification."""

    api = LIST_OFFSETS
    idempotent = True

    def __init__(self, spec: OffsetSpec, isolation_level: IsolationLevel) -> None:
        self._timestamp = spec.timestamp
        self._isolation_level = isolation_level

    def build_requests(
        self, keys: Sequence[TopicPartition], version: int
    ) -> list[tuple[Sequence[TopicPartition], Mapping[str, Any]]]:
        """Return one body. Raises UnsupportedVersionError where a broker would ignore the isolation level."""
        if self._isolation_level and version < ISOLATION_SINCE:
            needed = f"ListOffsets version {ISOLATION_SINCE} (Kafka 0.11)"
            msg = f"last stable offsets need {needed}; the broker supports up to {version}"
            raise UnsupportedVersionError(msg)
        topics: dict[str, list[Mapping[str, int]]] = {}
        for topic, partition in keys:
            topics.setdefault(topic, []).append({"partition_index": partition, "timestamp": self._timestamp})
        named = [{"name": name, "partitions": parts} for name, parts in topics.items()]
        return [(keys, {"topics": named, "isolation_level": self._isolation_level})]

    def handle_response(
        self, keys: Sequence[TopicPartition], version: int, payload: bytes
    ) -> ApiResult[TopicPartition, int | None]:
        """Return the log offset of each partition; an error code makes it unmapped, retriable or failed."""
        result: ApiResult[TopicPartition, int | None] = ApiResult()
        for topic in LIST_OFFSETS.read_response(version, payload)["topics"]:
            for row in topic["partitions"]:
                key = TopicPartition(topic["name"], row["partition_index"])
                add_partition(result, key, row["error_code"], row["offset"] if row["offset"] >= 0 else None)
        return result

    def to_failure(self, key: TopicPartition, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the partition."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def add_partition(result: ApiResult[K, V], key: K, code: int, value: V, message: str | None = None) -> None:
    """Add the key of a partition to the result by its error code; `message` is that of the broker, if it has one."""
    if code == 0:
        result.completed[key] = value
    elif code in _UNMAPPED:
        # Only the lookup of leaders knows whether the partition was deleted.
        result.unmapped[key] = str(broker_error(code, message))
    elif error_code(code).retriable:
        result.retriable[key] = str(broker_error(code, message))
    else:
        result.failed[key] = broker_error(code, message)
