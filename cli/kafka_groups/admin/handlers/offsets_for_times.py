"""ListOffsets by time: which is the first record of a partition at or after a time? Many times of many partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafka_groups.admin.driver import ApiResult
from kafka_groups.admin.handlers.list_offsets import add_partition
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure
from kafka_groups.protocol.messages import LIST_OFFSETS

# A broker reads its time index, and then records up to the one, for each: some 0.1 ms where both are in memory.
MOST_PARTITIONS: Final = 250


class PartitionTime(NamedTuple):
    """A partition at a time, in milliseconds since 1970."""

    topic: str
    partition: int
    time_ms: int


class Point(NamedTuple):
    """A record: its offset, and its own timestamp in milliseconds."""

    offset: int
    time_ms: int


class OffsetsForTimesHandler:
    """Keys are partitions at times; answers the first record at or after it, or None."""

    api = LIST_OFFSETS

    def build_requests(
        self, keys: Sequence[PartitionTime], version: int
    ) -> list[tuple[Sequence[PartitionTime], Mapping[str, Any]]]:
        """As few bodies as there may be: each names a partition once, and no more of them than the bound."""
        turns: dict[tuple[str, int], int] = {}
        rounds: list[list[PartitionTime]] = []
        for key in keys:
            turn = turns.get(key[:2], 0)
            turns[key[:2]] = turn + 1
            if turn == len(rounds):
                rounds.append([])
            rounds[turn].append(key)
        return [
            (part, {"topics": _by_topic(part)})
            for each in rounds
            for part in (each[at : at + MOST_PARTITIONS] for at in range(0, len(each), MOST_PARTITIONS))
        ]

    def handle_response(
        self, keys: Sequence[PartitionTime], version: int, payload: bytes
    ) -> ApiResult[PartitionTime, Point | None]:
        """Each time's record, or what its partition's error asks for."""
        asked = {key[:2]: key for key in keys}
        result: ApiResult[PartitionTime, Point | None] = ApiResult()
        for topic in LIST_OFFSETS.read_response(version, payload)["topics"]:
            for row in topic["partitions"]:
                key = asked.get((topic["name"], row["partition_index"]))
                if key is not None:
                    point = Point(row["offset"], row["timestamp"]) if row["offset"] >= 0 else None
                    add_partition(result, key, row["error_code"], point)
        return result

    def to_failure(self, key: PartitionTime, error: AdminError, broker: int | None) -> Failure:
        """The partition's failure."""
        return Failure.of(error, topic=key.topic, partition=key.partition, broker=broker)


def _by_topic(keys: Sequence[PartitionTime]) -> list[Mapping[str, Any]]:
    topics: dict[str, list[Mapping[str, int]]] = {}
    for topic, partition, time_ms in keys:
        topics.setdefault(topic, []).append({"partition_index": partition, "timestamp": time_ms})
    return [{"name": name, "partitions": parts} for name, parts in topics.items()]
