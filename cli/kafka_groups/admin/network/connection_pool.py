"""A pool of connections to the brokers of a cluster, without threads and without a wait beyond the deadline."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.bootstrap import (
    Bootstrap,
    ClusterMetadata,
    endpoint_of,
    metadata_request,
    read_metadata,
)
from kafka_groups.admin.network.channel_factory import ChannelFactory
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.extra_connections import FIRST_EXTRA, ExtraConnections
from kafka_groups.admin.network.handshake import Handshakes
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.admin.network.resolver import Resolve, resolve
from kafka_groups.admin.network.selector import Selector
from kafka_groups.admin.network.setup_errors import idle_error, with_settings
from kafka_groups.errors import AdminError, BrokerTimeoutError, ConnectionFailedError, TimeoutExceededError
from kafka_groups.model import Broker
from kafka_groups.settings import ConnectionSettings, Endpoint

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection_evidence import ClusterEvidence

# The broker id of requests that any broker can serve.
ANY_BROKER: Final = -1
_SHORTEST_SILENCE_S: Final = 1.0
# How long requests for any broker avoid an address that could not be connected.
_AVOIDED_S: Final = 5.0
_CHECKS_PER_IDLE_TIMEOUT: Final = 8
# Firewalls and load balancers forget a connection without traffic after some minutes.
_LONGEST_REUSE_S: Final = 200.0


class BrokerPool:
    """Connections to the brokers of a cluster, opened when first needed.

    There is one for each address, unless a request names another one by its number; `extra` has those of repeated
    requests. `brokers` and `cluster_id` are known once `open` has returned.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        resolve: Resolve = resolve,
        make_selector: Callable[[], Selector] = Selector,
    ) -> None:
        self.brokers: Mapping[int, Broker] = {}
        self.cluster_id: str | None = None
        self._settings = settings
        self._clock = clock
        self._resolve = resolve
        self._make_selector = make_selector
        self._make_channel = ChannelFactory(settings)
        self._connections: dict[tuple[Endpoint, int], Connection] = {}
        self._bootstrap = Bootstrap(settings)
        self._deadline = self._idle_timeout_s = math.inf
        self._sent_before: Counter[tuple[str, int]] = Counter()
        self._undelivered: list[Response] = []
        self._selector = make_selector()
        self._handshakes = Handshakes(settings, wakeup=self._selector.wakeup, clock=clock)

    @property
    def sent(self) -> Counter[tuple[str, int]]:
        """The number of requests sent until now by (API name, version), connection set-up included."""
        return sum((connection.sent for connection in self._connections.values()), start=self._sent_before.copy())

    @cached_property
    def extra(self) -> ExtraConnections:
        """The connections of repeated requests."""
        return ExtraConnections(self._connections, self._drop, self._endpoint_of, self._clock)

    def open(self, deadline: float) -> None:
        """Connect to a bootstrap server and read the brokers of the cluster. AdminError if none responds.

        The servers are tried in their order, and again while they are starting (`Bootstrap.find_metadata`).
        """
        selector = self._selector
        servers = self._bootstrap.canonical_servers(clock=self._clock, wakeup=selector.wakeup, select=selector.select)
        self._read_metadata(lambda: servers, deadline)

    def refresh(self, deadline: float) -> None:
        """Read the brokers again, from any broker or bootstrap server. AdminError if none responds."""
        self._read_metadata(lambda: self._bootstrap.in_turn(self.brokers.values()), deadline)

    def check_connections(self, deadline: float) -> ClusterEvidence:
        """Connect to every bootstrap server and broker, on connections of their own; return what became known."""
        from kafka_groups.admin.network.connection_checks import ConnectionChecks

        checks = ConnectionChecks(self._settings, self._clock, self._resolve, self._make_selector)
        return checks.run(deadline)

    def set_deadline(self, deadline: float) -> None:
        """Set until when requests may take. One that any broker can serve leaves a silent broker after half of it."""
        self._deadline = deadline
        self._idle_timeout_s = max(0.0, deadline - self._clock()) / 2

    def submit(self, broker: int, request: Request) -> list[Response]:
        """Send a request to a broker, or to ANY_BROKER. Return what fails at once; `poll` returns the rest."""
        now = self._clock()
        try:
            connection = self._connection_to(broker, request, now)
        except AdminError as error:
            described = self._describe(self._endpoint_of(broker), error, connected=False)
            return [Response(request=request, part=None, version=-1, payload=b"", error=described)]
        try:
            responses = connection.submit(request, now)
        except AdminError as error:
            # The connection was lost since its last use; this request is among the responses, too.
            return self._drop(connection.endpoint, error, request.connection)
        self._selector.register(connection)
        return responses

    def poll(self, until: float) -> list[Response]:
        """Return the responses that arrived, waiting for one until that time; lost connections return errors."""
        undelivered, self._undelivered = self._undelivered, []
        return undelivered or self._wait_for_responses(until)

    def update_brokers(self, brokers: Iterable[Broker]) -> None:
        """Add or replace the addresses of these brokers; one without a host replaces none."""
        self.brokers = {**self.brokers, **{broker.id: broker for broker in brokers if broker.host}}

    def responsive_brokers(self) -> list[int]:
        """Return the ids of the brokers without those that failed lately; all if none is left."""
        failed = self._bootstrap.failed(self._clock())
        return [each for each, at in self.brokers.items() if endpoint_of(at) not in failed] or [*self.brokers]

    def reason_for_delay(self, broker: int) -> str | None:
        """Return why a broker has not responded, as a message; None if nothing is known."""
        endpoint = self._endpoint_of(broker)
        reason = next(filter(None, self.extra.reasons_for_delay(endpoint)), None)
        return f"{self._name_of(endpoint)} {reason}" if endpoint is not None and reason is not None else None

    def drop_silent(self) -> None:
        """Close connections that owe a response at the end of a call, because later requests would wait behind it."""
        for (endpoint, number), connection in list(self._connections.items()):
            if connection.is_idle(self._clock(), _SHORTEST_SILENCE_S):
                self._drop(endpoint, idle_error(self._idle_timeout_s), number)

    def withdraw(self) -> list[Response]:
        """Give up the requests that must not be sent late, and return them as responses."""
        all_of_them = [(at, each) for (at, _), each in self._connections.items()]
        withdrawn = ((at, each) for at, connection in all_of_them for each in connection.withdraw(self._clock()))
        return [each._replace(reason=f"{self._name_of(at)} {each.reason}") for at, each in withdrawn]

    def close(self) -> None:
        """Close every connection, and end what fetches a token."""
        self._handshakes.close()
        for endpoint, number in list(self._connections):
            self._drop(endpoint, ConnectionFailedError("closed"), number)
        self._selector.close()

    def _name_of(self, endpoint: Endpoint) -> str:
        broker = next((each.id for each in self.brokers.values() if endpoint_of(each) == endpoint), None)
        return str(endpoint) if broker is None else f"broker {broker} ({endpoint})"

    def _read_metadata(self, endpoints: Callable[[], Sequence[Endpoint]], deadline: float) -> None:
        metadata = self._bootstrap.find_metadata(
            self._request_metadata, endpoints, deadline, clock=self._clock, pause=self._selector.select
        )
        self.cluster_id = metadata.cluster_id
        self.brokers = metadata.brokers

    def _request_metadata(self, endpoint: Endpoint, setup_timeout_s: float, until: float) -> ClusterMetadata:
        """Request Metadata from one address. AdminError if that fails or takes longer than until then."""
        request = metadata_request(self)
        started = self._clock()
        self.set_deadline(until)
        kept = self._connections.get((endpoint, 0))
        try:
            connection = kept or self._connect(endpoint, setup_timeout_s)
            responses = connection.submit(request, started)
            self._selector.register(connection)
            while (response := next((each for each in responses if each.request is request), None)) is None:
                self._undelivered += responses
                if self._clock() >= until:
                    reason = connection.reason_for_delay(self._clock())
                    msg = f"no response within {max(0.001, round(until - started, 2)):g} s"
                    raise TimeoutExceededError(f"{msg}; it {reason}" if reason else msg)
                responses = self._wait_for_responses(until)
            # Responses to other requests are returned by the next `poll`.
            self._undelivered += [each for each in responses if each is not response]
            return read_metadata(response)
        except AdminError as error:
            self._undelivered += self._drop(endpoint, error)
            if kept is None or not isinstance(error, ConnectionFailedError) or self._clock() >= until:
                raise
        # The connection was lost since its last use.
        return self._request_metadata(endpoint, setup_timeout_s, until)

    def _wait_for_responses(self, until: float) -> list[Response]:
        responses = self._advance_all()
        now = self._clock()
        if responses or now >= until:
            return responses
        wakes = [wake for each in self._connections.values() if (wake := each.wakes_at()) is not None]
        # Silence causes no event.
        wakes.append(now + self._idle_timeout_s / _CHECKS_PER_IDLE_TIMEOUT)
        self._selector.select(min([until, *wakes]) - now)
        return self._advance_all()

    def _advance_all(self) -> list[Response]:
        # This process may have been stopped for a while.
        responses = self.withdraw() if self._clock() >= self._deadline else []
        for (endpoint, number), connection in list(self._connections.items()):
            try:
                arrived = connection.advance(self._clock())
                self._selector.register(connection)
                if arrived:
                    self._bootstrap.note_response(endpoint)
                responses += arrived or self._release(connection)
            except AdminError as error:
                responses += self._drop(endpoint, error, number)
        return responses

    def _release(self, connection: Connection) -> list[Response]:
        """Return the requests of a silent connection that another broker can serve, with an error."""
        now = self._clock()
        endpoint = connection.endpoint
        may_release = connection.may_release(now, self._idle_timeout_s)
        if not may_release or not self._bootstrap.has_other(endpoint, self.brokers.values(), now):
            return []
        self._bootstrap.note_failure(endpoint, until=now + self._settings.timeout_s, silent=True)
        return connection.release(self._describe(endpoint, idle_error(self._idle_timeout_s), connected=True))

    def _endpoint_of(self, broker: int) -> Endpoint | None:
        if broker == ANY_BROKER:
            return self._bootstrap.current
        return endpoint_of(self.brokers[broker]) if broker in self.brokers else None

    def _connection_to(self, broker: int, request: Request, now: float) -> Connection:
        endpoint = self._endpoint_for_any(now) if broker == ANY_BROKER else self._endpoint_of(broker)
        if endpoint is None:
            msg = f"broker {broker} is not in the cluster's metadata"
            raise ConnectionFailedError(msg)
        connection = self._connections.get((endpoint, request.connection))
        if connection is not None and not connection.is_unused(now, _LONGEST_REUSE_S):
            return connection
        self._drop(endpoint, ConnectionFailedError("closed"), request.connection)
        remaining_s = self._idle_timeout_s if request.for_any_broker else max(0.0, self._deadline - now)
        return self._connect(endpoint, self._bootstrap.broker_timeout_s(endpoint, remaining_s, now), request.connection)

    def _endpoint_for_any(self, now: float) -> Endpoint:
        current = self._bootstrap.current
        throttled = {each for (each, _), connection in self._connections.items() if connection.is_throttled(now)}
        avoid = self._bootstrap.failed(now) | throttled
        if current is not None and (current, 0) in self._connections and current not in avoid:
            return current
        return self._bootstrap.next_endpoint(self.brokers.values(), avoid)

    def _connect(self, endpoint: Endpoint, setup_timeout_s: float, number: int = 0) -> Connection:
        connection = Connection(
            endpoint,
            handshake=self._handshakes.create(endpoint, is_first=number == 0),
            make_channel=self._make_channel,
            setup_timeout_s=setup_timeout_s,
            now=self._clock(),
            resolve=self._resolve,
            wakeup=self._selector.wakeup,
        )
        self._connections[endpoint, number] = connection
        # A broker that may be dead gets one request at first.
        connection.window = 1 if number >= FIRST_EXTRA else connection.window
        self._selector.register(connection)
        return connection

    def _drop(self, endpoint: Endpoint, error: AdminError, number: int = 0) -> list[Response]:
        connection = self._connections.pop((endpoint, number), None)
        if connection is None:
            return []
        self._selector.unregister(connection)
        self._sent_before += connection.sent
        if connection.versions is None:
            error = with_settings(error, self._settings, endpoint)
        silent = isinstance(error, BrokerTimeoutError)
        # A broker that limits the connections of a client still serves the first one.
        if silent or (connection.versions is None and number == 0):
            avoided_s = self._settings.timeout_s if silent else _AVOIDED_S
            self._bootstrap.note_failure(endpoint, until=self._clock() + avoided_s, silent=silent)
        return connection.close(self._describe(endpoint, error, connected=connection.versions is not None))

    def _describe(self, endpoint: Endpoint | None, error: AdminError, *, connected: bool) -> AdminError:
        """Return the error with the address of the broker."""
        # An unknown broker has no address, and `open` adds the address of a bootstrap server.
        if endpoint is None or not self.brokers:
            return error
        name = self._name_of(endpoint)
        return type(error)(f"{name}: {error}") if connected else self._bootstrap.unconnected(endpoint, name, error)
