"""A blocking connection to a broker, with the product's message tables: for commits and for requests that are timed."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from kafka_groups.protocol import INT16, INT32, INT64, STRING, Array, Field
from kafka_groups.protocol.messages import FIND_COORDINATOR, Api

_SIZE: Final = struct.Struct(">i")
_TIMEOUT_S: Final = 120
_MAX_LOOKUPS: Final = 10_000
FIND_COORDINATOR_VERSION: Final = 4

# Source: OffsetCommitRequest.json and OffsetCommitResponse.json.
OFFSET_COMMIT: Final = Api(
    key=8,
    name="OffsetCommit",
    lowest=8,
    highest=9,
    flexible_since=8,
    throttle_since=3,
    request=(
        Field("group_id", STRING),
        Field("generation_id_or_member_epoch", INT32, default=-1),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, nullable_since=7, default=None),
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field(
                        "partitions",
                        Array(
                            (
                                Field("partition_index", INT32),
                                Field("committed_offset", INT64),
                                Field("committed_leader_epoch", INT32, default=-1),
                                Field("committed_metadata", STRING, nullable_since=0),
                            )
                        ),
                    ),
                )
            ),
        ),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field("partitions", Array((Field("partition_index", INT32), Field("error_code", INT16)))),
                )
            ),
        ),
    ),
)


class BrokerConnection:
    """A connection to `host:port` that sends one request at a time."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, api: Api, version: int, body: Mapping[str, Any]) -> bytes:
        """Send a request and return the response without its size."""
        return self.send_frame(encode_frame(api, version, body))

    def time_request(self, api: Api, version: int, body: Mapping[str, Any]) -> float:
        """Return the seconds from the first byte of the request to the last byte of the response."""
        frame = encode_frame(api, version, body)
        start = time.perf_counter()
        self.send_frame(frame)
        return time.perf_counter() - start

    def send_frame(self, frame: bytes) -> bytes:
        """Send an encoded request and return the response without its size."""
        self._socket.sendall(frame)
        size: int = _SIZE.unpack(self._file.read(_SIZE.size))[0]
        return self._file.read(size)


def encode_frame(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """Return a request as it is sent, with its size in front."""
    return api.encode_request(version, correlation_id=0, client_id="bench", body=body)


def group_by_coordinator(bootstrap: str, groups: Iterable[str]) -> dict[str, list[str]]:
    """Return the groups by the address of their coordinator."""
    found: dict[str, list[str]] = {}
    names = list(groups)
    with BrokerConnection(bootstrap.split(",", maxsplit=1)[0]) as connection:
        for at in range(0, len(names), _MAX_LOOKUPS):
            for row in _look_up(connection, names[at : at + _MAX_LOOKUPS]):
                found.setdefault(f"{row['host']}:{row['port']}", []).append(row["key"])
    return found


def _look_up(connection: BrokerConnection, groups: Sequence[str]) -> list[dict[str, Any]]:
    body = {"key_type": 0, "coordinator_keys": groups}
    payload = connection.send(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, body)
    rows: list[dict[str, Any]] = FIND_COORDINATOR.read_response(FIND_COORDINATOR_VERSION, payload)["coordinators"]
    if failed := next((row for row in rows if row["error_code"]), None):
        msg = f"no coordinator for {failed['key']}: error {failed['error_code']}"
        raise RuntimeError(msg)
    return rows
