"""A broker on a loopback port that decodes real request bytes and returns scripted responses.

It uses the project's own schemas in the other direction: it reads requests and writes responses.
`respond` returns the response to a request, and a script of reactions changes those to the next requests of an API:

    broker.script("OffsetFetch", drops, delayed(0.2), throttled(500))
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from itertools import count
from types import TracebackType
from typing import Any, Self

from kafka_groups.protocol import INT16, INT32, STRING, Cursor, Struct, compile_reader, compile_writer, skip_tags
from kafka_groups.protocol.messages import ALL, API_VERSIONS, Api
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.reactions import SILENCE, Reaction, ReceivedRequest, Respond
from tests.fakes.simulated_clock import SimulatedClock

APIS = {api.key: api for api in ALL}
# The versions of these APIs in Kafka 4.3, so that a client that uses a newer version is detected.
NEWEST: Mapping[str, tuple[int, int]] = {
    "AlterShareGroupOffsets": (0, 0),
    "ApiVersions": (0, 5),
    "ConsumerGroupDescribe": (0, 1),
    "DeleteGroups": (0, 2),
    "DeleteShareGroupOffsets": (0, 0),
    "DescribeCluster": (0, 2),
    "DescribeGroups": (0, 6),
    "DescribeProducers": (0, 0),
    "DescribeShareGroupOffsets": (0, 1),
    "FindCoordinator": (0, 6),
    "LeaveGroup": (0, 5),
    "ListGroups": (0, 5),
    "ListOffsets": (1, 11),
    "Metadata": (0, 13),
    "OffsetCommit": (2, 10),
    "OffsetDelete": (0, 0),
    "OffsetFetch": (1, 10),
    "ShareGroupDescribe": (1, 1),
    "StreamsGroupDescribe": (0, 0),
}
_UNSUPPORTED_VERSION = 35
_CLIENT_ID = STRING.read(False, True)
_NUMBERS = count()


class ScriptedBroker:
    """A broker that listens on one port; use it as a context manager. `received` has all requests."""

    def __init__(
        self,
        respond: Respond = lambda _request: {},
        *,
        number: int = 1,
        versions: Mapping[str, tuple[int, int]] | None = None,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        clock: SimulatedClock | None = None,
    ) -> None:
        self.id = number
        self.clock = clock or SimulatedClock()
        self.received: list[ReceivedRequest] = []
        self.faults: list[str] = []
        self.versions = {**NEWEST, **(versions or {})}
        self._respond = respond
        self._tls = tls
        self._scripts: dict[str, deque[Reaction]] = defaultdict(deque)
        self._holds: dict[str, int] = {}
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.endpoint = Endpoint(host=host, port=self._listener.getsockname()[1])
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def script(self, api: str, *reactions: Reaction) -> None:
        """Apply one reaction to each of the next requests of an API."""
        self._scripts[api].extend(reactions)

    def hold(self, api: str, *, until: int) -> None:
        """Respond to no request of this API on a connection before that many have arrived."""
        self._holds[api] = until

    def settings(self, **values: Any) -> ConnectionSettings:
        """Return connection settings with this broker as bootstrap server."""
        return ConnectionSettings(bootstrap=(self.endpoint,), **{"timeout_s": 30.0, **values})

    def close(self) -> None:
        """Stop listening, close all connections, wait for the threads. AssertionError if a request was not valid."""
        _shut(self._listener)
        self.close_connections()
        self.clock.wake(self._threads)
        for thread in self._threads:
            thread.join(timeout=5)
        assert not self.faults, self.faults

    def close_connections(self, *, with_reset: bool = False) -> None:
        """Close all connections and keep listening; `with_reset` as the system does when a broker is killed."""
        connections, self._open = self._open, []
        for connection in connections:
            if with_reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                _shut(connection, how=socket.SHUT_RD)
            else:
                _shut(connection)

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        self._threads.append(self.clock.start_thread(target, *args))

    def _accept(self) -> None:
        while True:
            try:
                self.clock.until_readable(self._listener)
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        held: list[Callable[[], bytes | None]] = []
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                while len(head := self._receive(connection, 4)) == 4:
                    request, respond = self._read(self._receive(connection, int.from_bytes(head, "big")))
                    held.append(respond)
                    if len(held) < self._holds.get(request.api, 1):
                        continue
                    for each in held:
                        frame = each()
                        if frame is None:
                            _close_gently(connection)
                            return
                        connection.sendall(frame)
                    held.clear()
        except OSError:
            return
        except (AssertionError, ValueError, KeyError) as fault:
            self.faults.append(repr(fault))

    def _receive(self, connection: socket.socket, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            if not isinstance(connection, ssl.SSLSocket) or not connection.pending():
                self.clock.until_readable(connection)
            chunk = connection.recv(size - len(received))
            if not chunk:
                break
            received += chunk
        return bytes(received)

    def _read(self, payload: bytes) -> tuple[ReceivedRequest, Callable[[], bytes | None]]:
        cursor = Cursor(payload)
        key, version = (INT16.read(False, False)(cursor) for _ in range(2))
        correlation = INT32.read(False, False)(cursor)
        client_id = _CLIENT_ID(cursor)
        api = APIS[key]
        if api.is_flexible(version):
            skip_tags(cursor)
        body = compile_reader(api.request, version=version, flexible=api.is_flexible(version))(cursor)
        assert cursor.remaining() == 0, f"{cursor.remaining()} bytes too many in {api.name} {version}"
        request = ReceivedRequest(
            broker=self.id,
            api=api.name,
            version=version,
            client_id=client_id,
            body=body,
            at=self.clock(),
            number=next(_NUMBERS),
            clock=self.clock,
        )
        self.received.append(request)
        return request, lambda: self._encode_response(request, api, correlation)

    def _encode_response(self, request: ReceivedRequest, api: Api, correlation: int) -> bytes | None:
        version = request.version
        lowest, highest = self.versions.get(api.name, (0, -1))
        assert api is API_VERSIONS or lowest <= version <= highest, (
            f"{api.name} {version} is not in its ApiVersions response"
        )
        response = self._own_versions(version, highest) if api is API_VERSIONS else self._respond(request)
        script = self._scripts[api.name]
        result = script.popleft()(request, response) if script else response
        if result is None:
            return None
        if result is SILENCE:
            return b""
        used = 0 if api is API_VERSIONS and response["error_code"] else version
        body = result if isinstance(result, bytes) else encode_response(api, used, result)
        return struct.pack(">ii", len(body) + 4, correlation) + body

    def _own_versions(self, version: int, highest: int) -> Struct:
        keys = {api.name: api.key for api in ALL}
        rows = [
            {"api_key": keys[name], "min_version": low, "max_version": high}
            for name, (low, high) in self.versions.items()
            if high >= 0
        ]
        # A broker that does not know the version responds with error 35 in version 0 (KIP-511).
        return {"error_code": _UNSUPPORTED_VERSION if version > highest else 0, "api_keys": rows}


def encode_response(api: Api, version: int, response: Struct) -> bytes:
    """Return the bytes behind the correlation id."""
    out = bytearray(b"\x00" if api.response_tags and api.is_flexible(version) else b"")
    compile_writer(api.response, version=version, flexible=api.is_flexible(version))(out, response)
    return bytes(out)


def _shut(sock: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    # The socket may not be connected, or the peer may have closed it.
    with contextlib.suppress(OSError):
        sock.shutdown(how)
    sock.close()


def _close_gently(sock: socket.socket) -> None:
    # A socket that is closed with unread requests sends a reset, and the client would see that instead of an end.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(2)
        while socket.socket.recv(sock, 65536):
            pass
