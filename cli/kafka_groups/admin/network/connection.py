"""One broker connection: resolve, connect, greet, then any number of requests in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin.network.handshake import Turn, Versions, agreed_version
from kafka_groups.admin.network.resolver import Resolution, numeric_addresses
from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    InvalidRequestError,
    MalformedResponseError,
    NameNotResolvedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol import INT32, Cursor, SchemaError
from kafka_groups.protocol.messages import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Channel
    from kafka_groups.admin.network.handshake import Handshake
    from kafka_groups.admin.network.resolver import Address, Resolve
    from kafka_groups.settings import Endpoint

# One connection is served in order, so more in flight only hides the round trip; a bound keeps the
# broker's socket buffers from filling up while it answers old-style requests of one group each.
_MOST_IN_FLIGHT: Final = 64
# The token of what is said before the first handler.
_HANDSHAKE: Final = object()
_LOGIN: Final = (SASL_HANDSHAKE, SASL_AUTHENTICATE)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be asked. `bodies` turns the agreed version into one body a message, each with its own token.

    It is called once, when the broker's versions are known, and may raise UnsupportedVersionError.
    """

    api: Api
    bodies: Callable[[int], list[tuple[Any, Mapping[str, Any]]]]
    token: Any


@dataclass(frozen=True, kw_only=True)
class Response:
    """One answer, or the error in its place; `part` is the token of the body, None if none was made."""

    request: Request
    part: Any
    version: int
    payload: bytes
    error: AdminError | None = None


@dataclass(frozen=True, kw_only=True)
class _Flight:
    request: Request
    part: Any
    version: int


