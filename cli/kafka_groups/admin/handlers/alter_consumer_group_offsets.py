"""Alter committed offsets of groups: OffsetCommit, a request for each group, and more by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final
from uuid import UUID

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_change import MAYBE_MADE, PartitionChangeHandler, rights
from kafka_groups.admin.handlers.record_sizes import commit_bytes
from kafka_groups.model import CommittedOffset, Failure, TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_TOPIC_ID,
    broker_error,
)
from kafka_groups.protocol.messages.offset_commit import OFFSET_COMMIT, OFFSET_COMMIT_BY_NAME, TOPIC_IDS_SINCE

_RETRIABLE: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, REBALANCE_IN_PROGRESS})
# OffsetCommit has no error code of the group: brokers return these codes for each of its partitions.
_OF_THE_GROUP: Final = frozenset({INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND})


class AlterConsumerGroupOffsetsHandler(PartitionChangeHandler):
    """Group ids to what became of each partition. A commit of no member is refused while the group has members.

    With `topic_ids`, those of all topics by name, brokers that support it get the ids in place of the names: they
    refuse a topic that was recreated.
    """

    sentences: ClassVar[Mapping[int, str]] = {
        UNKNOWN_MEMBER_ID: "the group has members now, and only they may commit; stop them and try again",
        UNKNOWN_TOPIC_ID: "the topic was deleted, or deleted and recreated",
        **rights("READ", "READ"),
    }

    def __init__(
        self,
        offsets: Mapping[str, Mapping[TopicPartition, CommittedOffset]],
        *,
        topic_ids: Mapping[str, UUID] | None = None,
    ) -> None:
        super().__init__(offsets)
        self.api = OFFSET_COMMIT if topic_ids else OFFSET_COMMIT_BY_NAME
        self._offsets = offsets
        self._topic_ids = topic_ids or {}
        self._names = {topic_id: name for name, topic_id in self._topic_ids.items()}

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for each group, with the next of its open partitions."""
        return [((group,), {"group_id": group, "topics": self._topics(group, version)}) for group in keys]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[TopicPartition, Failure | None]]:
        """Return the outcome of the group. While partitions are retriable, only they are sent again."""
        group = keys[0]
        codes = {
            TopicPartition(self._name(topic, version), row["partition_index"]): row["error_code"]
            for topic in self.api.read_response(version, payload)["topics"]
            for row in topic["partitions"]
        }
        result: ApiResult[str, Mapping[TopicPartition, Failure | None]] = ApiResult()
        if self._complete(group, codes):
            self._add_outcome(result, group)
            return result
        requested = {codes.get(partition, 0) for partition in self._requested[group]}
        if len(requested) == 1 and requested <= _OF_THE_GROUP:
            result.failed[group] = broker_error(requested.pop())
            return result
        repeated = self._record_codes(group, codes, retriable=MAYBE_MADE | _RETRIABLE)
        if repeated & MAYBE_MADE:
            result.unmapped[group] = str(broker_error(min(repeated & MAYBE_MADE)))
        elif repeated:
            result.retriable[group] = str(broker_error(min(repeated)))
        else:
            self._add_outcome(result, group)
        return result

    def _record_bytes(self, group: str, item: TopicPartition) -> int:
        return commit_bytes(group, item, self._offsets[group][item])

    def _name(self, topic: Struct, version: int) -> str:
        if version < TOPIC_IDS_SINCE:
            return str(topic["name"])
        return self._names.get(topic["topic_id"], "")

    def _topics(self, group: str, version: int) -> list[dict[str, Any]]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for key in self._next_items(group):
            commit = self._offsets[group][key]
            row = {
                "partition_index": key.partition,
                "committed_offset": commit.offset,
                "committed_leader_epoch": -1 if commit.leader_epoch is None else commit.leader_epoch,
                "committed_metadata": commit.metadata,
            }
            topics.setdefault(key.topic, []).append(row)
        if version < TOPIC_IDS_SINCE:
            return [{"name": name, "partitions": rows} for name, rows in topics.items()]
        return [{"topic_id": self._topic_ids[name], "partitions": rows} for name, rows in topics.items()]
