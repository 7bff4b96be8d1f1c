"""Describe topics: their ids, partitions and leaders: Metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.acl_operations import operations_of
from kafka_groups.admin.api import Topic
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import LEADER_NOT_AVAILABLE, broker_error
from kafka_groups.protocol.messages import METADATA
from kafka_groups.protocol.messages.metadata import NO_BROKERS


class DescribeTopicsHandler:
    """Topic names to topics. `leaders` are those of each topic's partitions, -1 for one without a leader."""

    api = METADATA
    idempotent = True

    def __init__(self, *, authorized_operations: bool = False) -> None:
        self._authorized_operations = authorized_operations
        self.leaders: dict[str, dict[int, int]] = {}

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for all topics. It never creates a topic."""
        options = {"include_topic_authorized_operations": self._authorized_operations}
        topics = [{"name": name} for name in keys]
        return [(keys, {"topics": topics, "allow_auto_topic_creation": False, **options})]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, Topic]:
        """Return each topic, or its error."""
        result: ApiResult[str, Topic] = ApiResult()
        response = METADATA.read_response(version, payload)
        if not response["brokers"]:
            return ApiResult(retriable=dict.fromkeys(keys, NO_BROKERS))
        for row in response["topics"]:
            name = row["name"]
            code = row["error_code"]
            if code == LEADER_NOT_AVAILABLE:
                result.retriable[name] = str(broker_error(code))
            elif code:
                result.failed[name] = broker_error(code)
            else:
                result.completed[name] = read_topic(row)
                self.leaders[row["name"]] = read_leaders(row)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the topic."""
        return Failure.of(error, topic=key, broker=broker)


def read_topic(row: Struct) -> Topic:
    """Return the topic of a row of a Metadata response."""
    return Topic(
        name=row["name"],
        topic_id=row["topic_id"] if row["topic_id"].int else None,
        internal=row["is_internal"],
        partitions=tuple(sorted(partition["partition_index"] for partition in row["partitions"])),
        leaders={partition: leader for partition, leader in read_leaders(row).items() if leader >= 0},
        authorized_operations=operations_of(row["topic_authorized_operations"]),
    )


def read_leaders(row: Struct) -> dict[int, int]:
    """Return the leader of each partition of a topic in a Metadata response, -1 for one without a leader."""
    return {partition["partition_index"]: partition["leader_id"] for partition in row["partitions"]}