class Connection:
    """A broker under one endpoint. It is driven by its owner, which waits on `channel` and calls `advance`.

    `handshake` is this connection's own: who asks, and the login, if there is one.

    `make_channel` opens a channel to one of the addresses of a host, plain or with TLS. `versions` are known when the
    broker was greeted, which is when it takes questions.

    The clock is the owner's: every `now` is seconds of one monotonic clock.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        handshake: Handshake,
        make_channel: Callable[[list[Address], str], Channel],
        patience_s: float,
        now: float,
        resolve: Resolve,
        wake: Callable[[], None],
    ) -> None:
        self.endpoint = endpoint
        self.channel: Channel | None = None
        self.versions: Versions | None = None
        self.sent: list[tuple[str, int]] = []
        self._handshake = handshake
        self._has_answered = False
        self._make_channel = make_channel
        self._give_up_at = now + patience_s
        self._patience_s = patience_s
        self._next_address_at = self._give_up_at
        self._addresses_left = 0
        self._correlation = 0
        self._flights: dict[int, _Flight] = {}
        self._waiting: deque[tuple[int, _Flight, bytes]] = deque()
        self._unversioned: deque[Request] = deque()
        self._throttled_until = 0.0
        self._moved_at = now
        self._loss: AdminError | None = None
        addresses = numeric_addresses(endpoint)
        self._resolution = None if addresses else Resolution(endpoint, resolve=resolve, wake=wake)
        if addresses:
            self._open(addresses, now)

    def submit(self, request: Request, now: float) -> list[Response]:
        """Take a request on; it is sent as soon as it can be. Returns at once what cannot be asked at all."""
        if self.versions is None:
            self._unversioned.append(request)
            return []
        if refused := self._plan(request):
            # What else it asks leaves with the next `advance`.
            return refused
        self._send_waiting(now)
        return []

    def advance(self, now: float) -> list[Response]:
        """Go on as far as it goes without waiting. AdminError means that this connection is lost."""
        if self._loss is not None:
            raise self._loss
        if self._resolution is not None:
            if not self._resolution.is_done():
                return self._check_patience(now)
            if self._resolution.error is not None:
                raise self._resolution.error
            self._open(self._resolution.addresses or [], now)
            self._resolution = None
        responses: list[Response] = []
        try:
            if self.channel is not None:
                before = self.channel.received
                for payload in self.channel.advance():
                    responses += self._take(payload, now)
                if self.channel.received != before:
                    self._moved_at = now
                self._try_next_address(self.channel, now)
            self._send_waiting(now)
        except AdminError as error:
            # What was answered is told first, and the loss by the next call.
            if not responses:
                raise self._explained(error) from error
            self._loss = error
        return responses or self._check_patience(now)

    def wakes_at(self) -> float | None:
        """When to call `advance` though nothing came; None if only bytes matter."""
        if self.versions is None:
            return self._next_address_at
        # With room for more, only the broker's wish to be left alone holds a request back.
        return self._throttled_until if self._waiting and self._has_room() else None

    def overdue(self, now: float, patience_s: float) -> bool:
        """Whether an answer has been owed for longer than that, and nothing at all came since."""
        return self.versions is not None and bool(self._flights) and now - self._moved_at > patience_s

    def abandon(self, error: AdminError) -> list[Response]:
        """Close, and answer everything that was not answered with this error."""
        if self.channel is not None:
            self.channel.close()
        asked = [flight for flight in self._flights.values() if flight.request.token is not _HANDSHAKE]
        flights = [*asked, *(flight for _, flight, _ in self._waiting)]
        lost = [Response(request=f.request, part=f.part, version=f.version, payload=b"", error=error) for f in flights]
        return lost + [
            Response(request=request, part=None, version=-1, payload=b"", error=error) for request in self._unversioned
        ]

    def _open(self, addresses: list[Address], now: float) -> None:
        self.channel = self._make_channel(addresses, self.endpoint.host)
        self._share_patience(self.channel, now)
        self._greet(self._handshake.first())

    def _share_patience(self, channel: Channel, now: float) -> None:
        # An address that says nothing leaves the same time to each of those after it.
        self._addresses_left = channel.addresses_left
        turns = 1 if channel.is_connected else self._addresses_left + 1
        self._next_address_at = now + (self._give_up_at - now) / turns if turns > 1 else self._give_up_at

    def _try_next_address(self, channel: Channel, now: float) -> None:
        if not channel.is_connected and channel.addresses_left and self._next_address_at <= now < self._give_up_at:
            channel.give_up_address()
        if channel.is_connected or channel.addresses_left != self._addresses_left:
            self._share_patience(channel, now)

    def _greet(self, turn: Turn) -> None:
        request = Request(api=turn.api, bodies=lambda _version: [], token=_HANDSHAKE)
        self._transmit(*self._framed(_Flight(request=request, part=turn, version=turn.version), turn.body))

    def _framed(self, flight: _Flight, body: Mapping[str, Any]) -> tuple[int, _Flight, bytes]:
        self._correlation += 1
        frame = flight.request.api.encode_request(
            flight.version, correlation_id=self._correlation, client_id=self._handshake.client_id, body=body
        )
        return self._correlation, flight, frame

    def _transmit(self, correlation: int, flight: _Flight, frame: bytes) -> None:
        assert self.channel is not None
        self._flights[correlation] = flight
        self.sent.append((flight.request.api.name, flight.version))
        self.channel.send(frame)

    def _has_room(self) -> bool:
        return self.versions is not None and len(self._flights) < _MOST_IN_FLIGHT

    def _send_waiting(self, now: float) -> None:
        while self._waiting and self._has_room() and now >= self._throttled_until:
            if not self._flights:
                self._moved_at = now
            self._transmit(*self._waiting.popleft())

    def _take(self, payload: bytes, now: float) -> list[Response]:
        flight = self._flights.pop(INT32.read(False, False)(Cursor(payload)), None)
        if flight is None:
            raise MalformedResponseError("an answer came to a handler that was never asked")
        if flight.request.token is _HANDSHAKE:
            return self._after_greeting(flight.part, payload, now)
        self._has_answered = True
        self._throttled_until = max(self._throttled_until, now + _throttle_s(flight, payload))
        return [Response(request=flight.request, part=flight.part, version=flight.version, payload=payload)]

    def _after_greeting(self, turn: Turn, payload: bytes, now: float) -> list[Response]:
        further = self._handshake.after(turn, payload)
        if further is not None:
            # It is there, and has a login to think about.
            self._give_up_at = self._next_address_at = now + self._patience_s
            self._greet(further)
            return []
        self.versions = self._handshake.versions
        unversioned, self._unversioned = self._unversioned, deque()
        return [response for request in unversioned for response in self._plan(request)]

    def _explained(self, error: AdminError) -> AdminError:
        # Who needs no login to be told the versions is hung up on at the first handler, which is for the brokers.
        is_first = not self._has_answered and [flight.request.api for flight in self._flights.values()] == [METADATA]
        has_login = self._handshake.login is not None
        if self.channel is None or has_login or not is_first or not isinstance(error, ConnectionFailedError):
            return error
        setting = f"security.protocol={self.channel.with_login}"
        return type(error)(f"{error}; perhaps it wants a login (-X {setting}, and sasl.mechanism)")

    def _plan(self, request: Request) -> list[Response]:
        try:
            version = agreed_version(self.versions or {}, request.api)
            bodies = request.bodies(version)
        except UnsupportedVersionError as error:
            return [Response(request=request, part=None, version=-1, payload=b"", error=error)]
        refused: list[Response] = []
        for part, body in bodies:
            try:
                self._waiting.append(self._framed(_Flight(request=request, part=part, version=version), body))
            except SchemaError as error:
                told = InvalidRequestError(f"it cannot be put into a request: {error}")
                refused.append(Response(request=request, part=part, version=version, payload=b"", error=told))
        return refused

    def _check_patience(self, now: float) -> list[Response]:
        if self.versions is None and now >= self._give_up_at:
            within = f"within {self._patience_s:g} s"
            if self._resolution is not None:
                msg = f"the name '{self.endpoint.host}' was not resolved {within}"
                raise NameNotResolvedError(msg)
            is_taken = self.channel is not None and self.channel.is_connected
            what = " the login" if any(flight.request.api in _LOGIN for flight in self._flights.values()) else ""
            doing = f"took the connection but did not answer{what}" if is_taken else "did not take the connection"
            msg = f"it {doing} {within}"
            raise ConnectionFailedError(msg)
        return []


def _throttle_s(flight: _Flight, payload: bytes) -> float:
    """How long the broker asks us to hold back, from the head of its answer."""
    api = flight.request.api
    if api.throttle_since is None or flight.version < api.throttle_since:
        return 0.0
    try:
        return max(0, int(INT32.read(False, False)(api.open_response(flight.version, payload)))) / 1000
    except SchemaError:
        return 0.0
