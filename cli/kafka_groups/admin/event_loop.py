"""The loop between drivers and brokers: it sends what is ready and records what comes back, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kafka_groups.admin.api import Deadline
from kafka_groups.admin.api_handler import ApiHandler, RequestSpec
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.admin.repeats import SHORTEST_SHARE, Connections, Repeats, SentRequest
from kafka_groups.errors import AdminError, InvalidRequestError, MalformedResponseError, ResponseTooLargeError
from kafka_groups.model import Broker
from kafka_groups.progress import StepProgress
from kafka_groups.protocol import SchemaError

# A broker takes as long for one lookup of 65,000 keys as for fifteen of 10,000 (see docs/design/admin.md), so more
# keys than this are spread over the brokers.
MAX_LOOKUP_KEYS: Final = 10_000
_SHORTEST_EXTENSION_S: Final = 0.1

Drivers: TypeAlias = Sequence[ApiDriver[Any, Any]]


class ExtraConnections(Connections, Protocol):
    """What the loop needs of connections beside the first one."""

    def close_all(self) -> None:
        """Close all of them, at the end of a call."""


class Brokers(Protocol):
    """What the loop needs of a connection pool."""

    brokers: Mapping[int, Broker]

    @property
    def extra(self) -> ExtraConnections:
        """The connections beside the first one to each broker."""

    def submit(self, broker: int, request: Request) -> list[Response]:
        """Send a request; return the error at once if it cannot be sent."""

    def poll(self, until: float) -> list[Response]:
        """Return the responses that came; wait for one until that time."""

    def set_deadline(self, deadline: float) -> None:
        """Set until when requests may take."""

    def responsive_brokers(self) -> list[int]:
        """Return the ids of the brokers that have not been silent."""

    def reason_for_delay(self, broker: int) -> str | None:
        """Return why a broker has not responded."""

    def withdraw(self) -> list[Response]:
        """Give up the requests that must not be sent late, and return them as responses."""

    def drop_silent(self) -> None:
        """Close the connections that owe a response, at the end of a call."""

    def update_brokers(self, brokers: Sequence[Broker]) -> None:
        """Store the addresses that a response contained."""


class _Token(NamedTuple):
    """The driver and the keys of a request."""

    driver: ApiDriver[Any, Any]
    spec: RequestSpec[Any]

    @property
    def handler(self) -> ApiHandler[Any, Any]:
        """The handler of the operation, or of its lookup."""
        handler = self.driver.handler if self.spec.broker is not None else self.driver.lookup
        assert handler is not None
        return handler


def run_until_complete(
    pool: Brokers,
    drivers: Drivers,
    *,
    deadline: Deadline,
    clock: Callable[[], float] = time.monotonic,
    progress: StepProgress | None = None,
    follow_up: Callable[[], Drivers] = tuple,
) -> None:
    """Run all drivers in one loop until every key is completed or failed, at the latest by the deadline.

    `follow_up` returns drivers that the outcome of others makes necessary; they join the loop.

    A call with a share of a deadline goes on as long as it has no result that later calls need time for. `progress`
    receives the number of keys that are done, and the number of keys.

    Requests that are not idempotent are not sent after the deadline, nor by a later call if this one is interrupted.
    """
    loop = _Loop(pool, clock)
    try:
        loop.run(drivers, deadline, progress, follow_up)
    except BaseException:
        pool.withdraw()
        raise
    finally:
        loop.close()


class _Loop:
    """One call: its requests, and those that are repeated because a broker is late."""

    def __init__(self, pool: Brokers, clock: Callable[[], float]) -> None:
        self._pool = pool
        self._clock = clock
        self._limit = inf
        # In nearly all calls no response is late, so their requests are only noted until the first one may be.
        self._sent: list[SentRequest] = []
        self._first_check_at = inf
        self._repeats: Repeats | None = None

    def run(
        self,
        drivers: Drivers,
        deadline: Deadline,
        progress: StepProgress | None,
        follow_up: Callable[[], Drivers],
    ) -> None:
        """Run the drivers, and those that follow them, until all are complete or the deadline has passed."""
        started = self._clock()
        self._set_limit(deadline.at)
        while (drivers := [*drivers, *follow_up()]) and not all(driver.is_complete() for driver in drivers):
            now = self._clock()
            if now >= self._limit:
                self._receive_arrived(now)
                self._set_limit(_extend(now, deadline, drivers))
            if now >= self._limit:
                self._expire(drivers, now, max(0.0, self._limit - started))
                return
            self._send_ready(drivers, now)
            # A request that cannot be sent fails at once; if that was the last one, no response will come.
            if not all(driver.is_complete() for driver in drivers):
                wakes = [wake for driver in drivers if (wake := driver.wakes_at()) is not None]
                wakes.append(self._repeats.wakes_at() if self._repeats is not None else self._first_check_at)
                for response in self._pool.poll(min([self._limit, *wakes])):
                    self._receive(response, self._clock())
            if progress is not None:
                total = sum(driver.key_count() for driver in drivers)
                progress(sum(driver.finished_count() for driver in drivers), total)

    def close(self) -> None:
        """Close the connections of repeats."""
        if self._repeats is not None:
            self._pool.extra.close_all()

    def _set_limit(self, limit: float) -> None:
        self._limit = limit
        self._pool.set_deadline(limit)

    def _send_ready(self, drivers: Drivers, now: float) -> None:
        for driver in drivers:
            for spec in driver.ready(now):
                self._send(driver, spec)
        if self._repeats is None and now >= self._first_check_at:
            self._repeats = Repeats(self._pool.extra, self._sent)
        for driver, spec in self._repeats.due(now, self._limit) if self._repeats is not None else ():
            self._send(driver, spec)

    def _expire(self, drivers: Drivers, now: float, waited_s: float) -> None:
        """Fail all remaining keys at the deadline."""
        for response in self._pool.withdraw():
            self._receive(response, now)
        for driver in drivers:
            driver.expire(waited_s, self._pool.reason_for_delay)
        self._pool.drop_silent()

    def _receive_arrived(self, now: float) -> None:
        """Handle what has arrived by the deadline, also if this process was stopped for a while."""
        while arrived := self._pool.poll(now):
            for response in arrived:
                self._receive(response, now)

    def _send(self, driver: ApiDriver[Any, Any], spec: RequestSpec[Any]) -> None:
        for broker, part in _spread(self._pool, spec):
            token = _Token(driver=driver, spec=part)
            request = Request(
                api=token.handler.api,
                bodies=_bodies(token),
                token=token,
                for_any_broker=spec.broker in (None, ANY_BROKER),
                idempotent=token.handler.idempotent,
                connection=spec.connection,
            )
            refused = self._pool.submit(broker, request)
            self._note(SentRequest(driver, part, broker, self._clock()))
            for response in refused:
                self._receive(response, self._clock())

    def _note(self, sent: SentRequest) -> None:
        if self._repeats is not None:
            self._repeats.add(sent)
        else:
            self._sent.append(sent)
            self._first_check_at = min(self._first_check_at, sent.at + (self._limit - sent.at) * SHORTEST_SHARE)

    def _receive(self, response: Response, now: float) -> None:
        token = response.request.token
        if not isinstance(token, _Token):
            # A late response to a request of the pool itself.
            return
        driver = token.driver
        if driver.is_complete():
            return
        keys = token.spec.keys if response.part is None else tuple(response.part)
        spec = token.spec._replace(keys=keys)
        if self._repeats is not None and spec.is_repeat and (response.error or response.reason):
            self._repeats.remove(spec)
        elif response.reason is not None:
            driver.on_unsent(spec, response.reason, now)
        elif response.error is not None:
            self._receive_error(token, spec, response, response.error, now)
        else:
            self._receive_result(token, spec, response, now)

    def _receive_error(
        self, token: _Token, spec: RequestSpec[Any], response: Response, error: AdminError, now: float
    ) -> None:
        may_repeat = token.handler.idempotent or not response.was_sent
        if may_repeat and isinstance(error, (InvalidRequestError, ResponseTooLargeError)) and len(spec.keys) > 1:
            # A name does not fit into a request, which halving finds; or the response of all keys is too large.
            middle = len(spec.keys) // 2
            for half in (spec.keys[:middle], spec.keys[middle:]):
                self._send(token.driver, RequestSpec(broker=spec.broker, keys=half))
        else:
            token.driver.on_failure(spec, spec.keys, error, now, was_sent=response.was_sent)

    def _receive_result(self, token: _Token, spec: RequestSpec[Any], response: Response, now: float) -> None:
        try:
            result = token.handler.handle_response(spec.keys, response.version, response.payload)
        except SchemaError as error:
            malformed = MalformedResponseError(f"the broker's {token.handler.api.name} response is malformed: {error}")
            token.driver.on_failure(spec, spec.keys, malformed, now, was_sent=True)
            return
        self._pool.update_brokers(result.brokers)
        token.driver.on_response(spec, result, now)


def _extend(now: float, deadline: Deadline, drivers: Drivers) -> float:
    """Return until when to go on at the end of a share: for half of the time that is left if nothing is completed."""
    if any(driver.completed for driver in drivers):
        return now
    later = now + (deadline.end - now) / 2
    return later if deadline.end - later > _SHORTEST_EXTENSION_S else deadline.end


def _bodies(token: _Token) -> Callable[[int], Sequence[tuple[Any, Mapping[str, Any] | AdminError]]]:
    return lambda version: token.handler.build_requests(token.spec.keys, version)


def _spread(pool: Brokers, spec: RequestSpec[Any]) -> list[tuple[int, RequestSpec[Any]]]:
    if spec.broker not in (None, ANY_BROKER):
        return [(spec.broker, spec)]
    if len(spec.keys) <= MAX_LOOKUP_KEYS:
        return [(ANY_BROKER, spec)]
    brokers = sorted(pool.responsive_brokers())
    size = max(MAX_LOOKUP_KEYS, -(-len(spec.keys) // len(brokers)))
    parts = [spec.keys[at : at + size] for at in range(0, len(spec.keys), size)]
    return [(brokers[at % len(brokers)], spec._replace(keys=part)) for at, part in enumerate(parts)]
