"""One connection to a broker, and messages written by hand with kio's classes."""

from __future__ import annotations

import importlib
import io
import socket
import struct
from types import TracebackType
from typing import Any, Self

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.leave_group.v4.request import LeaveGroupRequest, MemberIdentity
from kio.schema.offset_commit.v8.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i8, i32, i64

from tests.live.groups.asking import admin_of
from tests.live.groups.waiting import wait_until

_TIMEOUT_S = 30
_CORRELATION = i32(7)


class Wire:
    """A connection; it answers one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def ask(self, request: Any) -> Any:
        """Send a request of kio's and return the response."""
        frame = _frame(request)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._take(4))
        return _response(request, self._take(size))

    def _take(self, size: int) -> bytes:
        taken = b""
        while len(taken) < size:
            piece = self._socket.recv(size - len(taken))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            taken += piece
        return taken


def coordinator_of(bootstrap: str, group: str) -> Wire:
    """A connection to the broker that coordinates the group, found as soon as there is one."""
    with admin_of(bootstrap) as admin:
        first = next(iter(admin.brokers().values()))
        found: list[Any] = []

        def look() -> bool:
            with Wire(first.host, first.port) as wire:
                found[:] = [wire.ask(FindCoordinatorRequest(key=group, key_type=i8(0)))]
            return not int(found[0].error_code)

        wait_until(look, lambda: f"no coordinator for {group}: {found}")
    return Wire(found[0].host, found[0].port)


def commit_annotated(
    bootstrap: str, group: str, topic: str, *, partition: int, offset: int, leader_epoch: int, metadata: str
) -> None:
    """Commit for a group without members, with all that a commit may carry.

    librdkafka ends metadata with a NUL that nobody wrote, so this is said by hand.
    """
    commit = OffsetCommitRequestPartition(
        partition_index=i32(partition),
        committed_offset=i64(offset),
        committed_leader_epoch=i32(leader_epoch),
        committed_metadata=metadata,
    )
    topics = (OffsetCommitRequestTopic(name=TopicName(topic), partitions=(commit,)),)
    with coordinator_of(bootstrap, group) as wire:
        answer = wire.ask(OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics))
    assert not int(answer.topics[0].partitions[0].error_code), answer


def dismiss_static(bootstrap: str, group: str, instance: str) -> None:
    """Make a static member leave, as an operator does."""
    leaving = MemberIdentity(member_id="", group_instance_id=instance)
    with coordinator_of(bootstrap, group) as wire:
        wire.ask(LeaveGroupRequest(group_id=GroupId(group), members=(leaving,)))


def _frame(request: Any) -> bytes:
    out = io.BytesIO()
    header_class = request.__header_schema__
    header = header_class(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=_CORRELATION,
        client_id="raw-client",
    )
    entity_writer(header_class)(out, header)
    entity_writer(type(request))(out, request)
    return out.getvalue()


def _response(request: Any, data: bytes) -> Any:
    module = importlib.import_module(type(request).__module__.replace(".request", ".response"))
    response_class = getattr(module, type(request).__name__.replace("Request", "Response"))
    _, size = entity_reader(response_class.__header_schema__)(data, 0)
    return entity_reader(response_class)(data[size:], 0)[0]
