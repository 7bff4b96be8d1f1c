"""A connection to a broker that sends requests of kio's classes, and the requests that tests write by hand."""

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

from tests.live.groups.clients import open_admin
from tests.live.groups.conditions import wait_until

_TIMEOUT_S = 30
_CORRELATION = i32(7)


class RawConnection:
    """A connection that sends one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, request: Any) -> Any:
        """Send a request of one of kio's classes, and return the response."""
        frame = _frame(request)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._receive(4))
        return _response(request, self._receive(size))

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            received += piece
        return received


def connect_to_coordinator(bootstrap: str, group: str) -> RawConnection:
    """Return a connection to the group's coordinator, once there is one."""
    with open_admin(bootstrap) as admin:
        first = next(iter(admin.brokers().values()))
        found: list[Any] = []

        def find() -> bool:
            with RawConnection(first.host, first.port) as connection:
                found[:] = [connection.send(FindCoordinatorRequest(key=group, key_type=i8(0)))]
            return not int(found[0].error_code)

        wait_until(find, lambda: f"no coordinator for {group}: {found}")
    return RawConnection(found[0].host, found[0].port)


def commit_annotated(
    bootstrap: str, group: str, topic: str, *, partition: int, offset: int, leader_epoch: int, metadata: str
) -> None:
    """Commit for a group without members, with a leader epoch and metadata.

    librdkafka adds a NUL to metadata, so this request is written by hand.
    """
    commit = OffsetCommitRequestPartition(
        partition_index=i32(partition),
        committed_offset=i64(offset),
        committed_leader_epoch=i32(leader_epoch),
        committed_metadata=metadata,
    )
    topics = (OffsetCommitRequestTopic(name=TopicName(topic), partitions=(commit,)),)
    with connect_to_coordinator(bootstrap, group) as connection:
        response = connection.send(OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics))
    assert not int(response.topics[0].partitions[0].error_code), response


def remove_static_member(bootstrap: str, group: str, instance: str) -> None:
    """Remove a static member from its group, as an operator does."""
    leaving = MemberIdentity(member_id="", group_instance_id=instance)
    with connect_to_coordinator(bootstrap, group) as connection:
        connection.send(LeaveGroupRequest(group_id=GroupId(group), members=(leaving,)))


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
