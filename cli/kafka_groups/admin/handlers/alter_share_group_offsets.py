"""Alter start offsets of share groups: AlterShareGroupOffsets, a request for each group (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.features import SHARE_GROUPS_OFF
from kafka_groups.admin.handlers.group_change import PartitionChangeHandler, rights
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol.errors import NON_EMPTY_GROUP, REBALANCE_IN_PROGRESS
from kafka_groups.protocol.messages import ALTER_SHARE_GROUP_OFFSETS

# The start offset of a partition that no consumer of the group has read yet (PartitionFactory.java).
_NOT_INITIALIZED: Final = -1


class AlterShareGroupOffsetsHandler(PartitionChangeHandler):
    """Group ids to what became of each partition. Brokers refuse it while the group has members.

    Brokers accept any start offset, also one outside of the log; callers clamp it. Brokers forget which records were
    delivered and are not yet acknowledged.
    """

    api = ALTER_SHARE_GROUP_OFFSETS
    retriable_codes: ClassVar[frozenset[int]] = frozenset({REBALANCE_IN_PROGRESS})
    sentences: ClassVar[Mapping[int, str]] = {
        NON_EMPTY_GROUP: "the share group has members now; stop them and try again",
        **SHARE_GROUPS_OFF,
        **rights("READ", "READ"),
    }

    def __init__(self, offsets: Mapping[str, Mapping[TopicPartition, int | None]]) -> None:
        super().__init__(offsets)
        self._offsets = offsets

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for each group, with its open partitions."""
        return [((group,), {"group_id": group, "topics": self._topics(group)}) for group in keys]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[TopicPartition, Failure | None]]:
        """Return the outcome of each partition, or the error of the group. Codes of partitions are final."""
        group = keys[0]
        result: ApiResult[str, Mapping[TopicPartition, Failure | None]] = ApiResult()
        response = ALTER_SHARE_GROUP_OFFSETS.read_response(version, payload)
        if response["error_code"]:
            self._add_group_error(result, group, response["error_code"])
            return result
        codes = {
            TopicPartition(topic["topic_name"], row["partition_index"]): row["error_code"]
            for topic in response["responses"]
            for row in topic["partitions"]
        }
        self._record_codes(group, codes)
        self._add_outcome(result, group)
        return result

    def _topics(self, group: str) -> list[dict[str, Any]]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for key in self._next_items(group):
            start = self._offsets[group][key]
            row = {"partition_index": key.partition, "start_offset": _NOT_INITIALIZED if start is None else start}
            topics.setdefault(key.topic, []).append(row)
        return [{"topic_name": name, "partitions": rows} for name, rows in topics.items()]
