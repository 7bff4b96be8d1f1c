"""Listeners that are not Kafka brokers: fixed bytes, silence, refusal, and a full accept queue."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

from kafka_groups.settings import Endpoint
from tests.fakes.simulated_clock import SimulatedClock


def _endpoint(sock: socket.socket) -> Endpoint:
    host, port = sock.getsockname()[:2]
    return Endpoint(host=host, port=port)


@contextlib.contextmanager
def responding(
    *pieces: bytes,
    after: int = 1,
    then: Callable[[socket.socket], None] | None = None,
    clock: SimulatedClock | None = None,
) -> Iterator[Endpoint]:
    """Listen; for each connection receive `after` bytes, send the pieces one by one, run `then`, and close it.

    A client that waits with a simulated clock needs that clock here.
    """
    time = clock or SimulatedClock()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                time.until_readable(listener)
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if after:
                    time.until_readable(connection)
                    connection.recv(after, socket.MSG_WAITALL)
                for piece in pieces:
                    connection.sendall(piece)
                if then:
                    then(connection)
                # With unread bytes the system would send a reset and not an end of the stream.
                connection.shutdown(socket.SHUT_WR)
                time.until_readable(connection)
                while connection.recv(65536):
                    time.until_readable(connection)

    thread = time.start_thread(serve)
    try:
        yield _endpoint(listener)
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=5)


def after_frames(*script: tuple[int, bytes]) -> Callable[[socket.socket], None]:
    """Return a `then` that sends each piece once that many more requests have arrived; `after` has to be 0."""

    def run(connection: socket.socket) -> None:
        for frames, piece in script:
            for _ in range(frames):
                size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
                connection.recv(size, socket.MSG_WAITALL)
            connection.sendall(piece)

    return run


@contextlib.contextmanager
def accepting_only() -> Iterator[Endpoint]:
    """Listen, accept connections and never respond."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield _endpoint(listener)


@contextlib.contextmanager
def refusing() -> Iterator[Endpoint]:
    """Reserve a port without listening, so that connections to it are refused."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield _endpoint(sock)


@contextlib.contextmanager
def not_accepting() -> Iterator[Endpoint]:
    """Listen with a full accept queue, so that connections are neither accepted nor refused."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield _endpoint(listener)
