"""List committed offsets of groups: OffsetFetch, with many groups in a request since version 8 (KIP-709)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError, TimeoutExceededError, UnsupportedVersionError
from kafka_groups.model import Failure, GroupOffsets, Results, TopicPartition
from kafka_groups.protocol import INT16, STRING, Cursor, read_count, skip_tags
from kafka_groups.protocol.errors import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT,
    broker_error,
)
from kafka_groups.protocol.messages import OFFSET_FETCH
from kafka_groups.protocol.messages.offset_fetch import ALL_TOPICS_SINCE, BATCHED_SINCE, REQUIRE_STABLE_SINCE
from kafka_groups.protocol.packed_offsets import PackedTopics, read_packed_topics

# A coordinator handles one request of a connection at a time (see docs/design/admin.md for the measurement).
MAX_GROUPS: Final = 2_000
MAX_NAMED_PARTITIONS: Final = 200_000
# Error codes of single partitions; any other code in version 1 belongs to the group.
_PARTITION_ERRORS: Final = frozenset({UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED})
_THROTTLE_SIZE: Final = 4

Errors: TypeAlias = Mapping[TopicPartition, int]

_read_group_id = STRING.read(True, False)
_read_error_code = INT16.read(True, False)


class ListConsumerGroupOffsetsHandler:
    """Group ids to committed offsets; `partitions_by_group` maps each group to its partitions, or to None for all.

    With `require_stable` (KIP-447) a commit of an open transaction makes its partition unstable. The group is requested
    again until it is stable. Without `waits` the first response counts: its unstable partitions fail, and brokers that
    do not have the option are read without it.
    """

    api = OFFSET_FETCH
    idempotent = True

    def __init__(
        self,
        partitions_by_group: Mapping[str, Sequence[TopicPartition] | None],
        *,
        require_stable: bool = False,
        waits: bool = True,
    ) -> None:
        self._partitions_by_group = partitions_by_group
        self._require_stable = require_stable
        self._waits = waits
        self._names: dict[str, str] = {}
        # The last offsets of groups that have unstable ones.
        self._unstable: dict[str, GroupOffsets] = {}

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the two limits allow; one for each group on old brokers."""
        if version < ALL_TOPICS_SINCE and any(self._partitions_by_group[group] is None for group in keys):
            msg = (
                f"all offsets of a group need OffsetFetch version {ALL_TOPICS_SINCE} (Kafka 0.10.2); "
                f"the broker supports up to {version}"
            )
            raise UnsupportedVersionError(msg)
        if self._require_stable and self._waits and version < REQUIRE_STABLE_SINCE:
            needed = f"OffsetFetch version {REQUIRE_STABLE_SINCE} (Kafka 2.5)"
            msg = f"--stable needs {needed}; the broker supports up to {version}"
            raise UnsupportedVersionError(msg)
        stable = {"require_stable": self._require_stable}
        if version < BATCHED_SINCE:
            return [((group,), {"group_id": group, "topics": self._topics(group), **stable}) for group in keys]
        return [
            (part, {"groups": [{"group_id": group, "topics": self._topics(group)} for group in part], **stable})
            for part in self._split(keys)
        ]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupOffsets]:
        """Return each group's own outcome; a group that the response lacks is in none of them."""
        cursor = OFFSET_FETCH.open_response(version, payload)
        if OFFSET_FETCH.throttle_since is not None and version >= OFFSET_FETCH.throttle_since:
            cursor.take(_THROTTLE_SIZE)
        result: ApiResult[str, GroupOffsets] = ApiResult()
        if version < BATCHED_SINCE:
            topics, errors = read_packed_topics(cursor, version, self._names)
            code = _group_error(cursor, version, errors)
            self._add(result, keys[0], topics, errors, code, is_stable=self._is_stable(version))
            _end(cursor, version)
            return result
        for _ in range(read_count(cursor, flexible=True)):
            group = _read_group_id(cursor)
            topics, errors = read_packed_topics(cursor, version, self._names)
            code = _read_error_code(cursor)
            skip_tags(cursor)
            self._add(result, group, topics, errors, code, is_stable=self._is_stable(version))
        _end(cursor, version)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)

    def with_unstable(self, results: Results[str, GroupOffsets]) -> Results[str, GroupOffsets]:
        """Return the results at the deadline, with the stable offsets of groups that have unstable ones, too.

        The unstable offsets of such a group are failed with Kafka's own code.
        """
        expired = {
            group: offsets
            for group, offsets in self._unstable.items()
            if group in results.failed and results.failed[group].name == TimeoutExceededError.name
        }
        return Results(
            succeeded={**results.succeeded, **expired},
            failed={group: failure for group, failure in results.failed.items() if group not in expired},
        )

    def _is_stable(self, version: int) -> bool:
        return self._require_stable and version >= REQUIRE_STABLE_SINCE

    def _add(
        self,
        result: ApiResult[str, GroupOffsets],
        group: str,
        topics: PackedTopics,
        errors: Errors,
        code: int,
        *,
        is_stable: bool,
    ) -> None:
        if code:
            add_group_error(result, group, code, None)
            return
        failed = {key: _partition_failure(group, key, code) for key, code in errors.items()}
        offsets = GroupOffsets(topics, failed, is_stable=is_stable)
        if self._waits and self._require_stable and UNSTABLE_OFFSET_COMMIT in errors.values():
            self._unstable[group] = offsets
            result.retriable[group] = str(broker_error(UNSTABLE_OFFSET_COMMIT))
        else:
            result.completed[group] = offsets

    def _topics(self, group: str) -> list[dict[str, Any]] | None:
        partitions = self._partitions_by_group[group]
        if partitions is None:
            return None
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        return [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]

    def _split(self, keys: Sequence[str]) -> Iterator[Sequence[str]]:
        part: list[str] = []
        weight = 0
        for group in keys:
            size = len(self._partitions_by_group[group] or ())
            if part and (len(part) >= MAX_GROUPS or weight + size > MAX_NAMED_PARTITIONS):
                yield part
                part = []
                weight = 0
            part.append(group)
            weight += size
        yield part


def _end(cursor: Cursor, version: int) -> None:
    if OFFSET_FETCH.is_flexible(version):
        skip_tags(cursor)
    cursor.end()


def _group_error(cursor: Cursor, version: int, errors: Errors) -> int:
    if version >= ALL_TOPICS_SINCE:
        return int(_read_error_code(cursor))
    return next((code for code in errors.values() if code not in _PARTITION_ERRORS), 0)


def _partition_failure(group: str, key: TopicPartition, code: int) -> Failure:
    return Failure.of(broker_error(code), group=group, topic=key.topic, partition=key.partition)
