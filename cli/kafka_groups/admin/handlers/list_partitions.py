"""List the partitions of topics: Metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import LEADER_NOT_AVAILABLE, broker_error
from kafka_groups.protocol.messages import METADATA
from kafka_groups.protocol.messages.metadata import NO_BROKERS


class ListPartitionsHandler:
    """Topic names to their partitions, ascending. `leaders` are those of each topic, -1 for a partition without one."""

    api = METADATA
    idempotent = True

    def __init__(self) -> None:
        self.leaders: dict[str, dict[int, int]] = {}

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for all topics. It never creates a topic."""
        return [(keys, {"topics": [{"name": name} for name in keys], "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, tuple[int, ...]]:
        """Return the partitions of each topic, or its error."""
        result: ApiResult[str, tuple[int, ...]] = ApiResult()
        response = METADATA.read_response(version, payload)
        if not response["brokers"]:
            return ApiResult(retriable=dict.fromkeys(keys, NO_BROKERS))
        for topic in response["topics"]:
            name, code = topic["name"], topic["error_code"]
            if code == LEADER_NOT_AVAILABLE:
                result.retriable[name] = str(broker_error(code))
            elif code:
                result.failed[name] = broker_error(code)
            else:
                rows = sorted((row["partition_index"], row["leader_id"]) for row in topic["partitions"])
                result.completed[name] = tuple(partition for partition, _ in rows)
                self.leaders[name] = dict(rows)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the topic."""
        return Failure.of(error, topic=key, broker=broker)
