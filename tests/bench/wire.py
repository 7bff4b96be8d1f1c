"""One blocking connection to a broker, on the product's message tables: for filling clusters and timing requests."""

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
_MOST_LOOK_UPS: Final = 10_000
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


class Line:
    """A connection to `host:port` that asks one question at a time."""

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

    def ask(self, api: Api, version: int, body: Mapping[str, Any]) -> bytes:
        """The answer without its size."""
        return self.exchange(frame_of(api, version, body))

    def time(self, api: Api, version: int, body: Mapping[str, Any]) -> float:
        """The seconds from the first byte out to the last byte in."""
        frame = frame_of(api, version, body)
        start = time.perf_counter()
        self.exchange(frame)
        return time.perf_counter() - start

    def exchange(self, frame: bytes) -> bytes:
        """The answer to a request that is encoded already."""
        self._socket.sendall(frame)
        size: int = _SIZE.unpack(self._file.read(_SIZE.size))[0]
        return self._file.read(size)


def frame_of(api: Api, version: int, body: Mapping[str, Any]) -> bytes:
    """A request as it goes on the wire."""
    return api.encode_request(version, correlation_id=0, client_id="bench", body=body)


def by_coordinator(bootstrap: str, groups: Iterable[str]) -> dict[str, list[str]]:
    """Groups by the address of their coordinator."""
    found: dict[str, list[str]] = {}
    names = list(groups)
    with Line(bootstrap.split(",", maxsplit=1)[0]) as line:
        for at in range(0, len(names), _MOST_LOOK_UPS):
            for row in _look_up(line, names[at : at + _MOST_LOOK_UPS]):
                found.setdefault(f"{row['host']}:{row['port']}", []).append(row["key"])
    return found


def _look_up(line: Line, groups: Sequence[str]) -> list[dict[str, Any]]:
    body = {"key_type": 0, "coordinator_keys": groups}
    payload = line.ask(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, body)
    rows: list[dict[str, Any]] = FIND_COORDINATOR.read_response(FIND_COORDINATOR_VERSION, payload)["coordinators"]
    if odd := next((row for row in rows if row["error_code"]), None):
        msg = f"no coordinator for {odd['key']}: error {odd['error_code']}"
        raise RuntimeError(msg)
    return rows
