"""Groups of members with hand-written requests. No member sends heartbeats, so the groups keep their states.

Sessions last ten minutes in classic groups and a minute in KIP-848 groups: longer than any test.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import uuid4

from kio.schema.consumer_group_heartbeat.v1.request import ConsumerGroupHeartbeatRequest
from kio.schema.join_group.v6.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.leave_group.v4.request import LeaveGroupRequest, MemberIdentity
from kio.schema.sync_group.v5.request import SyncGroupRequest, SyncGroupRequestAssignment
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i32Timedelta

from tests.live.groups.conditions import await_state, wait_until
from tests.live.groups.group_configs import configure_group
from tests.live.groups.raw_connection import RawConnection, connect_to_coordinator
from tests.live.groups.topics import unique_name

_LONG = i32Timedelta.parse(timedelta(minutes=10))
_MEMBER_ID_REQUIRED = 79
_JOIN, _LEAVE = 0, -1


@contextmanager
def completing_rebalance(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a classic group whose leader must assign partitions, and never does."""
    group = unique_name("completing")
    subscription = struct.pack(">hih", 0, 1, len(topic)) + topic.encode() + struct.pack(">i", 0)
    with _joined(bootstrap, group, "consumer", "range", subscription):
        await_state(bootstrap, group, "CompletingRebalance", members=1)
        yield group


@contextmanager
def connect(bootstrap: str) -> Iterator[str]:
    """Yield a Stable group like that of Kafka Connect's workers."""
    group = unique_name("connect")
    with _joined(bootstrap, group, "connect", "sessioned", b"\0\1") as (connection, joined):
        member = joined.member_id
        connection.send(
            SyncGroupRequest(
                group_id=GroupId(group),
                generation_id=joined.generation_id,
                member_id=member,
                protocol_type="connect",
                protocol_name="sessioned",
                assignments=(SyncGroupRequestAssignment(member_id=member, assignment=b"\0\1"),),
            )
        )
        yield group


@contextmanager
def assigning(bootstrap: str, topic: str) -> Iterator[str]:
    """Yield a KIP-848 group whose second member joined too soon after the first for new assignments (KIP-1263).

    The coordinator computes assignments while it handles a heartbeat, at most once an interval. No member sends
    heartbeats, so the group's epoch stays ahead of its assignments until the members' sessions end.
    """
    group = unique_name("assigning")
    configure_group(
        bootstrap, group, {"consumer.assignment.interval.ms": "15000", "consumer.session.timeout.ms": "60000"}
    )
    with connect_to_coordinator(bootstrap, group) as connection:
        first, second = str(uuid4()), str(uuid4())
        try:
            _heartbeat_until_accepted(connection, group, first, topic)
            await_state(bootstrap, group, "Stable", members=1)
            _heartbeat_until_accepted(connection, group, second, topic)
            await_state(bootstrap, group, "Assigning", members=2)
            yield group
        finally:
            for member in (first, second):
                connection.send(_heartbeat(group, member, _LEAVE))


@contextmanager
def _joined(
    bootstrap: str, group: str, protocol_type: str, protocol: str, metadata: bytes
) -> Iterator[tuple[RawConnection, Any]]:
    with connect_to_coordinator(bootstrap, group) as connection:

        def send_join(member: str) -> Any:
            return connection.send(
                JoinGroupRequest(
                    group_id=GroupId(group),
                    session_timeout=_LONG,
                    rebalance_timeout=_LONG,
                    member_id=member,
                    protocol_type=protocol_type,
                    protocols=(JoinGroupRequestProtocol(name=protocol, metadata=metadata),),
                )
            )

        without_id = send_join("")
        assert int(without_id.error_code) == _MEMBER_ID_REQUIRED
        joined = send_join(without_id.member_id)
        assert not int(joined.error_code), joined
        try:
            yield connection, joined
        finally:
            connection.send(
                LeaveGroupRequest(group_id=GroupId(group), members=(MemberIdentity(member_id=joined.member_id),))
            )


def _heartbeat_until_accepted(connection: RawConnection, group: str, member: str, topic: str) -> None:
    # A broker that does not know the topic yet, or that loads its part of the offsets topic, returns an error.
    responses: list[Any] = []

    def is_accepted() -> bool:
        responses[:] = [connection.send(_heartbeat(group, member, _JOIN, topic))]
        return not int(responses[0].error_code)

    wait_until(is_accepted, lambda: f"{group} did not accept a member: {responses}")


def _heartbeat(group: str, member: str, epoch: int, *topics: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=GroupId(group),
        member_id=member,
        member_epoch=i32(epoch),
        rebalance_timeout=_LONG,
        subscribed_topic_names=tuple(map(TopicName, topics)) or None,
        topic_partitions=() if epoch == _JOIN else None,
    )
