"""The logs of partitions of a scripted cluster: their offsets, and the first record since a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest

_NOT_LEADER = 6
_INVALID_REQUEST = 42
_READ_COMMITTED = 1


class ScriptedLogs:
    """The part of ScriptedCluster that responds to ListOffsets and DescribeProducers.

    ScriptedCluster describes the attributes.
    """

    topics: dict[str, Mapping[int, int]]
    ends: dict[tuple[str, int], int]
    starts: dict[tuple[str, int], int]
    records: dict[tuple[str, int], Sequence[int]]
    stable: dict[tuple[str, int], int]
    producers: dict[tuple[str, int], Sequence[Struct]]

    def _respond_ListOffsets(self, request: ReceivedRequest) -> Struct:
        named = Counter(
            (topic["name"], row["partition_index"]) for topic in request.body["topics"] for row in topic["partitions"]
        )
        return {
            "topics": [
                {
                    "name": topic["name"],
                    "partitions": [
                        self._log(request, topic["name"], row, times=named[topic["name"], row["partition_index"]])
                        for row in topic["partitions"]
                    ],
                }
                for topic in request.body["topics"]
            ]
        }

    def _respond_DescribeProducers(self, request: ReceivedRequest) -> Struct:
        return {
            "topics": [
                {
                    "name": topic["name"],
                    "partitions": [
                        self._producers(request, topic["name"], partition) for partition in topic["partition_indexes"]
                    ],
                }
                for topic in request.body["topics"]
            ]
        }

    def _producers(self, request: ReceivedRequest, topic: str, partition: int) -> Struct:
        if self.topics.get(topic, {}).get(partition) != request.broker:
            return {"partition_index": partition, "error_code": _NOT_LEADER}
        return {"partition_index": partition, "active_producers": self.producers.get((topic, partition), ())}

    def _log(self, request: ReceivedRequest, topic: str, row: Struct, *, times: int) -> Struct:
        key = (topic, row["partition_index"])
        if times > 1:
            return {"partition_index": key[1], "error_code": _INVALID_REQUEST}
        if self.topics.get(topic, {}).get(key[1]) != request.broker:
            return {"partition_index": key[1], "error_code": _NOT_LEADER}
        start = self.starts.get(key, 0)
        end = start + len(self.records[key]) if key in self.records else self.ends.get(key, 100)
        at = {-1: self.stable.get(key, end) if request.body["isolation_level"] == _READ_COMMITTED else end, -2: start}
        if row["timestamp"] in at:
            return {"partition_index": key[1], "offset": at[row["timestamp"]]}
        return {"partition_index": key[1], **self._record(key, row["timestamp"])}

    def _record(self, key: tuple[str, int], at: int) -> Struct:
        for offset, time in enumerate(self.records.get(key, ()), self.starts.get(key, 0)):
            if time >= at:
                return {"offset": offset, "timestamp": time}
        return {"offset": -1}
