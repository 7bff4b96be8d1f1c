"""A pool of connections to the brokers of a cluster, without threads and without a wait beyond the deadline."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.bootstrap import Bootstrap, metadata_request, read_metadata, unreachable
from kafka_groups.admin.network.channel import Address, Channel
from kafka_groups.admin.network.connection import Connection, Request, Response
from kafka_groups.admin.network.handshake import Handshake
from kafka_groups.admin.network.resolver import Resolve, resolve
from kafka_groups.admin.network.selector import Selector
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerTimeoutError,
    ConnectionFailedError,
    NameNotResolvedError,
    TimeoutExceededError,
)
from kafka_groups.model import Broker
from kafka_groups.settings import Endpoint

if TYPE_CHECKING:
    import ssl

    from kafka_groups.settings import ConnectionSettings

# The broker id of the bootstrap connection, for requests that any broker can serve.
ANY_BROKER: Final = -1
_SETUP_TIMEOUT_AFTER_SILENCE_S: Final = 1.0
_CHECKS_PER_IDLE_TIMEOUT: Final = 8


class BrokerPool:
    """Connections to the brokers of a cluster, opened when first needed.

    `brokers` and `cluster_id` are known once `open` has returned.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        resolve: Resolve = resolve,
    ) -> None:
        self.brokers: Mapping[int, Broker] = {}
        self.cluster_id: str | None = None
        self._settings = settings
        self._clock = clock
        self._resolve = resolve
        self._tls_context: ssl.SSLContext | None = None
        self._connections: dict[int, Connection] = {}
        self._bootstrap = Bootstrap(settings)
        self._idle_timeout_s = settings.connect_timeout_s
        self._silent: set[int] = set()
        self._sent_before: Counter[tuple[str, int]] = Counter()
        self._undelivered: list[Response] = []
        self._selector = Selector()

    @property
    def sent(self) -> Counter[tuple[str, int]]:
        """The number of requests sent so far by (API name, version), connection set-up included."""
        return sum((connection.sent for connection in self._distinct_connections()), start=self._sent_before.copy())

    def open(self, deadline: float) -> None:
        """Connect to one of the bootstrap servers and read the brokers of the cluster.

        The servers are tried in their order. Raises an AdminError of the last failure's type if none responds.
        """
        failures: list[tuple[Endpoint, AdminError]] = []
        servers = self._bootstrap.servers
        for number, endpoint in enumerate(servers, start=1):
            try:
                timeout_s = self._bootstrap.setup_timeout_s(deadline - self._clock(), len(servers) - number)
                self._connect(ANY_BROKER, endpoint, setup_timeout_s=timeout_s)
                self._bootstrap.current = endpoint
                self.refresh(deadline)
            except AdminError as error:
                self._drop(ANY_BROKER, error)
                failures.append((endpoint, error))
                # The other servers would refuse the same credentials, too.
                if isinstance(error, (TimeoutExceededError, AuthenticationFailedError)):
                    break
            else:
                return
        raise unreachable(failures)

    def refresh(self, deadline: float) -> None:
        """Read the brokers of the cluster again. AdminError if that fails or takes longer than the deadline."""
        request = metadata_request(self)
        responses = self.submit(ANY_BROKER, request)
        while not any(response.request is request for response in responses):
            self._undelivered += responses
            if self._clock() >= deadline:
                msg = f"no response within {self._settings.timeout_s:g} s"
                raise TimeoutExceededError(msg)
            responses = self._wait_for_responses(deadline)
        # Responses to other requests are returned by the next `poll`.
        self._undelivered += [response for response in responses if response.request is not request]
        metadata = read_metadata(next(response for response in responses if response.request is request))
        self.cluster_id, self.brokers = metadata.cluster_id, metadata.brokers

    def set_idle_timeout(self, idle_timeout_s: float) -> None:
        """Close a connection from now on if a response is outstanding and nothing arrives for so many seconds."""
        self._idle_timeout_s = idle_timeout_s

    def submit(self, broker: int, request: Request) -> list[Response]:
        """Send a request to a broker, or to ANY_BROKER. Return what fails at once; `poll` returns the rest."""
        now = self._clock()
        try:
            connection = self._connection_to(broker)
        except AdminError as error:
            described = self._describe(broker, error, connected=False)
            return [Response(request=request, part=None, version=-1, payload=b"", error=described)]
        try:
            responses = connection.submit(request, now)
        except AdminError as error:
            # The connection was lost since its last use; this request is among the responses, too.
            return self._drop(broker, error)
        self._selector.register(connection)
        return responses

    def poll(self, until: float) -> list[Response]:
        """Return the responses that arrived, waiting for one until that time; lost connections return errors."""
        if self._undelivered:
            undelivered, self._undelivered = self._undelivered, []
            return undelivered
        return self._wait_for_responses(until)

    def update_brokers(self, brokers: Iterable[Broker]) -> None:
        """Add or replace the addresses of these brokers."""
        self.brokers = {**self.brokers, **{broker.id: broker for broker in brokers}}

    def close(self) -> None:
        """Close every connection."""
        for broker in list(self._connections):
            self._drop(broker, ConnectionFailedError("closed"))
        self._selector.close()

    def name_of(self, broker: int) -> str:
        """Return the id and the address of a broker, for messages."""
        if broker in self.brokers:
            known = self.brokers[broker]
            return f"broker {broker} ({Endpoint(host=known.host, port=known.port)})"
        return f"broker {broker}" if broker != ANY_BROKER else str(self._bootstrap.current)

    def _wait_for_responses(self, until: float) -> list[Response]:
        responses = self._advance_all()
        now = self._clock()
        if responses or now >= until:
            return responses
        wakes = [wake for each in self._distinct_connections() if (wake := each.wakes_at()) is not None]
        # Silence causes no event, so it is checked often enough to be noticed in time.
        next_check = now + self._idle_timeout_s / _CHECKS_PER_IDLE_TIMEOUT
        self._selector.select(min([until, next_check, *wakes]) - now)
        return self._advance_all()

    def _distinct_connections(self) -> list[Connection]:
        # The bootstrap connection is also registered under its broker's id, once an address shows which one it is.
        return list({id(connection): connection for connection in self._connections.values()}.values())

    def _advance_all(self) -> list[Response]:
        responses: list[Response] = []
        for broker, connection in list(self._connections.items()):
            try:
                arrived = connection.advance(self._clock())
                self._selector.register(connection)
                if arrived:
                    self._silent.discard(broker)
                elif connection.is_idle(self._clock(), self._idle_timeout_s):
                    raise _idle_error(self._idle_timeout_s)
                responses += arrived
            except AdminError as error:
                if isinstance(error, BrokerTimeoutError):
                    self._silent.add(broker)
                responses += self._drop(broker, error)
        return responses

    def _connection_to(self, broker: int) -> Connection:
        if broker != ANY_BROKER and broker not in self.brokers:
            msg = f"broker {broker} is not in the cluster's metadata"
            raise ConnectionFailedError(msg)
        if broker in self._connections:
            return self._connections[broker]
        if broker == ANY_BROKER:
            return self._connect(ANY_BROKER, self._bootstrap.next_endpoint(self.brokers.values()))
        known = self.brokers[broker]
        endpoint = Endpoint(host=known.host, port=known.port)
        bootstrap = self._connections.get(ANY_BROKER)
        if bootstrap is None or bootstrap.endpoint != endpoint:
            return self._connect(broker, endpoint)
        self._connections[broker] = bootstrap
        return bootstrap

    def _connect(self, broker: int, endpoint: Endpoint, *, setup_timeout_s: float | None = None) -> Connection:
        connection = Connection(
            endpoint,
            handshake=Handshake(self._settings.client_id, self._settings.credentials),
            make_channel=self._make_channel,
            setup_timeout_s=setup_timeout_s or self._setup_timeout_s(broker),
            now=self._clock(),
            resolve=self._resolve,
            wakeup=self._selector.wakeup,
        )
        self._connections[broker] = connection
        self._selector.register(connection)
        return connection

    def _setup_timeout_s(self, broker: int) -> float:
        # A broker that was silent before gets one more try, which must not take the time of the others.
        longest = _SETUP_TIMEOUT_AFTER_SILENCE_S if broker in self._silent else self._settings.connect_timeout_s
        return min(longest, self._idle_timeout_s)

    def _make_channel(self, addresses: list[Address], host: str) -> Channel:
        if self._settings.tls is None:
            return Channel(addresses, tls_protocol="SASL_SSL" if self._settings.credentials else "SSL")
        # The import of ssl takes a while, and many connections are plain.
        from kafka_groups.admin.network.tls import TlsChannel, make_context

        self._tls_context = self._tls_context or make_context(self._settings.tls)
        return TlsChannel(addresses, context=self._tls_context, server_name=host)

    def _drop(self, broker: int, error: AdminError) -> list[Response]:
        connection = self._connections.pop(broker, None)
        if connection is None:
            return []
        for other in [key for key, value in self._connections.items() if value is connection]:
            del self._connections[other]
        self._selector.unregister(connection)
        self._sent_before += connection.sent
        return connection.close(self._describe(broker, error, connected=connection.versions is not None))

    def _describe(self, broker: int, error: AdminError, *, connected: bool) -> AdminError:
        """Return the error with the broker's address; a wrong advertised address is the most common cause."""
        if (broker == ANY_BROKER and not self.brokers) or (broker != ANY_BROKER and broker not in self.brokers):
            # `open` adds the address of a bootstrap server, and an unknown broker has none.
            return error
        text = f"{self.name_of(broker)}: {error}" if connected else f"cannot connect to {self.name_of(broker)}: {error}"
        if broker != ANY_BROKER and not connected and isinstance(error, (NameNotResolvedError, ConnectionFailedError)):
            text += f"; check advertised.listeners: {self._bootstrap.current} returned this address"
        return type(error)(text)


def _idle_error(idle_timeout_s: float) -> BrokerTimeoutError:
    msg = f"accepted the request but sent nothing for {round(idle_timeout_s, 1):g} s"
    return BrokerTimeoutError(msg)
