"""Connections beside the first one to a broker: for requests that are repeated because the first one is blocked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_groups.errors import ConnectionFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection import Connection
    from kafka_groups.settings import Endpoint

# Changes of many groups use the numbers below this one.
FIRST_EXTRA: Final = 1_000

Key: TypeAlias = "tuple[Endpoint, int]"


class ExtraConnections:
    """The extra connections of a pool, among all that it has in `connections`.

    A broker handles the requests of a connection one after the other, so one that hangs blocks those behind it. Such a
    connection is set aside: it has a negative number from then on, no further request is sent on it, and its responses
    still arrive. `drop` closes a connection of the pool, `endpoint_of` returns the address of a broker.
    """

    def __init__(
        self,
        connections: dict[Key, Connection],
        drop: Callable[[Endpoint, ConnectionFailedError, int], object],
        endpoint_of: Callable[[int], Endpoint | None],
        clock: Callable[[], float],
    ) -> None:
        self.endpoint_of = endpoint_of
        self._connections = connections
        self._drop = drop
        self._clock = clock
        self._set_aside = count(1)

    def silent_since(self, endpoint: Endpoint, number: int) -> float | None:
        """Return since when a broker that owes a response on a connection has sent nothing.

        None if it owes none, if the connection is not ready, and while the broker throttles this client.
        """
        connection = self._connections.get((endpoint, number))
        now = self._clock()
        if connection is None or not connection.is_idle(now, 0.0) or connection.is_throttled(now):
            return None
        return connection.active_at

    def is_free(self, endpoint: Endpoint, number: int) -> bool:
        """Return whether a connection is ready and nothing is outstanding on it."""
        connection = self._connections.get((endpoint, number))
        return connection is not None and connection.is_unused(self._clock(), -1.0)

    def set_aside(self, endpoint: Endpoint) -> None:
        """Set the first connection to an address aside; the next request opens another one."""
        connection = self._connections.pop((endpoint, 0), None)
        if connection is not None:
            self._connections[endpoint, -next(self._set_aside)] = connection

    def close(self, endpoint: Endpoint, number: int) -> None:
        """Close one extra connection; nobody waits for its responses."""
        self._drop(endpoint, ConnectionFailedError("closed"), number)

    def close_all(self) -> None:
        """Close all extra connections, at the end of a call."""
        for endpoint, number in [*self._connections]:
            if number < 0 or number >= FIRST_EXTRA:
                self.close(endpoint, number)

    def reasons_for_delay(self, endpoint: Endpoint | None) -> Iterable[str | None]:
        """Yield what each connection to an address waits for, those first that were set aside."""
        numbers = sorted(number for at, number in self._connections if at == endpoint)
        return (self._connections[endpoint, number].reason_for_delay(self._clock()) for number in numbers if endpoint)
