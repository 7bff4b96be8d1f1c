"""Delete committed offsets of groups: OffsetDelete, a request for each group, and more by size (KIP-496)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_change import PartitionChangeHandler, rights
from kafka_groups.admin.handlers.record_sizes import tombstone_bytes
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.messages import OFFSET_DELETE


class DeleteConsumerGroupOffsetsHandler(PartitionChangeHandler):
    """Group ids to what became of each partition. While members subscribe to a topic, its offsets are not deleted."""

    api = OFFSET_DELETE
    sentences: ClassVar[Mapping[int, str]] = rights("DELETE", "READ")

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for each group, with the next of its open partitions."""
        return [((group,), {"group_id": group, "topics": self._topics(group)}) for group in keys]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[TopicPartition, Failure | None]]:
        """Return the outcome of each partition, or the error of the group. Codes of partitions are final."""
        group = keys[0]
        result: ApiResult[str, Mapping[TopicPartition, Failure | None]] = ApiResult()
        response = OFFSET_DELETE.read_response(version, payload)
        if response["error_code"]:
            self._add_group_error(result, group, response["error_code"])
            return result
        codes = {
            TopicPartition(topic["name"], row["partition_index"]): row["error_code"]
            for topic in response["topics"]
            for row in topic["partitions"]
        }
        self._record_codes(group, codes)
        self._add_outcome(result, group)
        return result

    def _record_bytes(self, group: str, item: TopicPartition) -> int:
        return tombstone_bytes(group, item)

    def _topics(self, group: str) -> list[dict[str, Any]]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for topic, partition in self._next_items(group):
            topics.setdefault(topic, []).append({"partition_index": partition})
        return [{"name": name, "partitions": rows} for name, rows in topics.items()]
