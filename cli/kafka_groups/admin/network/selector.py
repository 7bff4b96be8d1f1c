"""A selector of connections: it finds the sockets of connections and the events that they wait for."""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection import Connection


# The system's calls count milliseconds in 32 bits; a caller that waits for longer is woken, and waits again.
_LONGEST_WAIT_S: Final = 3600.0


class Selector:
    """The sockets of all connections. A connection may change its socket (next address, plain to TLS)."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._registered: dict[int, tuple[socket.socket, int]] = {}
        # A name lookup that ends in its thread interrupts `select` through this pair.
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_reader.setblocking(False)
        self._selector.register(self._wakeup_reader, selectors.EVENT_READ)

    def register(self, connection: Connection) -> None:
        """Wait for the events that the connection now needs; call it after each change of the connection."""
        if connection.channel is None:
            return
        sock = connection.channel.socket
        events = connection.channel.wanted_events()
        before = self._registered.get(id(connection))
        if before == (sock, events):
            return
        if before is not None and before[0] is sock:
            self._selector.modify(sock, events)
        else:
            self.unregister(connection)
            self._selector.register(sock, events)
        self._registered[id(connection)] = (sock, events)

    def unregister(self, connection: Connection) -> None:
        """Stop waiting for the connection. Its socket may be closed, so it is found by identity, not by its number."""
        before = self._registered.pop(id(connection), None)
        if before is None:
            return
        for number, key in list(self._selector.get_map().items()):
            if key.fileobj is before[0]:
                self._selector.unregister(number)

    def select(self, timeout_s: float) -> None:
        """Return when a connection has an event, after a `wakeup`, after the timeout, or after an hour."""
        for key, _ in self._selector.select(min(max(0.0, timeout_s), _LONGEST_WAIT_S)):
            if key.fileobj is self._wakeup_reader:
                self._wakeup_reader.recv(64)

    def wakeup(self) -> None:
        """End a `select`; any thread may call it."""
        try:
            self._wakeup_writer.send(b"!")
        except OSError:
            # The selector was closed while a lookup was still running: nobody waits.
            return

    def close(self) -> None:
        """Close the selector and its own sockets."""
        self._selector.close()
        self._wakeup_reader.close()
        self._wakeup_writer.close()
