"""The lookups of brokers: coordinators of groups, leaders of partitions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.errors import AdminError, MissingFromResponseError
from kafka_groups.model import Broker, Failure, GroupListing, TopicPartition
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    LEADER_NOT_AVAILABLE,
    NOT_COORDINATOR,
    UNKNOWN_TOPIC_OR_PARTITION,
    broker_error,
)
from kafka_groups.protocol.messages import FIND_COORDINATOR, METADATA
from kafka_groups.protocol.messages.find_coordinator import BATCHED_SINCE
from kafka_groups.protocol.messages.metadata import NO_BROKERS

_RETRIABLE: Final = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE})


class PartitionKey(Protocol):
    """A key that belongs to one partition."""

    @property
    def topic(self) -> str:
        """Return the name of the topic."""

    @property
    def partition(self) -> int:
        """Return the number of the partition."""

    def __hash__(self) -> int: ...


K = TypeVar("K")
V = TypeVar("V")
P = TypeVar("P", bound=PartitionKey)


class CoordinatorStrategy:
    """FindCoordinator: from group ids to broker ids, all in one request since version 4 (KIP-699)."""

    api = FIND_COORDINATOR
    idempotent = True

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return one body for all groups, or one for each on old brokers."""
        if version >= BATCHED_SINCE:
            return [(keys, {"coordinator_keys": list(keys)})]
        return [((group,), {"key": group}) for group in keys]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, int]:
        """Return the coordinator of each group. Errors 14 and 15, and negative ids, are retriable."""
        response = FIND_COORDINATOR.read_response(version, payload)
        rows = response["coordinators"] if version >= BATCHED_SINCE else [{**response, "key": keys[0]}]
        result: ApiResult[str, int] = ApiResult()
        for row in rows:
            group = row["key"]
            code = row["error_code"]
            error = broker_error(code, row["error_message"] if code in _RETRIABLE else None)
            if code in _RETRIABLE:
                result.retriable[group] = str(error)
            elif code:
                result.failed[group] = error
            elif row["node_id"] < 0:
                # Negative ids stand for no broker, and within this package for any broker.
                result.retriable[group] = str(broker_error(COORDINATOR_NOT_AVAILABLE))
            else:
                result.completed[group] = row["node_id"]
        found = {row["node_id"]: row for row in rows if row["error_code"] == 0 and row["node_id"] >= 0}
        result.brokers = [Broker(id=node, host=row["host"], port=row["port"]) for node, row in found.items()]
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)


def add_group_error(result: ApiResult[str, V], group: str, code: int, message: str | None) -> None:
    """Add a group to the result by its error code: look up again, retry, or fail.

    Kafka's handlers agree on the codes for OffsetFetch and both describes (the *Handler classes of its Admin client):
    15 and 16 send the group back to the lookup, 14 keeps it at its broker.
    """
    error = broker_error(code, message)
    if code in (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE):
        result.unmapped[group] = str(error)
        result.maybe_made.add(group)
    elif code == COORDINATOR_LOAD_IN_PROGRESS:
        result.retriable[group] = str(error)
    else:
        result.failed[group] = error


