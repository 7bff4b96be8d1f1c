"""ListOffsets: where does the log of each of these partitions end, or begin? Asked of the partitions' leaders."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kafka_groups.admin.driver import ApiResult
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import (
    FENCED_LEADER_EPOCH,
    KAFKA_STORAGE_ERROR,
    LEADER_NOT_AVAILABLE,
    NETWORK_EXCEPTION,
    NOT_LEADER_OR_FOLLOWER,
    OFFSET_NOT_AVAILABLE,
    REPLICA_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION,
    broker_error,
)
from kafka_groups.protocol.messages import LIST_OFFSETS
from kafka_groups.protocol.messages.list_offsets import (
    ISOLATION_SINCE,
    LAST_STABLE,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
)

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")

_MOVED: Final = frozenset({NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION})
_AGAIN: Final = frozenset(
    {
        FENCED_LEADER_EPOCH,
        KAFKA_STORAGE_ERROR,
        NETWORK_EXCEPTION,
        OFFSET_NOT_AVAILABLE,
        REPLICA_NOT_AVAILABLE,
        REQUEST_TIMED_OUT,
        UNKNOWN_LEADER_EPOCH,
    }
)


class ListOffsetsHandler:
    """Keys are partitions; `timestamp` is LATEST, LAST_STABLE, EARLIEST or milliseconds. Results: offset or None."""

    api = LIST_OFFSETS

    def __init__(self, timestamp: int) -> None:
        self._timestamp = LATEST if timestamp == LAST_STABLE else timestamp
        self._isolation = READ_COMMITTED if timestamp == LAST_STABLE else READ_UNCOMMITTED

    def build_requests(
        self, keys: Sequence[TopicPartition], version: int
    ) -> list[tuple[Sequence[TopicPartition], Mapping[str, Any]]]:
        """One body, grouped by topic; UnsupportedVersionError where a broker would tell the end for the last stable."""
        if self._isolation and version < ISOLATION_SINCE:
            msg = f"last stable offsets take ListOffsetsHandler {ISOLATION_SINCE}; the broker speaks up to {version}"
            raise UnsupportedVersionError(msg)
        topics: dict[str, list[Mapping[str, int]]] = {}
        for topic, partition in keys:
            topics.setdefault(topic, []).append({"partition_index": partition, "timestamp": self._timestamp})
        named = [{"name": name, "partitions": parts} for name, parts in topics.items()]
        return [(keys, {"topics": named, "isolation_level": self._isolation})]

    def handle_response(
        self, keys: Sequence[TopicPartition], version: int, payload: bytes
    ) -> ApiResult[TopicPartition, int | None]:
        """Each partition's offset, or what its error asks for."""
        result: ApiResult[TopicPartition, int | None] = ApiResult()
        for topic in LIST_OFFSETS.read_response(version, payload)["topics"]:
            for row in topic["partitions"]:
                key = TopicPartition(topic["name"], row["partition_index"])
                add_partition(result, key, row["error_code"], row["offset"] if row["offset"] >= 0 else None)
        return result

    def to_failure(self, key: TopicPartition, error: AdminError, broker: int | None) -> Failure:
        """The partition's failure."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def add_partition(result: ApiResult[K, A], key: K, code: int, answer: A) -> None:
    """File a key of a partition under what its error code asks for, or under done."""
    if code == 0:
        result.completed[key] = answer
    elif code in _MOVED:
        # The look-up of leaders says for good whether the partition is gone.
        result.unmapped[key] = str(broker_error(code))
    elif code in _AGAIN:
        result.retriable[key] = str(broker_error(code))
    else:
        result.failed[key] = broker_error(code)
