"""A proxy in front of all brokers of a cluster that cuts the first connection on which it receives an API's request."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from enum import Enum
from typing import Final

from tests.bench.frames import ProxiedConnection, Splitter

_HOST: Final = "127.0.0.1"
_READ_SIZE: Final = 1 << 16
_REQUEST_HEAD: Final = struct.Struct(">ihhi")
_CORRELATION: Final = struct.Struct(">ii")


class Cut(Enum):
    """What happens to the first request of the API."""

    REQUEST = "the broker never receives it, and the connection is closed"
    RESPONSE = "the broker handles it, and the connection is closed in place of the response"
    SILENCE = "the broker handles it, and no response follows"


class CuttingProxy:
    """A listener for each broker; clients connect to `bootstrap`. `requests` counts requests by API key."""

    def __init__(self, bootstrap: str, *, api_key: int, cut: Cut) -> None:
        self.requests: Counter[int] = Counter()
        self._api_key = api_key
        self._cut = cut
        self._is_cut = threading.Event()
        self._sockets: list[socket.socket] = []
        self._ports: dict[int, int] = {}
        listeners = {}
        for address in bootstrap.split(","):
            broker = int(address.rpartition(":")[2])
            listeners[broker] = socket.create_server((_HOST, 0))
            self._ports[broker] = listeners[broker].getsockname()[1]
        self._sockets += listeners.values()
        self.bootstrap = ",".join(f"{_HOST}:{port}" for port in self._ports.values())
        for broker, listener in listeners.items():
            _start(self._accept, listener, broker)

    def close(self) -> None:
        """Close all connections and listeners."""
        for each in self._sockets:
            _shut(each)

    def _accept(self, listener: socket.socket, broker: int) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                upstream = socket.create_connection((_HOST, broker))
                self._sockets += (client, upstream)
                connection = ProxiedConnection(self.requests, self._ports)
                lost: set[int] = set()
                _start(self._forward_requests, client, upstream, connection, lost)
                _start(self._forward_responses, client, upstream, connection, lost)

    def _forward_requests(
        self, client: socket.socket, upstream: socket.socket, connection: ProxiedConnection, lost: set[int]
    ) -> None:
        splitter = Splitter()
        with suppress(OSError):
            while piece := client.recv(_READ_SIZE):
                for frame in splitter.feed(piece):
                    connection.record_request(frame)
                    _, api_key, _, correlation = _REQUEST_HEAD.unpack_from(frame)
                    if api_key == self._api_key and not self._is_cut.is_set():
                        self._is_cut.set()
                        if self._cut is Cut.REQUEST:
                            return _shut(client, upstream)
                        lost.add(correlation)
                    upstream.sendall(frame)
        return _shut(client, upstream)

    def _forward_responses(
        self, client: socket.socket, upstream: socket.socket, connection: ProxiedConnection, lost: set[int]
    ) -> None:
        splitter = Splitter()
        with suppress(OSError):
            while piece := upstream.recv(_READ_SIZE):
                for frame in splitter.feed(piece):
                    if _CORRELATION.unpack_from(frame)[1] not in lost:
                        client.sendall(connection.redirect(frame))
                    elif self._cut is Cut.RESPONSE:
                        return _shut(client, upstream)
        return _shut(client, upstream)


@contextmanager
def cutting(bootstrap: str, *, api_key: int, cut: Cut) -> Iterator[CuttingProxy]:
    """Yield a proxy in front of these brokers."""
    with closing(CuttingProxy(bootstrap, api_key=api_key, cut=cut)) as proxy:
        yield proxy


def _start(target: Callable[..., object], *arguments: object) -> None:
    threading.Thread(target=target, args=arguments, daemon=True).start()


def _shut(*sockets: socket.socket) -> None:
    for each in sockets:
        # The peer may have closed it.
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
