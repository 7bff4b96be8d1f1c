"""Addresses for requests to any broker, the time that each one gets, and the Metadata request for the brokers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.admin.network.request import Request, Response
from kafka_groups.admin.network.resolver import CanonicalNames
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
    NameNotResolvedError,
    NoBrokersError,
    NoConnectionError,
    ServiceUnknownError,
    TicketFailedError,
    TokenFailedError,
)
from kafka_groups.model import Broker
from kafka_groups.protocol import SchemaError
from kafka_groups.protocol.messages import METADATA
from kafka_groups.protocol.messages.metadata import NO_BROKERS
from kafka_groups.settings import Endpoint

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings

_SHORTEST_SETUP_S: Final = 0.1
_REFUSED_SHARE: Final = 0.1
# In a long list of addresses the first ones get more than an equal share of the time.
_MOST_LATER_SHARES: Final = 2
_SETUP_TIMEOUT_AFTER_SILENCE_S: Final = 1.0
_MIN_BACKOFF_S: Final = 0.1
_MAX_BACKOFF_S: Final = 1.0
_MOST_REASONS: Final = 5
_NO_TOPICS: Final[Mapping[str, Any]] = {"topics": []}


class ClusterMetadata(NamedTuple):
    """The brokers of a cluster by id, and the cluster's id; None if the broker returned none."""

    cluster_id: str | None
    brokers: Mapping[int, Broker]


