"""One broker connection: name lookup, connect, handshake, then any number of requests in flight."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.channel import numeric_addresses
from kafka_groups.admin.network.handshake import HandshakeRequest, Versions
from kafka_groups.admin.network.request import InFlight, Request, Response, lost_responses, take
from kafka_groups.admin.network.request_encoder import Frame, RequestEncoder
from kafka_groups.admin.network.resolver import Resolution
from kafka_groups.admin.network.session import Session
from kafka_groups.admin.network.setup_errors import closed_at_once, not_set_up, open_step, unresolved, with_cause
from kafka_groups.admin.network.setup_timer import SetupTimer
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
)
from kafka_groups.protocol import INT32, Cursor

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Address, Channel
    from kafka_groups.admin.network.handshake import Handshake
    from kafka_groups.admin.network.resolver import Resolve
    from kafka_groups.settings import Endpoint

# A broker serves one connection in order, so more in flight only hides the round trip; a limit keeps its
# socket buffers from filling up while it responds to old requests of one group each.
_MAX_IN_FLIGHT: Final = 64
# The token of the handshake's requests.
_HANDSHAKE: Final = object()


class Connection:
    """A connection to one endpoint. Its owner waits for events of `channel` and then calls `advance`.

    `handshake` serves this connection alone; `versions` are the broker's, None until the handshake is complete. Until
    then requests wait, for `setup_timeout_s` at most. `make_channel` opens a channel, plain or with TLS, to the
    addresses of a host. `sent` counts the requests sent, by API name and version. `window` is how many may be in
    flight, `active_at` when bytes came last or the first of them was sent. Times are seconds of the owner's clock.
    `addresses` are those of the host, None until the name lookup has found them.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        handshake: Handshake,
        make_channel: Callable[[list[Address], str], Channel],
        setup_timeout_s: float,
        now: float,
        resolve: Resolve,
        wakeup: Callable[[], None],
    ) -> None:
        self.endpoint = endpoint
        self.channel: Channel | None = None
        self.addresses: tuple[Address, ...] | None = None
        self.versions: Versions | None = None
        self.sent: Counter[tuple[str, int]] = Counter()
        self._handshake = handshake
        self._has_responded = False
        self.window = _MAX_IN_FLIGHT
        self._make_channel = make_channel
        self._setup = SetupTimer(setup_timeout_s, now)
        self._encoder = RequestEncoder(handshake.client_id)
        self._in_flight: dict[int, InFlight] = {}
        self._waiting: deque[Frame] = deque()
        self._unversioned: deque[Request] = deque()
        self._throttled_until = 0.0
        self._session = Session()
        self.active_at = now
        self._loss: AdminError | None = None
        addresses = numeric_addresses(endpoint)
        self._resolution = None if addresses else Resolution(endpoint, resolve=resolve, wakeup=wakeup)
        if addresses:
            self._open(addresses, handshake.first_request(), now)

    def submit(self, request: Request, now: float) -> list[Response]:
        """Send a request as soon as possible. Return at once the responses of bodies that cannot be sent at all."""
        if self.versions is None:
            self._unversioned.append(request)
            return []
        if failed := self._encode(request):
            # The other bodies of the request are sent by the next `advance`.
            return failed
        self._send_waiting(now)
        return []

    def advance(self, now: float) -> list[Response]:
        """Continue as far as possible without waiting; return the responses. AdminError if the connection is lost."""
        if self._loss is not None:
            raise self._loss
        if self._resolution is not None and not self._is_resolved(self._resolution, now):
            return self._check_setup(now)
        responses: list[Response] = []
        try:
            if self._handshake.is_waiting:
                self._send_next(self._handshake.resume(), now)
            if self.channel is not None:
                before = self.channel.received
                for payload in self.channel.advance():
                    responses += self._receive(payload, now)
                if self.channel.received != before:
                    self.active_at = now
                self._setup.try_next_address(self.channel, now)
            self._send_waiting(now)
        except AdminError as error:
            if self._reconnect(error, now):
                return []
            # The responses are returned first, and the next call raises the loss.
            if not responses:
                raise self._with_cause(error) from error
            self._loss = error
        return responses or self._check_setup(now)

    def wakes_at(self) -> float | None:
        """Return when to call `advance` even if no event occurs; None if only events matter."""
        if self._handshake.step is not None and (self._handshake.is_waiting or self._waiting):
            return self._handshake.step.until
        if self.versions is None:
            return self._setup.wakes_at
        # With capacity for more in flight, only the broker's throttling holds a request back.
        return self._throttled_until if self._waiting and self._has_capacity() else None

    def is_idle(self, now: float, idle_timeout_s: float) -> bool:
        """Return whether a response is outstanding and nothing was received for longer than the timeout."""
        return self.versions is not None and bool(self._in_flight) and now - self.active_at > idle_timeout_s

    def may_release(self, now: float, idle_timeout_s: float) -> bool:
        """Return whether nothing was received for `idle_timeout_s`, and another broker can serve a waiting request."""
        if self.versions is None or now - self.active_at <= idle_timeout_s:
            return False
        outstanding = (*self._in_flight.values(), *(each.in_flight for each in self._waiting))
        return any(each.is_movable() for each in outstanding)

    def release(self, error: AdminError) -> list[Response]:
        """Give up the requests that another broker can serve, and return them as responses with this error."""
        movable = {key: each for key, each in self._in_flight.items() if each.is_movable()}
        self._in_flight.update({key: each._replace(is_released=True) for key, each in movable.items()})
        waiting = [each.in_flight for each in take(self._waiting, lambda each: each.in_flight.is_movable())]
        return [each.to_lost(error) for each in (*movable.values(), *waiting)]

    def is_throttled(self, now: float) -> bool:
        """Return whether the broker wants no requests yet."""
        return now < self._throttled_until

    def is_unused(self, now: float, seconds: float) -> bool:
        """Return whether nothing is outstanding, and nothing was sent or received for `seconds`."""
        return not (self._in_flight or self._waiting or self.versions is None) and now - self.active_at > seconds

    def reason_for_delay(self, now: float) -> str | None:
        """Return what the connection is waiting for, as the end of a sentence; None if it waits for nothing."""
        if self._resolution is not None:
            return f"is not connected: its host name '{self.endpoint.host}' is not resolved yet"
        if self.channel is None or not self.channel.is_connected:
            return "has not accepted the connection"
        if self._handshake.is_waiting and self._handshake.step is not None:
            return self._handshake.step.describe()
        if self.versions is None:
            return f"accepted the connection but has not responded{open_step(self.channel, self._in_flight.values())}"
        if self._waiting and self.is_throttled(now):
            return f"throttles this client for another {round(self._throttled_until - now, 1):g} s"
        return f"has sent nothing for {round(now - self.active_at, 1):g} s" if self._in_flight else None

    def close(self, error: AdminError) -> list[Response]:
        """Close the connection, and return every outstanding request as a response with this error."""
        if self.channel is not None:
            self.channel.close()
        sent = (each for each in self._in_flight.values() if each.request.token is not _HANDSHAKE)
        unversioned = (InFlight(each, None, -1) for each in self._unversioned)
        outstanding = [*sent, *(each.in_flight for each in self._waiting), *unversioned]
        return lost_responses(outstanding, error, self.channel) if outstanding else []

    def withdraw(self, now: float) -> list[Response]:
        """Give up requests that must not be sent late, also the rest of one; return the waiting ones with a reason."""
        reason = self.reason_for_delay(now) or "was not ready"
        if self.channel is not None and any(each.is_cut_off(self.channel.written) for each in self._in_flight.values()):
            self._loss = ConnectionFailedError("the request was not completely written in time")
        late = [InFlight(each, None, -1) for each in take(self._unversioned, lambda each: not each.idempotent)]
        late += [each.in_flight for each in take(self._waiting, lambda each: not each.in_flight.request.idempotent)]
        return [Response(each.request, each.part, each.version, payload=b"", reason=reason) for each in late]

    def _is_resolved(self, resolution: Resolution, now: float) -> bool:
        """Connect if the lookup has ended, and return whether it has. Raises its error."""
        if resolution.is_done():
            if resolution.error is not None:
                raise resolution.error
            self._open(resolution.addresses or [], self._handshake.first_request(), now)
            self._resolution = None
        return self._resolution is None

    def _open(self, addresses: list[Address], first: HandshakeRequest, now: float) -> None:
        self.addresses = self.addresses or tuple(addresses)
        self.channel = self._make_channel(addresses, self.endpoint.host)
        self._setup.share(self.channel, now)
        self._send_handshake(first)

    def _send_handshake(self, message: HandshakeRequest) -> None:
        request = Request(api=message.api, bodies=lambda _version: [], token=_HANDSHAKE)
        in_flight = InFlight(request=request, part=message, version=message.version)
        self._transmit(self._encoder.encode(in_flight, message.body))

    def _transmit(self, frame: Frame) -> None:
        assert self.channel is not None
        begin = self.channel.queued
        in_flight = frame.in_flight
        self._in_flight[frame.correlation_id] = in_flight._replace(begin=begin, end=begin + len(frame.data))
        self.sent[in_flight.request.api.name, in_flight.version] += 1
        self.channel.send(frame.data)

    def _has_capacity(self) -> bool:
        is_ready = self.versions is not None and not self._session.is_renewing
        return is_ready and len(self._in_flight) < min(self.window, self._session.most_in_flight)

    def _send_waiting(self, now: float) -> None:
        if self._waiting and self.versions is not None and self._session.needs_renewal(now):
            self._renew_session(now)
        may_send = now >= self._throttled_until and self._session.accepts_requests(now)
        while may_send and self._waiting and self._has_capacity():
            if not self._in_flight:
                self.active_at = now
            self._transmit(self._waiting.popleft())

    def _renew_session(self, now: float) -> None:
        """Authenticate again as soon as a token or a ticket is there; requests are sent meanwhile."""
        try:
            self._session.is_renewing = self._handshake.prepare_renewal()
        except AuthenticationFailedError:
            # The session lasts, and the next token may be fetched.
            if not self._session.postpone_renewal(now):
                raise
        if self._session.is_renewing:
            self.active_at = now
            self._send_handshake(self._handshake.renewal_request())

    def _receive(self, payload: bytes, now: float) -> list[Response]:
        in_flight = self._in_flight.pop(INT32.read(False, False)(Cursor(payload)), None)
        if in_flight is None:
            raise MalformedResponseError("received a response with an unknown correlation ID")
        if in_flight.request.token is _HANDSHAKE:
            return self._continue_handshake(in_flight.part, payload, now)
        if in_flight.is_released:
            return []
        self._has_responded = True
        self.window = min(2 * self.window, _MAX_IN_FLIGHT)
        throttle_s = in_flight.request.api.throttle_s(in_flight.version, payload)
        self._throttled_until = max(self._throttled_until, now + throttle_s)
        return [Response(request=in_flight.request, part=in_flight.part, version=in_flight.version, payload=payload)]

    def _continue_handshake(self, message: HandshakeRequest, payload: bytes, now: float) -> list[Response]:
        following = self._handshake.next_request(message, payload)
        if following is not None or self._handshake.is_waiting:
            self._send_next(following, now)
            return []
        self._session.begin(self._handshake.session_lifetime_s, now)
        self.versions = self._handshake.versions
        unversioned, self._unversioned = self._unversioned, deque()
        return [response for request in unversioned for response in self._encode(request)]

    def _send_next(self, following: HandshakeRequest | None, now: float) -> None:
        """Send the next request of a handshake, or wait for a token or a ticket, which has a limit of its own."""
        if following is None:
            self._setup.suspend()
            return
        self._setup.renew(now)
        self.active_at = now
        self._send_handshake(following)

    def _with_cause(self, error: AdminError) -> AdminError:
        waiting = self._in_flight.values()
        return error if self._has_responded else with_cause(error, self.channel, waiting, self._handshake.credentials)

    def _reconnect(self, error: AdminError, now: float) -> bool:
        """Connect again with an older first request if the peer closed the connection at it; return whether it did."""
        if not closed_at_once(self.channel, error) or self.versions is not None or self._setup.is_over(now):
            return False
        older = self._handshake.older_request()
        if older is None or self.channel is None:
            return False
        self.channel.close()
        # Only the handshake is in flight: other requests wait for its end.
        self._in_flight.clear()
        self._open(self.channel.addresses_again(), older, now)
        return True

    def _encode(self, request: Request) -> list[Response]:
        frames, failed = self._encoder.encode_bodies(request, self.versions or {})
        self._waiting += frames
        return failed

    def _check_setup(self, now: float) -> list[Response]:
        if self.versions is None and self._setup.is_over(now):
            if self._resolution is not None:
                raise unresolved(self.endpoint.host, self._setup.timeout_s)
            raise not_set_up(self.channel, self._in_flight.values(), self._setup.timeout_s)
        return []
