"""Resolution of host names to addresses, which never blocks the event loop."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import TypeAlias

from kafka_groups.admin.network.channel import Address, addresses_of
from kafka_groups.errors import NameNotResolvedError
from kafka_groups.settings import Endpoint

Resolve: TypeAlias = Callable[[Endpoint], list[Address]]


def resolve(endpoint: Endpoint) -> list[Address]:
    """Return all addresses of a host, in the system's order. NameNotResolvedError if it has none."""
    if not endpoint.host:
        # The system resolves an empty name to this machine.
        raise NameNotResolvedError("its address has no host name")
    try:
        infos = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"cannot resolve the host name '{endpoint.host}': {reason}"
        raise NameNotResolvedError(msg) from error
    return addresses_of(infos)


class Resolution:
    """One name lookup in a thread of its own, because the system's resolver may take minutes.

    That thread calls `wakeup` when the lookup has ended. The thread is a daemon: a resolver
    that hangs does not keep the process alive past its deadline.
    """

    def __init__(self, endpoint: Endpoint, *, resolve: Resolve, wakeup: Callable[[], None]) -> None:
        self._endpoint = endpoint
        self._resolve = resolve
        self._wakeup = wakeup
        self.addresses: list[Address] | None = None
        self.error: NameNotResolvedError | None = None
        threading.Thread(target=self._run, name=f"resolve {endpoint}", daemon=True).start()

    def is_done(self) -> bool:
        """Return whether the lookup has ended, with addresses or with an error."""
        return self.addresses is not None or self.error is not None

    def _run(self) -> None:
        try:
            self.addresses = self._resolve(self._endpoint)
        except NameNotResolvedError as error:
            self.error = error
        self._wakeup()
