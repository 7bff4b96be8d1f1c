"""Which sockets the loop waits for: a selector that is told of connections, not of sockets."""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection import Connection


# The system's calls count milliseconds in 32 bits; who waits for longer is woken, and waits again.
_LONGEST_WAIT_S: Final = 3600.0


class Selector:
    """Waits until a connection can go on. A connection may change its socket (address after address, plain to TLS)."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[int, tuple[socket.socket, int]] = {}
        # A name look-up that ends in its thread wakes the loop through this pair.
        self._alarm, self._bell = socket.socketpair()
        self._alarm.setblocking(False)
        self._selector.register(self._alarm, selectors.EVENT_READ)

    def renew(self, connection: Connection) -> None:
        """Wait for what the connection now wants."""
        if connection.channel is None:
            return
        sock, events = connection.channel.socket, connection.channel.wanted_events()
        before = self._watched.get(id(connection))
        if before == (sock, events):
            return
        if before is not None and before[0] is sock:
            self._selector.modify(sock, events)
        else:
            self.forget(connection)
            self._selector.register(sock, events)
        self._watched[id(connection)] = (sock, events)

    def forget(self, connection: Connection) -> None:
        """Wait for it no longer. Its socket may be closed already, so it is found by itself and not by its number."""
        before = self._watched.pop(id(connection), None)
        if before is None:
            return
        for number, key in list(self._selector.get_map().items()):
            if key.fileobj is before[0]:
                self._selector.unregister(number)

    def wait(self, seconds: float) -> None:
        """Return when something can go on, or after that time, or after an hour."""
        for key, _ in self._selector.select(min(max(0.0, seconds), _LONGEST_WAIT_S)):
            if key.fileobj is self._alarm:
                self._alarm.recv(64)

    def ring(self) -> None:
        """End a `wait`, from whichever thread."""
        try:
            self._bell.send(b"!")
        except OSError:
            # Closed while a look-up was still under way: nobody waits for it.
            return

    def close(self) -> None:
        """Let everything go."""
        self._selector.close()
        self._alarm.close()
        self._bell.close()
