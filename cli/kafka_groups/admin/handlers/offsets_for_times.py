"""Find offsets by time: ListOffsets with many times of many partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.list_offsets import add_partition
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.messages import LIST_OFFSETS

# For each time a broker reads its time index and then records: some 0.1 ms if both are in memory.
MAX_PARTITIONS: Final = 250


class PartitionTime(NamedTuple):
    """A partition at a time, in milliseconds since 1970."""

    topic: str
    partition: int
    time_ms: int


class OffsetAndTimestamp(NamedTuple):
    """The offset of a record and its timestamp in milliseconds since 1970 (OffsetAndTimestamp.java)."""

    offset: int
    time_ms: int


class OffsetsForTimesHandler:
    """Partitions at times to the first record at or after the time; None if there is none."""

    api = LIST_OFFSETS
    idempotent = True

    def build_requests(
        self, keys: Sequence[PartitionTime], version: int
    ) -> list[tuple[Sequence[PartitionTime], Mapping[str, Any]]]:
        """Return as few bodies as possible. Each names a partition only once, and at most `MAX_PARTITIONS` of them."""
        times: dict[tuple[str, int], int] = {}
        bodies: list[list[PartitionTime]] = []
        for key in keys:
            nth = times.get(key[:2], 0)
            times[key[:2]] = nth + 1
            if nth == len(bodies):
                bodies.append([])
            bodies[nth].append(key)
        return [
            (part, {"topics": _by_topic(part)})
            for each in bodies
            for part in (each[at : at + MAX_PARTITIONS] for at in range(0, len(each), MAX_PARTITIONS))
        ]

    def handle_response(
        self, keys: Sequence[PartitionTime], version: int, payload: bytes
    ) -> ApiResult[PartitionTime, OffsetAndTimestamp | None]:
        """Return the record of each time, or add it by the error code of its partition."""
        requested = {key[:2]: key for key in keys}
        result: ApiResult[PartitionTime, OffsetAndTimestamp | None] = ApiResult()
        for topic in LIST_OFFSETS.read_response(version, payload)["topics"]:
            for row in topic["partitions"]:
                key = requested.get((topic["name"], row["partition_index"]))
                if key is not None:
                    record = OffsetAndTimestamp(row["offset"], row["timestamp"]) if row["offset"] >= 0 else None
                    add_partition(result, key, row["error_code"], record)
        return result

    def to_failure(self, key: PartitionTime, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the partition."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def _by_topic(keys: Sequence[PartitionTime]) -> list[Mapping[str, Any]]:
    topics: dict[str, list[Mapping[str, int]]] = {}
    for topic, partition, time_ms in keys:
        topics.setdefault(topic, []).append({"partition_index": partition, "timestamp": time_ms})
    return [{"name": name, "partitions": parts} for name, parts in topics.items()]
