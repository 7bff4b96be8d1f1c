"""Share and streams groups, which are listed but which consumer-group commands do not describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

from confluent_kafka import ShareConsumer
from kio.schema.streams_group_heartbeat.v0.request import StreamsGroupHeartbeatRequest, Subtopology, Topology
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i32Timedelta

from tests.live.groups.clients import open_admin
from tests.live.groups.conditions import wait_until
from tests.live.groups.raw_connection import connect_to_coordinator
from tests.live.groups.topics import client_properties, unique_name

_MINUTE = i32Timedelta.parse(timedelta(minutes=1))
_JOIN, _LEAVE = 0, -1


@contextmanager
def share(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a Stable share group."""
    group = unique_name("share")
    consumer = ShareConsumer(client_properties(bootstrap) | {"group.id": group})
    try:
        consumer.subscribe([topic])
        with open_admin(bootstrap) as admin:

            def is_listed() -> bool:
                consumer.poll(0.1)
                return group in admin.list_groups(states=["Stable"], types=["Share"]).succeeded

            wait_until(is_listed, lambda: f"share group {group} is not Stable")
        yield group
    finally:
        consumer.close()


@contextmanager
def streams(bootstrap: str, *topics: str) -> Iterator[str]:
    """Yield a streams group (KIP-1071) whose topology reads existing topics, and whose member only joined."""
    group, member = unique_name("streams"), str(uuid4())
    with connect_to_coordinator(bootstrap, group) as connection:
        responses: list[Any] = []

        def has_joined() -> bool:
            responses[:] = [connection.send(_heartbeat(group, member, _JOIN, topology=_topology(*topics)))]
            return not int(responses[0].error_code)

        wait_until(has_joined, lambda: f"streams group {group} did not accept a member: {responses}")
        try:
            yield group
        finally:
            connection.send(_heartbeat(group, member, _LEAVE, topology=None))


def _topology(*topics: str) -> Topology:
    subtopology = Subtopology(
        subtopology_id="0",
        source_topics=tuple(map(TopicName, topics)),
        state_changelog_topics=(),
        repartition_source_topics=(),
        copartition_groups=(),
    )
    return Topology(epoch=i32(0), subtopologies=(subtopology,))


def _heartbeat(group: str, member: str, epoch: int, *, topology: Topology | None) -> StreamsGroupHeartbeatRequest:
    nothing: Any = () if epoch == _JOIN else None
    return StreamsGroupHeartbeatRequest(
        group_id=GroupId(group),
        member_id=member,
        member_epoch=i32(epoch),
        endpoint_information_epoch=i32(0),
        rebalance_timeout=_MINUTE,
        topology=topology,
        active_tasks=nothing,
        standby_tasks=nothing,
        warmup_tasks=nothing,
        process_id="p1" if epoch == _JOIN else None,
        client_tags=nothing,
        task_offsets=None,
        task_end_offsets=None,
    )
