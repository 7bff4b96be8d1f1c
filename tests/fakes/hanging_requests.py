"""Requests that a scripted broker never responds to, because of one of their keys."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import Any, Self

from kafka_groups.protocol import Struct
from tests.fakes.reactions import SILENCE, ReceivedRequest
from tests.fakes.scripted_cluster import ScriptedCluster

_MOST_REQUESTS = 1_000


class HangingRequests:
    """Requests of an API hang if they have one of the keys; use it as a context manager around calls.

    A request that hangs blocks its connection, as in Kafka, which handles the requests of a connection in their order.
    """

    def __init__(self, cluster: ScriptedCluster, api: str, keys: Collection[Any], *brokers: int) -> None:
        self._keys = frozenset(keys)
        self._end = threading.Event()
        cluster.script(api, *[self._react] * _MOST_REQUESTS, brokers=brokers or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Let no request hang any longer; those that hang get no response."""
        self._end.set()

    def _react(self, request: ReceivedRequest, response: Struct) -> Struct | object:
        if self._end.is_set() or not self._keys & {*keys_of(request)}:
            return response
        request.clock.wait_for(self._end)
        return SILENCE


def keys_of(request: ReceivedRequest) -> Iterator[Any]:
    """Yield the group ids, or the topics and partitions, in a request."""
    body = request.body
    match request.api:
        case "DescribeGroups":
            yield from body["groups"]
        case "ConsumerGroupDescribe":
            yield from body["group_ids"]
        case "OffsetFetch":
            yield from (group["group_id"] for group in body["groups"] or [body])
        case "FindCoordinator":
            yield from body["coordinator_keys"] or [body["key"]]
        case "ListOffsets":
            yield from (
                (topic["name"], row["partition_index"]) for topic in body["topics"] for row in topic["partitions"]
            )
        case "Metadata":
            yield from (topic["name"] for topic in body["topics"] or ())
        case "DeleteGroups":
            yield from body["groups_names"]
