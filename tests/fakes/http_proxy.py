"""An HTTP proxy on a loopback port that connects each client to a port of this machine, whatever host it names."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_proxy(target: int, status: bytes = b"200 OK") -> Iterator[tuple[int, list[bytes]]]:
    """Run a proxy for one connection to the target, and yield its port and the requests that it received."""
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, socket.create_connection(("127.0.0.1", target)) as server:
            requests.append(connection.recv(65_536))
            connection.sendall(b"HTTP/1.1 " + status + b"\r\nVia: test\r\n\r\n")
            thread = threading.Thread(target=pump, args=(server, connection), daemon=True)
            thread.start()
            pump(connection, server)
            thread.join(5)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], requests
    finally:
        listener.close()
        thread.join(5)
