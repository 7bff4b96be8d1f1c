"""Metadata: which partitions each of these topics has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.routing import Sorted
from kafka_groups.admin.wire.error_codes import LEADER_NOT_AVAILABLE, broker_error
from kafka_groups.admin.wire.messages import METADATA
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure


class CountPartitions:
    """Keys are topic names; answers their partitions, ascending."""

    api = METADATA

    def bodies(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """One body for all topics. It never creates a topic."""
        return [(keys, {"topics": [{"name": name} for name in keys], "allow_auto_topic_creation": False})]

    def read(self, keys: Sequence[str], version: int, payload: bytes) -> Sorted[str, tuple[int, ...]]:
        """Each topic's partitions, or its error."""
        sorted_: Sorted[str, tuple[int, ...]] = Sorted()
        for topic in METADATA.read_reply(version, payload)["topics"]:
            name, code = topic["name"], topic["error_code"]
            if code == LEADER_NOT_AVAILABLE:
                sorted_.again[name] = str(broker_error(code))
            elif code:
                sorted_.failed[name] = broker_error(code)
            else:
                sorted_.done[name] = tuple(sorted(row["partition_index"] for row in topic["partitions"]))
        return sorted_

    def blame(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """The topic's failure."""
        return Failure.of(error, topic=key, broker=broker)
