"""OffsetFetch: what has each of these groups committed? Many groups a request since version 8 (KIP-709)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.driver import ApiResult
from kafka_groups.admin.handlers.group_errors import add_group_error
from kafka_groups.admin.offsets import GroupOffsets
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.protocol import INT16, STRING, Cursor, read_count, skip_tags
from kafka_groups.protocol.errors import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT,
    broker_error,
)
from kafka_groups.protocol.messages import OFFSET_FETCH
from kafka_groups.protocol.messages.offset_fetch import ALL_TOPICS_SINCE, BATCHED_SINCE, REQUIRE_STABLE_SINCE
from kafka_groups.protocol.packed_offsets import read_packed_topics

# One request holds its coordinator for as long as it takes to answer (cli/DESIGN.md says what was measured).
MOST_GROUPS: Final = 2_000
MOST_NAMED_PARTITIONS: Final = 200_000
# What a partition can be refused for on its own; any other code in version 1 is the group's.
_OF_PARTITION: Final = frozenset({UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED})
_THROTTLE_SIZE: Final = 4

_read_group_id = STRING.read(True, False)
_read_error_code = INT16.read(True, False)


class ListConsumerGroupOffsetsHandler:
    """Keys are group ids; `wanted` maps each to its partitions, or to None for all that it has."""

    api = OFFSET_FETCH

    def __init__(self, wanted: Mapping[str, Sequence[TopicPartition] | None], *, require_stable: bool) -> None:
        self._wanted = wanted
        self._require_stable = require_stable
        self._names: dict[str, str] = {}
        # The last answer of groups that had unstable offsets in it.
        self.unstable: dict[str, GroupOffsets] = {}

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """One body a group on old brokers; else as few as the two bounds allow."""
        if version < ALL_TOPICS_SINCE and any(self._wanted[group] is None for group in keys):
            msg = (
                f"the broker speaks OffsetFetch up to version {version}; all offsets of a group are told from "
                f"version {ALL_TOPICS_SINCE} on (Kafka 0.10.2)"
            )
            raise UnsupportedVersionError(msg)
        if self._require_stable and version < REQUIRE_STABLE_SINCE:
            msg = f"--stable takes OffsetFetch {REQUIRE_STABLE_SINCE} (Kafka 2.5); the broker speaks up to {version}"
            raise UnsupportedVersionError(msg)
        stable = {"require_stable": self._require_stable}
        if version < BATCHED_SINCE:
            return [((group,), {"group_id": group, "topics": self._topics(group), **stable}) for group in keys]
        return [
            (part, {"groups": [{"group_id": group, "topics": self._topics(group)} for group in part], **stable})
            for part in self._parts(keys)
        ]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupOffsets]:
        """Each group's own outcome; a group that the answer lacks stays unnamed."""
        cursor = OFFSET_FETCH.open_response(version, payload)
        if OFFSET_FETCH.throttle_since is not None and version >= OFFSET_FETCH.throttle_since:
            cursor.take(_THROTTLE_SIZE)
        result: ApiResult[str, GroupOffsets] = ApiResult()
        if version < BATCHED_SINCE:
            self._add(result, keys[0], *self._read_single(cursor, version))
            return result
        for _ in range(read_count(cursor, flexible=True)):
            group = _read_group_id(cursor)
            offsets = GroupOffsets(*read_packed_topics(cursor, version, self._names))
            code = _read_error_code(cursor)
            skip_tags(cursor)
            self._add(result, group, offsets, code)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """The group's failure."""
        return Failure.of(error, group=key, broker=broker)

    def _read_single(self, cursor: Cursor, version: int) -> tuple[GroupOffsets, int]:
        offsets = GroupOffsets(*read_packed_topics(cursor, version, self._names))
        if version >= ALL_TOPICS_SINCE:
            return offsets, _read_error_code(cursor)
        return offsets, next((code for code in offsets.refused.values() if code not in _OF_PARTITION), 0)

    def _add(self, result: ApiResult[str, GroupOffsets], group: str, offsets: GroupOffsets, code: int) -> None:
        if code:
            add_group_error(result, group, code, None)
        elif self._require_stable and UNSTABLE_OFFSET_COMMIT in offsets.refused.values():
            self.unstable[group] = offsets
            result.retriable[group] = str(broker_error(UNSTABLE_OFFSET_COMMIT))
        else:
            result.completed[group] = offsets

    def _topics(self, group: str) -> list[dict[str, Any]] | None:
        partitions = self._wanted[group]
        if partitions is None:
            return None
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        return [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]

    def _parts(self, keys: Sequence[str]) -> Iterator[Sequence[str]]:
        part: list[str] = []
        weight = 0
        for group in keys:
            size = len(self._wanted[group] or ())
            if part and (len(part) >= MOST_GROUPS or weight + size > MOST_NAMED_PARTITIONS):
                yield part
                part, weight = [], 0
            part.append(group)
            weight += size
        yield part
