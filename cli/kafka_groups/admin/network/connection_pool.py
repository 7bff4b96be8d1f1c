"""Connections to all brokers of a cluster behind one loop, without threads and without a wait beyond the deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin.network.channel import Channel
from kafka_groups.admin.network.connection import Connection, Request, Response
from kafka_groups.admin.network.handshake import Handshake
from kafka_groups.admin.network.resolver import Address, Resolve, resolve
from kafka_groups.admin.network.selector import Selector
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerTimeoutError,
    ConnectionFailedError,
    MalformedResponseError,
    NameNotResolvedError,
    TimeoutExceededError,
)
from kafka_groups.model import Broker
from kafka_groups.protocol import SchemaError
from kafka_groups.protocol.messages import METADATA
from kafka_groups.settings import Endpoint

if TYPE_CHECKING:
    import ssl

    from kafka_groups.settings import ConnectionSettings

# The broker id under which the bootstrap connection stands: any broker will do for what it is asked.
ANY_BROKER: Final = -1
_SECOND_CHANCE_S: Final = 1.0
_LOOKS: Final = 8
_TOPIC_LESS: Final[Mapping[str, Any]] = {"topics": []}


class BrokerPool:
    """Connections to the brokers of a cluster, opened when first needed.

    `brokers` and `cluster_id` are known once `open` has returned. `sent` lists (API name, version)
    of every request, connection set-up included.
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
        self._advertised_by: Endpoint | None = None
        self._quiet_s = settings.connect_timeout_s
        self._silent: set[int] = set()
        self._closed_sent: list[tuple[str, int]] = []
        self._early: list[Response] = []
        self._watch = Selector()

    @property
    def sent(self) -> list[tuple[str, int]]:
        """Every request sent so far, as (API name, version)."""
        return [*self._closed_sent, *(pair for c in self._distinct() for pair in c.sent)]

    def open(self, deadline: float) -> None:
        """Reach one of the bootstrap servers and learn who the brokers are.

        The servers are tried in their order. Raises the AdminError of the last one when none answers.
        """
        failures: list[AdminError] = []
        servers = self._settings.bootstrap
        for turn, endpoint in enumerate(servers, start=1):
            try:
                self._connect(ANY_BROKER, endpoint, patience_s=self._share_s(deadline, len(servers) - turn))
                self._advertised_by = endpoint
                self.refresh(deadline)
            except AdminError as error:
                self._drop(ANY_BROKER, error)
                failures.append(type(error)(f"{endpoint}: {error}"))
                # The same login would be refused by the others, too.
                if isinstance(error, (TimeoutExceededError, AuthenticationFailedError)):
                    break
            else:
                return
        raise _none_answered(failures)

    def refresh(self, deadline: float) -> None:
        """RequestSpec anew who the brokers are."""
        request = Request(api=METADATA, bodies=lambda _version: [(None, _TOPIC_LESS)], token=self)
        responses = self.submit(ANY_BROKER, request)
        others: list[Response] = []
        while not any(response.request is request for response in responses):
            others += responses
            if self._clock() >= deadline:
                msg = f"no answer within {self._settings.timeout_s:g} s"
                raise TimeoutExceededError(msg)
            responses = self.poll(deadline)
        # Results to other questions wait for who asked them.
        self._early += [*others, *(response for response in responses if response.request is not request)]
        answer = next(response for response in responses if response.request is request)
        if answer.error is not None:
            raise answer.error
        self._learn_brokers(answer)

    def set_idle_timeout(self, quiet_s: float) -> None:
        """From now on a broker that owes an answer may be silent for so long; then its connection is given up."""
        self._quiet_s = quiet_s

    def submit(self, broker: int, request: Request) -> list[Response]:
        """RequestSpec one broker (or ANY_BROKER). Returns at once what cannot be asked; the rest comes by `poll`."""
        now = self._clock()
        try:
            connection = self._connection_to(broker)
        except AdminError as error:
            told = self._explain(broker, error, reached=False)
            return [Response(request=request, part=None, version=-1, payload=b"", error=told)]
        try:
            responses = connection.submit(request, now)
        except AdminError as error:
            # It was lost since it was last used; what was asked is among the responses.
            return self._drop(broker, error)
        self._watch.renew(connection)
        return responses

    def poll(self, until: float) -> list[Response]:
        """Replies that came; waits for one at most until that time. Lost connections answer with errors."""
        if self._early:
            early, self._early = self._early, []
            return early
        responses = self._advance_all()
        now = self._clock()
        if responses or now >= until:
            return responses
        wakes = [wake for c in self._distinct() if (wake := c.wakes_at()) is not None]
        # Silence makes no event: it is looked for often enough to be noticed in time.
        self._watch.wait(min([until, now + self._quiet_s / _LOOKS, *wakes]) - now)
        return self._advance_all()

    def update_brokers(self, brokers: Iterable[Broker]) -> None:
        """Take on addresses that a look-up named; they are newer than what was known."""
        self.brokers = {**self.brokers, **{broker.id: broker for broker in brokers}}

    def close(self) -> None:
        """Close every connection."""
        for broker in list(self._connections):
            self._drop(broker, ConnectionFailedError("closed"))
        self._watch.close()

    def address_of(self, broker: int) -> str:
        """A broker as a person would look for it: its id and its address."""
        if broker in self.brokers:
            known = self.brokers[broker]
            return f"broker {broker} at {Endpoint(host=known.host, port=known.port)}"
        return f"broker {broker}" if broker != ANY_BROKER else str(self._advertised_by)

    def _distinct(self) -> list[Connection]:
        # The bootstrap connection stands under its broker's id too, once its address is known to be that broker's.
        return list({id(connection): connection for connection in self._connections.values()}.values())

    def _advance_all(self) -> list[Response]:
        responses: list[Response] = []
        for broker, connection in list(self._connections.items()):
            try:
                told = connection.advance(self._clock())
                self._watch.renew(connection)
                if told:
                    self._silent.discard(broker)
                elif connection.overdue(self._clock(), self._quiet_s):
                    raise _silence(self._quiet_s)
                responses += told
            except AdminError as error:
                if isinstance(error, BrokerTimeoutError):
                    self._silent.add(broker)
                responses += self._drop(broker, error)
        return responses

    def _connection_to(self, broker: int) -> Connection:
        if broker != ANY_BROKER and broker not in self.brokers:
            msg = f"broker {broker} is not among the brokers that the cluster names"
            raise ConnectionFailedError(msg)
        if broker == ANY_BROKER:
            connection = self._connections.get(ANY_BROKER)
            if connection is None:
                connection = self._connect(ANY_BROKER, self._spare_endpoint())
            return connection
        if broker not in self._connections:
            known = self.brokers[broker]
            endpoint = Endpoint(host=known.host, port=known.port)
            first = self._connections.get(ANY_BROKER)
            if first is not None and first.endpoint == endpoint:
                self._connections[broker] = first
            else:
                self._connect(broker, endpoint)
        return self._connections[broker]

    def _spare_endpoint(self) -> Endpoint:
        """Where to ask what any broker can answer, once the first connection is lost."""
        known = (Endpoint(host=b.host, port=b.port) for b in self.brokers.values())
        candidates = list(dict.fromkeys((*known, *self._settings.bootstrap)))
        # Each has its turn: the one after that which was asked last.
        last = candidates.index(self._advertised_by) if self._advertised_by in candidates else -1
        self._advertised_by = candidates[(last + 1) % len(candidates)]
        return self._advertised_by

    def _connect(self, broker: int, endpoint: Endpoint, *, patience_s: float | None = None) -> Connection:
        connection = Connection(
            endpoint,
            handshake=Handshake(self._settings.client_id, self._settings.credentials),
            make_channel=self._make_channel,
            patience_s=patience_s or self._patience_s(broker),
            now=self._clock(),
            resolve=self._resolve,
            wake=self._watch.ring,
        )
        self._connections[broker] = connection
        self._watch.renew(connection)
        return connection

    def _patience_s(self, broker: int) -> float:
        # A broker that was silent a moment ago gets one more chance, and not the time of the others.
        wanted = _SECOND_CHANCE_S if broker in self._silent else self._settings.connect_timeout_s
        return min(wanted, self._quiet_s)

    def _share_s(self, deadline: float, left: int) -> float:
        """How long a bootstrap server may be silent, so that the `left` ones after it have their turn."""
        whole = self._settings.connect_timeout_s
        if left == 0:
            return whole
        turns = left + 1
        return max(0.1, round(min(max(1.0, whole / turns), (deadline - self._clock()) / turns), 1))

    def _make_channel(self, addresses: list[Address], host: str) -> Channel:
        if self._settings.tls is None:
            return Channel(addresses, with_tls="SASL_SSL" if self._settings.credentials else "SSL")
        # ssl takes a while to load, and most first tries are plain.
        from kafka_groups.admin.network.tls import TlsChannel, make_context

        self._tls_context = self._tls_context or make_context(self._settings.tls)
        return TlsChannel(addresses, context=self._tls_context, server_name=host)

    def _drop(self, broker: int, error: AdminError) -> list[Response]:
        connection = self._connections.pop(broker, None)
        if connection is None:
            return []
        for other in [key for key, value in self._connections.items() if value is connection]:
            del self._connections[other]
        self._watch.forget(connection)
        self._closed_sent += connection.sent
        return connection.abandon(self._explain(broker, error, reached=connection.versions is not None))

    def _explain(self, broker: int, error: AdminError, *, reached: bool) -> AdminError:
        """Put the address in, and where it came from: an address that nobody can reach is the commonest fault."""
        if broker == ANY_BROKER:
            # While the cluster is being opened, who opens it names the server.
            return type(error)(f"{self._advertised_by}: {error}") if self.brokers else error
        if broker not in self.brokers:
            return error
        text = f"{self.address_of(broker)}: {error}"
        if not reached and isinstance(error, (NameNotResolvedError, ConnectionFailedError)):
            text += f"; that address is what {self._advertised_by} advertises for it (advertised.listeners)"
        return type(error)(text)

    def _learn_brokers(self, response: Response) -> None:
        try:
            answer = METADATA.read_response(response.version, response.payload)
        except SchemaError as error:
            msg = f"its answer to Metadata cannot be read: {error}"
            raise MalformedResponseError(msg) from error
        self.cluster_id = answer["cluster_id"]
        self.brokers = {
            broker["node_id"]: Broker(id=broker["node_id"], host=broker["host"], port=broker["port"])
            for broker in answer["brokers"]
        }


def _silence(quiet_s: float) -> BrokerTimeoutError:
    msg = f"it took the request and sent nothing for {round(quiet_s, 1):g} s"
    return BrokerTimeoutError(msg)


def _none_answered(failures: list[AdminError]) -> AdminError:
    if len(failures) == 1:
        return failures[0]
    return type(failures[-1])("no bootstrap server answered: " + "; ".join(str(failure) for failure in failures))
