"""Host names to addresses, without ever blocking the loop that waits for brokers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kafka_groups.errors import NameNotResolvedError
from kafka_groups.settings import Endpoint

# What socket.connect takes, with the address family in front.
Address: TypeAlias = tuple[int, tuple[str, int] | tuple[str, int, int, int]]
Resolve: TypeAlias = Callable[[Endpoint], list[Address]]


def resolve(endpoint: Endpoint) -> list[Address]:
    """All addresses of a host, in the system's order. NameNotResolvedError if it has none."""
    try:
        infos = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        msg = f"the name '{endpoint.host}' does not resolve ({reason})"
        raise NameNotResolvedError(msg) from error
    return _addresses(infos)


class Resolution:
    """One look-up under way in a thread of its own, since the system's resolver may take minutes.

    `wake` is called from that thread when the outcome is there. The thread is a daemon: a resolver
    that hangs does not keep the process alive past its deadline.
    """

    def __init__(self, endpoint: Endpoint, *, resolve: Resolve, wake: Callable[[], None]) -> None:
        self._endpoint = endpoint
        self._resolve = resolve
        self._wake = wake
        self.addresses: list[Address] | None = None
        self.error: NameNotResolvedError | None = None
        threading.Thread(target=self._run, name=f"resolve {endpoint}", daemon=True).start()

    def is_done(self) -> bool:
        """Whether there is an outcome."""
        return self.addresses is not None or self.error is not None

    def _run(self) -> None:
        try:
            self.addresses = self._resolve(self._endpoint)
        except NameNotResolvedError as error:
            self.error = error
        self._wake()


def numeric_addresses(endpoint: Endpoint) -> list[Address] | None:
    """The address of a host that is written as a number, which needs no look-up; None for a name."""
    try:
        infos = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return _addresses(infos)


def _addresses(infos: Iterable[tuple[Any, ...]]) -> list[Address]:
    return [(family, address) for family, _, _, _, address in infos]
