"""A broker on a loopback port that decodes real request bytes and answers from a script.

It speaks with the project's own message tables turned round: requests are read, responses written.
What it answers is decided by `answer`, and for the next requests of an API by a script of reactions:

    broker.script("OffsetFetch", drops, delayed(0.2), throttled(500))
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from kafka_groups.protocol import INT16, INT32, STRING, Cursor, Struct, compile_reader, compile_writer, skip_tags
from kafka_groups.protocol.messages import ALL, API_VERSIONS, Api
from kafka_groups.settings import ConnectionSettings, Endpoint

APIS = {api.key: api for api in ALL}
# What Kafka 4.3 offers of these APIs, so that a client that takes too new a version is caught.
NEWEST: Mapping[str, tuple[int, int]] = {
    "ApiVersions": (0, 5),
    "ConsumerGroupDescribe": (0, 1),
    "DescribeGroups": (0, 6),
    "FindCoordinator": (0, 6),
    "ListGroups": (0, 5),
    "ListOffsets": (1, 11),
    "Metadata": (0, 13),
    "OffsetFetch": (1, 10),
}
_UNSUPPORTED_VERSION = 35
_CLIENT_ID = STRING.read(False, True)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request as a broker received it; `at` is on the monotonic clock."""

    broker: int
    api: str
    version: int
    client_id: str
    body: Struct
    at: float


# What a script makes of the answer that the broker would give: another one, the raw bytes behind the
# correlation id, None to hang up, or SILENCE.
SILENCE = object()
Answer: TypeAlias = Callable[[Asked], Struct]
Reaction: TypeAlias = Callable[[Asked, Struct], Any]


def plain(_asked: Asked, answer: Struct) -> Struct:
    """As it would be without a script; a place holder between other reactions."""
    return answer


def drops(_asked: Asked, _answer: Struct) -> None:
    """Hang up instead of answering."""


def silent(_asked: Asked, _answer: Struct) -> object:
    """Never answer."""
    return SILENCE


def garbage(_asked: Asked, _answer: Struct) -> bytes:
    """A frame of the right correlation id whose body nobody can read."""
    return b"\xff" * 12


def throttled(milliseconds: int) -> Reaction:
    """Answer at once, and ask the client to hold back."""
    return lambda _asked, answer: {**answer, "throttle_time_ms": milliseconds}


def delayed(seconds: float) -> Reaction:
    """Answer late."""

    def react(_asked: Asked, answer: Struct) -> Struct:
        time.sleep(seconds)
        return answer

    return react


def changed(**values: Any) -> Reaction:
    """Answer with some top-level fields replaced."""
    return lambda _asked, answer: {**answer, **values}


class ScriptedBroker:
    """One listening port; use it as a context manager. Everything that it received is in `asked`."""

    def __init__(
        self,
        answer: Answer = lambda _asked: {},
        *,
        number: int = 1,
        versions: Mapping[str, tuple[int, int]] | None = None,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.id = number
        self.asked: list[Asked] = []
        self.faults: list[str] = []
        self.versions = {**NEWEST, **(versions or {})}
        self._answer = answer
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
        """How the next requests of an API are answered, one reaction each; afterwards as usual."""
        self._scripts[api].extend(reactions)

    def hold(self, api: str, *, until: int) -> None:
        """Answer no request of this API on a connection before that many of them have come."""
        self._holds[api] = until

    def settings(self, **values: Any) -> ConnectionSettings:
        """Connection settings with this broker as bootstrap server."""
        return ConnectionSettings(bootstrap=(self.endpoint,), **{"timeout_s": 5.0, **values})

    def close(self) -> None:
        """Stop listening, hang up on everybody, wait for the threads. A request that made no sense fails here."""
        _shut(self._listener)
        self.hang_up()
        for thread in self._threads:
            thread.join(timeout=5)
        assert not self.faults, self.faults

    def hang_up(self, *, rudely: bool = False) -> None:
        """Close all connections, and go on listening; rudely with a reset, as a broker that dies does."""
        connections, self._open = self._open, []
        for connection in connections:
            if rudely:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                _shut(connection, how=socket.SHUT_RD)
            else:
                _shut(connection)

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        held: list[Callable[[], bytes | None]] = []
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as stream:
                while len(head := stream.read(4)) == 4:
                    asked, reply = self._read(stream.read(int.from_bytes(head, "big")))
                    held.append(reply)
                    if len(held) < self._holds.get(asked.api, 1):
                        continue
                    for each in held:
                        frame = each()
                        if frame is None:
                            _say_goodbye(connection)
                            return
                        connection.sendall(frame)
                    held.clear()
        except OSError:
            return
        except (AssertionError, ValueError, KeyError) as fault:
            self.faults.append(repr(fault))

    def _read(self, payload: bytes) -> tuple[Asked, Callable[[], bytes | None]]:
        cursor = Cursor(payload)
        key, version = (INT16.read(False, False)(cursor) for _ in range(2))
        correlation = INT32.read(False, False)(cursor)
        client_id = _CLIENT_ID(cursor)
        api = APIS[key]
        if api.is_flexible(version):
            skip_tags(cursor)
        body = compile_reader(api.request, version=version, flexible=api.is_flexible(version))(cursor)
        assert cursor.remaining() == 0, f"{cursor.remaining()} bytes too many in {api.name} {version}"
        asked = Asked(
            broker=self.id, api=api.name, version=version, client_id=client_id, body=body, at=time.monotonic()
        )
        self.asked.append(asked)
        return asked, lambda: self._reply(asked, api, correlation)

    def _reply(self, asked: Asked, api: Api, correlation: int) -> bytes | None:
        version = asked.version
        lowest, highest = self.versions.get(api.name, (0, -1))
        assert api is API_VERSIONS or lowest <= version <= highest, f"{api.name} {version} was never offered"
        answer = self._own_versions(version, highest) if api is API_VERSIONS else self._answer(asked)
        script = self._scripts[api.name]
        told = script.popleft()(asked, answer) if script else answer
        if told is None:
            return None
        if told is SILENCE:
            return b""
        spoken = 0 if api is API_VERSIONS and answer["error_code"] else version
        body = told if isinstance(told, bytes) else encode_answer(api, spoken, told)
        return struct.pack(">ii", len(body) + 4, correlation) + body

    def _own_versions(self, version: int, highest: int) -> Struct:
        keys = {api.name: api.key for api in ALL}
        rows = [
            {"api_key": keys[name], "min_version": low, "max_version": high}
            for name, (low, high) in self.versions.items()
            if high >= 0
        ]
        # A broker that does not know the version answers with error 35 in version 0 (KIP-511).
        return {"error_code": _UNSUPPORTED_VERSION if version > highest else 0, "api_keys": rows}


def encode_answer(api: Api, version: int, answer: Struct) -> bytes:
    """What stands behind the correlation id."""
    out = bytearray(b"\x00" if api.response_tags and api.is_flexible(version) else b"")
    compile_writer(api.response, version=version, flexible=api.is_flexible(version))(out, answer)
    return bytes(out)


def _shut(sock: socket.socket, how: int = socket.SHUT_RDWR) -> None:
    # It may not be connected, or the other side was quicker.
    with contextlib.suppress(OSError):
        sock.shutdown(how)
    sock.close()


def _say_goodbye(sock: socket.socket) -> None:
    # Closed with requests unread, a socket answers with a reset, and the client would see that instead of an end.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(2)
        while socket.socket.recv(sock, 65536):
            pass