class PartitionLeaderStrategy(Generic[P]):
    """Metadata: from keys of partitions to the broker ids of their leaders, one request for all topics.

    A partition without a leader fails at once with LEADER_NOT_AVAILABLE: it may stay without one for long, and its
    commits can be shown without its log offsets. `leaders` are those of all partitions of the topics, -1 for one
    without a leader.
    """

    api = METADATA
    idempotent = True

    def __init__(self) -> None:
        self.leaders: dict[str, dict[int, int]] = {}

    def build_requests(self, keys: Sequence[P], version: int) -> list[tuple[Sequence[P], Mapping[str, Any]]]:
        """Return one body with each topic once. It never creates a topic."""
        names = dict.fromkeys(key.topic for key in keys)
        return [(keys, {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False})]

    def handle_response(self, keys: Sequence[P], version: int, payload: bytes) -> ApiResult[P, int]:
        """Return the leader of each partition, or the reason why it has none."""
        response = METADATA.read_response(version, payload)
        if not response["brokers"]:
            return ApiResult(retriable=dict.fromkeys(keys, NO_BROKERS))
        topics: dict[str, Struct] = {topic["name"]: topic for topic in response["topics"]}
        leaders = {
            name: {row["partition_index"]: row["leader_id"] for row in topic["partitions"]}
            for name, topic in topics.items()
        }
        self.leaders.update({name: found for name, found in leaders.items() if not topics[name]["error_code"]})
        result: ApiResult[P, int] = ApiResult()
        for key in keys:
            if key.topic not in topics:
                result.failed[key] = MissingFromResponseError("its topic is missing from the broker's response")
            elif topics[key.topic]["error_code"] == LEADER_NOT_AVAILABLE:
                # A broker returns this code for a topic that is being created.
                result.retriable[key] = str(broker_error(LEADER_NOT_AVAILABLE))
            elif topics[key.topic]["error_code"]:
                result.failed[key] = broker_error(topics[key.topic]["error_code"])
            else:
                _add_leader(result, key, leaders[key.topic].get(key.partition))
        result.brokers = [Broker(id=row["node_id"], host=row["host"], port=row["port"]) for row in response["brokers"]]
        return result

    def to_failure(self, key: P, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the partition."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def _add_leader(result: ApiResult[P, int], key: P, leader: int | None) -> None:
    if leader is None:
        result.failed[key] = broker_error(UNKNOWN_TOPIC_OR_PARTITION)
    elif leader < 0:
        result.failed[key] = broker_error(LEADER_NOT_AVAILABLE, "the partition has no leader")
    else:
        result.completed[key] = leader


class LocationCache:
    """The coordinators and types of groups, and the partitions of topics with their leaders, that calls found."""

    def __init__(self) -> None:
        self.coordinators: dict[str, int] = {}
        self.leaders: dict[TopicPartition, int] = {}
        # The partitions of each topic, ascending, and when a response contained them.
        self.partitions: dict[str, tuple[float, tuple[int, ...]]] = {}
        self.types: dict[str, str | None] = {}
        # The last listing, until `take_listing`: a command that only lists groups does not need its locations.
        self.listed: Mapping[str, GroupListing] = {}

    def take_listing(self) -> None:
        """Store types and coordinators of the listed groups; a group that two brokers listed is looked up."""
        listed, self.listed = self.listed, {}
        for group, listing in listed.items():
            self.types[group] = listing.type
            self.coordinators.pop(group, None)
            if listing.coordinator is not None:
                self.coordinators[group] = listing.coordinator

    def store_topics(
        self, topics: Mapping[str, Mapping[int, int]], now: float, *, requested: Container[TopicPartition] = ()
    ) -> None:
        """Store the partitions of topics, and their leaders except for `requested` partitions."""
        for topic, leaders in topics.items():
            self.partitions[topic] = (now, tuple(sorted(leaders)))
            for partition, leader in leaders.items():
                if leader >= 0 and (key := TopicPartition(topic, partition)) not in requested:
                    self.leaders[key] = leader

    def partitions_since(self, earliest: float) -> Mapping[str, tuple[int, ...]]:
        """Return the partitions of the topics that were read at or after a time."""
        return {topic: numbers for topic, (at, numbers) in self.partitions.items() if at >= earliest}

    def forget_types(self, groups: Iterable[str]) -> None:
        """Forget the types of groups, so that they are described as groups of unknown type."""
        for group in groups:
            self.types.pop(group, None)


def store_locations(known: dict[K, int], found: Mapping[K, int], failed: Mapping[K, Failure]) -> None:
    """Store where keys were found, for later calls. A key whose broker did not respond may have moved: forget it."""
    known.update(found)
    for key, failure in failed.items():
        if failure.code is None and failure.broker is not None:
            known.pop(key, None)
