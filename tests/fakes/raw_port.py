"""Ports that are not Kafka's: bytes as told, silence, refusal, and a queue that is full."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from kafka_groups.settings import Endpoint


def _endpoint(sock: socket.socket) -> Endpoint:
    host, port = sock.getsockname()[:2]
    return Endpoint(host=host, port=port)


@contextlib.contextmanager
def speaking(*pieces: bytes, after: int = 1, then: Callable[[socket.socket], None] | None = None) -> Iterator[Endpoint]:
    """A port that waits for `after` bytes, sends the pieces one by one, and hangs up, or does `then`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if after:
                    connection.recv(after, socket.MSG_WAITALL)
                for piece in pieces:
                    connection.sendall(piece)
                if then:
                    then(connection)
                # Unread bytes would turn the end into a reset.
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(2)
                while connection.recv(65536):
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield _endpoint(listener)
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=5)


def after_frames(*script: tuple[int, bytes]) -> Callable[[socket.socket], None]:
    """For `then` of a port that waits for no bytes: each piece leaves when that many more requests have come."""

    def run(connection: socket.socket) -> None:
        for frames, piece in script:
            for _ in range(frames):
                size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
                connection.recv(size, socket.MSG_WAITALL)
            connection.sendall(piece)

    return run


@contextlib.contextmanager
def accepting_only() -> Iterator[Endpoint]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield _endpoint(listener)


@contextlib.contextmanager
def refusing() -> Iterator[Endpoint]:
    """A port that nobody listens on, and that nobody else can take meanwhile."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield _endpoint(sock)


@contextlib.contextmanager
def not_taking() -> Iterator[Endpoint]:
    """A port whose queue is full: a connection is neither taken nor refused."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield _endpoint(listener)
