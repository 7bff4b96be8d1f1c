"""Which broker is to be asked: the coordinators of groups, the leaders of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from kafka_groups.admin.driver import ApiResult
from kafka_groups.errors import AdminError, MissingFromResponseError
from kafka_groups.model import Broker, Failure
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    broker_error,
)
from kafka_groups.protocol.messages import FIND_COORDINATOR, METADATA
from kafka_groups.protocol.messages.find_coordinator import BATCHED_SINCE

_AGAIN: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE})
_NO_LEADER: Final = -1


class OfPartition(Protocol):
    """A key that is of a partition, whatever else it says."""

    @property
    def topic(self) -> str:
        """Name of the topic."""

    @property
    def partition(self) -> int:
        """Number of the partition."""

    def __hash__(self) -> int: ...


P = TypeVar("P", bound=OfPartition)


class CoordinatorStrategy:
    """FindCoordinator: keys are group ids, answers broker ids; all in one request since version 4 (KIP-699)."""

    api = FIND_COORDINATOR

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """One body for all, or one each on old brokers."""
        if version >= BATCHED_SINCE:
            return [(keys, {"coordinator_keys": list(keys)})]
        return [((group,), {"key": group}) for group in keys]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, int]:
        """Where each group is; errors 14 and 15 are asked again, after a wait."""
        answer = FIND_COORDINATOR.read_response(version, payload)
        rows = answer["coordinators"] if version >= BATCHED_SINCE else [{**answer, "key": keys[0]}]
        result: ApiResult[str, int] = ApiResult()
        for row in rows:
            group, code = row["key"], row["error_code"]
            error = broker_error(code, row["error_message"] if code in _AGAIN else None)
            if code in _AGAIN:
                result.retriable[group] = str(error)
            elif code:
                result.failed[group] = error
            else:
                result.completed[group] = row["node_id"]
        found = {row["node_id"]: row for row in rows if row["error_code"] == 0}
        result.brokers = [Broker(id=node, host=row["host"], port=row["port"]) for node, row in found.items()]
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """The group's failure."""
        return Failure.of(error, group=key, broker=broker)


class PartitionLeaderStrategy(Generic[P]):
    """Metadata: keys are of partitions, answers the ids of their leaders; one request for all topics.

    A partition without a leader fails at once with LEADER_NOT_AVAILABLE: when it will have one
    again, nobody knows, and its commits can be shown without.
    """

    api = METADATA

    def build_requests(self, keys: Sequence[P], version: int) -> list[tuple[Sequence[P], Mapping[str, Any]]]:
        """One body with each topic once. It never creates a topic."""
        names = dict.fromkeys(key.topic for key in keys)
        return [(keys, {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[P], version: int, payload: bytes) -> ApiResult[P, int]:
        """Each partition's leader, or why it has none."""
        answer = METADATA.read_response(version, payload)
        topics: dict[str, Struct] = {topic["name"]: topic for topic in answer["topics"]}
        leaders = {name: {row["partition_index"]: row for row in topic["partitions"]} for name, topic in topics.items()}
        result: ApiResult[P, int] = ApiResult()
        for key in keys:
            if key.topic not in topics:
                result.failed[key] = MissingFromResponseError("the broker's answer does not mention its topic")
            elif topics[key.topic]["error_code"] == LEADER_NOT_AVAILABLE:
                # So a broker speaks of a topic that is being made.
                result.retriable[key] = str(broker_error(LEADER_NOT_AVAILABLE))
            elif topics[key.topic]["error_code"]:
                result.failed[key] = broker_error(topics[key.topic]["error_code"])
            else:
                _sort_partition(result, key, leaders[key.topic].get(key.partition))
        result.brokers = [Broker(id=row["node_id"], host=row["host"], port=row["port"]) for row in answer["brokers"]]
        return result

    def to_failure(self, key: P, error: AdminError, broker: int | None) -> Failure:
        """The partition's failure."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def _sort_partition(result: ApiResult[P, int], key: P, row: Struct | None) -> None:
    if row is None:
        result.failed[key] = broker_error(UNKNOWN_TOPIC_OR_PARTITION)
    elif row["leader_id"] == _NO_LEADER:
        result.failed[key] = broker_error(LEADER_NOT_AVAILABLE, "the partition has no leader")
    else:
        result.completed[key] = row["leader_id"]
