"""Describe the producers of partitions: DescribeProducers to their leaders (KIP-664)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.list_offsets import add_partition
from kafka_groups.admin.producer_state import ProducerState
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import DESCRIBE_PRODUCERS


class DescribeProducersHandler:
    """Partitions to the producers that their leaders know, by producer id."""

    api = DESCRIBE_PRODUCERS
    idempotent = True

    def build_requests(
        self, keys: Sequence[TopicPartition], version: int
    ) -> list[tuple[Sequence[TopicPartition], Mapping[str, Any]]]:
        """Return one body."""
        topics: dict[str, list[int]] = {}
        for topic, partition in keys:
            topics.setdefault(topic, []).append(partition)
        return [(keys, {"topics": [{"name": name, "partition_indexes": parts} for name, parts in topics.items()]})]

    def handle_response(
        self, keys: Sequence[TopicPartition], version: int, payload: bytes
    ) -> ApiResult[TopicPartition, tuple[ProducerState, ...]]:
        """Return the producers of each partition; an error code makes it unmapped, retriable or failed."""
        result: ApiResult[TopicPartition, tuple[ProducerState, ...]] = ApiResult()
        for topic in DESCRIBE_PRODUCERS.read_response(version, payload)["topics"]:
            for row in topic["partitions"]:
                key = TopicPartition(topic["name"], row["partition_index"])
                producers = sorted(map(_to_state, row["active_producers"]), key=lambda producer: producer.producer_id)
                add_partition(result, key, row["error_code"], tuple(producers), row["error_message"])
        return result

    def to_failure(self, key: TopicPartition, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the partition."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def _to_state(row: Struct) -> ProducerState:
    return ProducerState(
        producer_id=row["producer_id"],
        producer_epoch=row["producer_epoch"],
        last_sequence=_known(row["last_sequence"]),
        last_timestamp_ms=_known(row["last_timestamp"]),
        coordinator_epoch=_known(row["coordinator_epoch"]),
        current_transaction_start_offset=_known(row["current_txn_start_offset"]),
    )


def _known(number: int) -> int | None:
    return number if number >= 0 else None
