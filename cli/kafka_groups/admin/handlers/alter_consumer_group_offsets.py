"""Alter committed offsets of groups: OffsetCommit, one request for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_change import PartitionChangeHandler, rights
from kafka_groups.model import CommittedOffset, Failure, TopicPartition
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    broker_error,
)
from kafka_groups.protocol.messages import OFFSET_COMMIT

_UNMAPPED: Final = frozenset({NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE})
_RETRIABLE: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, REBALANCE_IN_PROGRESS})
# OffsetCommit has no error code of the group: brokers return these codes for each of its partitions.
_OF_THE_GROUP: Final = frozenset({INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND})


class AlterConsumerGroupOffsetsHandler(PartitionChangeHandler):
    """Group ids to what became of each partition. A commit of no member is refused while the group has members."""

    api = OFFSET_COMMIT
    sentences: ClassVar[Mapping[int, str]] = {
        UNKNOWN_MEMBER_ID: "the group has members now, and only they may commit; stop them and try again",
        **rights("READ", "READ"),
    }

    def __init__(self, offsets: Mapping[str, Mapping[TopicPartition, CommittedOffset]]) -> None:
        super().__init__(offsets)
        self._offsets = offsets

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for each group, with the partitions that are still open."""
        return [((group,), {"group_id": group, "topics": self._topics(group)}) for group in keys]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[TopicPartition, Failure | None]]:
        """Return the outcome of the group. While partitions are retriable, only they are sent again."""
        group = keys[0]
        codes = {
            TopicPartition(topic["name"], row["partition_index"]): row["error_code"]
            for topic in OFFSET_COMMIT.read_response(version, payload)["topics"]
            for row in topic["partitions"]
        }
        result: ApiResult[str, Mapping[TopicPartition, Failure | None]] = ApiResult()
        if self._complete(group, codes):
            result.completed[group] = self._in_order(group)
            return result
        requested = {codes.get(partition, 0) for partition in self._open_items(group)}
        if len(requested) == 1 and requested <= _OF_THE_GROUP:
            result.failed[group] = broker_error(requested.pop())
            return result
        repeated = self._record_codes(group, codes, retriable=_UNMAPPED | _RETRIABLE)
        if repeated & _UNMAPPED:
            result.unmapped[group] = str(broker_error(min(repeated & _UNMAPPED)))
            result.maybe_made.update((group,) if COORDINATOR_NOT_AVAILABLE in repeated else ())
        elif repeated:
            result.retriable[group] = str(broker_error(min(repeated)))
        else:
            result.completed[group] = self._in_order(group)
        return result

    def _topics(self, group: str) -> list[dict[str, Any]]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for key in self._open_items(group):
            commit = self._offsets[group][key]
            row = {
                "partition_index": key.partition,
                "committed_offset": commit.offset,
                "committed_leader_epoch": -1 if commit.leader_epoch is None else commit.leader_epoch,
                "committed_metadata": commit.metadata,
            }
            topics.setdefault(key.topic, []).append(row)
        return [{"name": name, "partitions": rows} for name, rows in topics.items()]