class Bootstrap:
    """The addresses that requests to any broker may go to; `current` is the last one that was used.

    An address that failed is avoided for a time, as long as there are others.
    """

    def __init__(self, settings: ConnectionSettings) -> None:
        self.servers = settings.bootstrap
        self._has_aliases = settings.resolve_canonical_names
        self.current: Endpoint | None = None
        self._setup_timeout_s = settings.connect_timeout_s
        # The address that returned the brokers last.
        self._source: Endpoint | None = None
        self._failed_until: dict[Endpoint, tuple[float, bool]] = {}

    def canonical_servers(
        self, *, clock: Callable[[], float], wakeup: Callable[[], None], select: Callable[[float], None]
    ) -> Sequence[Endpoint]:
        """Return the bootstrap servers; if the settings want their canonical names, look those up first, once.

        `select` waits for a number of seconds, or until another thread calls `wakeup`.
        """
        if self._has_aliases:
            names = CanonicalNames(self.servers, wakeup=wakeup)
            until = clock() + self._setup_timeout_s
            while not names.are_known() and (remaining_s := until - clock()) > 0:
                select(remaining_s)
            self.servers = names.endpoints()
            self._has_aliases = False
        return self.servers

    def setup_timeout_s(self, remaining_s: float, later_servers: int) -> float:
        """Return how long to try a server, so that each of the later servers gets a share of the remaining time."""
        if later_servers == 0:
            return min(self._setup_timeout_s, max(_SHORTEST_SETUP_S, remaining_s))
        turns = later_servers + 1
        share_s = min(max(1.0, self._setup_timeout_s / turns), remaining_s / turns)
        return max(_SHORTEST_SETUP_S, round(share_s, 1))

    def find_metadata(
        self,
        request: Callable[[Endpoint, float, float], ClusterMetadata],
        endpoints: Callable[[], Sequence[Endpoint]],
        deadline: float,
        *,
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> ClusterMetadata:
        """Return the metadata of the first address that returns it; each has a share of the time.

        `request` gets an address, the timeout of its connection in seconds, and until when to wait. Addresses are tried
        again while they are starting: for a tenth of the time if they refuse connections, until the deadline if their
        metadata has no brokers. Raises an AdminError of the last failure's type if none responds.
        """
        started = clock()
        backoff_s = _MIN_BACKOFF_S
        while True:
            failures: list[tuple[Endpoint, AdminError]] = []
            to_try = endpoints()
            for later, endpoint in zip(range(len(to_try) - 1, -1, -1), to_try, strict=True):
                now = clock()
                turns = min(later, _MOST_LATER_SHARES) + 1
                self.current = endpoint
                try:
                    setup_timeout_s = self.setup_timeout_s(deadline - now, turns - 1)
                    metadata = request(endpoint, setup_timeout_s, now + (deadline - now) / turns)
                except AdminError as error:
                    failures.append((endpoint, error))
                    if _is_refused_by_all(error) or clock() >= deadline:
                        break
                else:
                    self._source = endpoint
                    return metadata
            if clock() + backoff_s >= retry_until(failures, started, deadline):
                raise unreachable(failures)
            pause(backoff_s)
            backoff_s = min(2 * backoff_s, _MAX_BACKOFF_S)

    def in_turn(self, brokers: Iterable[Broker]) -> list[Endpoint]:
        """Return the addresses of the brokers and the bootstrap servers, from `current` on."""
        known = self._candidates(brokers)
        at = known.index(self.current) if self.current in known else 0
        return known[at:] + known[:at]

    def next_endpoint(self, brokers: Iterable[Broker], avoid: Collection[Endpoint]) -> Endpoint:
        """Return the address after `current` among the brokers and the bootstrap servers, and make it `current`."""
        first, *others = self.in_turn(brokers)
        in_turn = [*others, first] if first == self.current else [first, *others]
        self.current = next((each for each in in_turn if each not in avoid), in_turn[0])
        return self.current

    def has_other(self, endpoint: Endpoint, brokers: Iterable[Broker], now: float) -> bool:
        """Return whether another address than this one is known that has not failed."""
        return bool({*self._candidates(brokers)} - {endpoint} - self.failed(now))

    def note_failure(self, endpoint: Endpoint, *, until: float, silent: bool) -> None:
        """Avoid an address until a time, or until it responds; `silent` if it sent nothing until a timeout."""
        self._failed_until[endpoint] = (until, silent)

    def note_response(self, endpoint: Endpoint) -> None:
        """Avoid an address no longer."""
        self._failed_until.pop(endpoint, None)

    def failed(self, now: float) -> set[Endpoint]:
        """Return the addresses to avoid."""
        return {endpoint for endpoint, (until, _) in self._failed_until.items() if now < until}

    def was_silent(self, endpoint: Endpoint, now: float) -> bool:
        """Return whether an address to avoid sent nothing until a timeout."""
        return endpoint in self.failed(now) and self._failed_until[endpoint][1]

    def broker_timeout_s(self, endpoint: Endpoint, remaining_s: float, now: float) -> float:
        """Return the time for a connection; a silent broker gets one more try, which leaves most time to the others."""
        limit = _SETUP_TIMEOUT_AFTER_SILENCE_S if self.was_silent(endpoint, now) else remaining_s
        return min(self._setup_timeout_s, limit, remaining_s)

    def unconnected(self, endpoint: Endpoint, name: str, error: AdminError) -> AdminError:
        """Return the error of a broker that was not connected."""
        return unconnected(name, error, source=None if endpoint in self.servers else self._source)

    def _candidates(self, brokers: Iterable[Broker]) -> list[Endpoint]:
        return list(dict.fromkeys((*map(endpoint_of, brokers), *self.servers)))


def endpoint_of(broker: Broker) -> Endpoint:
    """Return the address of a broker."""
    return Endpoint(host=broker.host, port=broker.port)


def metadata_request(token: object) -> Request:
    """Return a request for the brokers of the cluster, without topics. `find_metadata` moves it to other brokers."""
    return Request(api=METADATA, bodies=lambda _version: [(None, _NO_TOPICS)], token=token)


def read_metadata(response: Response) -> ClusterMetadata:
    """Return the cluster's brokers.

    Raises the response's own error, MalformedResponseError if it cannot be read, and NoBrokersError if it contains no
    brokers: a broker that is starting may return an empty list, and Kafka's NetworkClient ignores it, too.
    """
    if response.error is not None:
        raise response.error
    try:
        metadata = METADATA.read_response(response.version, response.payload)
    except SchemaError as error:
        msg = f"cannot read the Metadata response: {error}"
        raise MalformedResponseError(msg) from error
    brokers = {
        row["node_id"]: Broker(id=row["node_id"], host=row["host"], port=row["port"]) for row in metadata["brokers"]
    }
    if not brokers:
        raise NoBrokersError(NO_BROKERS)
    return ClusterMetadata(cluster_id=metadata["cluster_id"], brokers=brokers)


def retry_until(failures: Sequence[tuple[Endpoint, AdminError]], started: float, deadline: float) -> float:
    """Return until when to try all servers again after these failures.

    Servers that are starting have no brokers, and are tried until the deadline. A refused connection is usually a wrong
    address, which the user wants to know soon: a tenth of the time. No other failure is likely to pass.
    """
    errors = [error for _, error in failures]
    if any(isinstance(error, AuthenticationFailedError) for error in errors):
        return started
    if any(isinstance(error, NoBrokersError) for error in errors):
        return deadline
    is_refused = any(isinstance(error, NoConnectionError) for error in errors)
    return started + (deadline - started) * _REFUSED_SHARE if is_refused else started


def unreachable(failures: Sequence[tuple[Endpoint, AdminError]]) -> AdminError:
    """Return one error of the last failure's type that names each bootstrap server and its reason."""
    last = failures[-1][1]
    if _concerns_no_server(last):
        return _without_server(last)
    reasons = "; ".join(f"{endpoint}: {error}" for endpoint, error in failures[:_MOST_REASONS])
    more = f"; and {len(failures) - _MOST_REASONS} more" if len(failures) > _MOST_REASONS else ""
    text = f"no server responded: {reasons}{more}" if len(failures) > 1 else f"cannot connect to {reasons}"
    return type(last)(text)


def unconnected(name: str, error: AdminError, *, source: Endpoint | None) -> AdminError:
    """Return the error of a broker that was not connected; a wrong advertised address is the most common cause.

    `source` is the server whose metadata has the address, None for an address that the user named.
    """
    if _concerns_no_server(error):
        return _without_server(error)
    return type(error)(f"cannot connect to {name}: {error}{advertised_hint(error, source)}")


def advertised_hint(error: AdminError, source: Endpoint | None) -> str:
    """Return the next step for an address that the metadata of a server has; empty if the address is not the cause."""
    if source is None or not isinstance(error, (NameNotResolvedError, ConnectionFailedError)):
        return ""
    return f"; check advertised.listeners: {source} returned this address"


def _is_refused_by_all(error: AdminError) -> bool:
    """Return whether the other servers would refuse the same credentials, too."""
    return isinstance(error, AuthenticationFailedError) and not isinstance(error, ServiceUnknownError)


def _concerns_no_server(error: AdminError) -> bool:
    """Return whether an error is the same for all servers: where a token was to be sent has no part in it."""
    return isinstance(error, TokenFailedError | TicketFailedError) and not isinstance(error, ServiceUnknownError)


def _without_server(error: AdminError) -> AdminError:
    return type(error)(f"cannot log in: {error}")
