"""The loop between drivers and brokers: it sends what is ready and records what comes back, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kafka_groups.admin.api import Deadline
from kafka_groups.admin.api_handler import ApiHandler
from kafka_groups.admin.driver import ApiDriver, RequestSpec
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.errors import AdminError, InvalidRequestError, MalformedResponseError, ResponseTooLargeError
from kafka_groups.model import Broker
from kafka_groups.protocol import SchemaError

# A broker takes as long for one lookup of 65,000 keys as for fifteen of 10,000 (see cli/DESIGN.md), so more
# keys than this are spread over the brokers.
MAX_LOOKUP_KEYS: Final = 10_000
_SHORTEST_EXTENSION_S: Final = 0.1

Drivers: TypeAlias = Sequence[ApiDriver[Any, Any]]


class Brokers(Protocol):
    """What the loop needs of a connection pool."""

    brokers: Mapping[int, Broker]

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
    progress: Callable[[int, int], None] | None = None,
    follow_up: Callable[[], Drivers] = tuple,
) -> None:
    """Run all drivers in one loop until every key is completed or failed, at the latest by the deadline.

    `follow_up` returns drivers that the outcome of others makes necessary; they join the loop.

    A call with a share of a deadline goes on as long as it has no result that later calls need time for. `progress`
    receives the number of keys that are done, and the number of keys.

    Requests that are not idempotent are not sent after the deadline, nor by a later call if this one is interrupted.
    """
    try:
        _run(pool, drivers, deadline, clock, progress, follow_up)
    except BaseException:
        pool.withdraw()
        raise


def _run(
    pool: Brokers,
    drivers: Drivers,
    deadline: Deadline,
    clock: Callable[[], float],
    progress: Callable[[int, int], None] | None,
    follow_up: Callable[[], Drivers],
) -> None:
    started, limit = clock(), deadline.at
    pool.set_deadline(limit)
    while (drivers := [*drivers, *follow_up()]) and not all(driver.is_complete() for driver in drivers):
        now = clock()
        if now >= limit:
            _receive_arrived(pool, now)
            limit = _extend(now, deadline, drivers)
            pool.set_deadline(limit)
        if now >= limit:
            _expire(pool, drivers, now, max(0.0, limit - started))
            return
        for driver in drivers:
            for spec in driver.ready(now):
                _send(pool, driver, spec, clock)
        # A request that cannot be sent fails at once; if that was the last one, no response will come.
        if not all(driver.is_complete() for driver in drivers):
            wakes = [wake for driver in drivers if (wake := driver.wakes_at()) is not None]
            for response in pool.poll(min([limit, *wakes])):
                _receive(pool, response, clock())
        if progress is not None:
            total = sum(driver.key_count() for driver in drivers)
            progress(sum(driver.finished_count() for driver in drivers), total)


def _expire(pool: Brokers, drivers: Drivers, now: float, waited_s: float) -> None:
    """Fail all remaining keys at the deadline."""
    for response in pool.withdraw():
        _receive(pool, response, now)
    for driver in drivers:
        driver.expire(waited_s, pool.reason_for_delay)
    pool.drop_silent()


def _receive_arrived(pool: Brokers, now: float) -> None:
    """Handle what has arrived by the deadline, also if this process was stopped for a while."""
    while arrived := pool.poll(now):
        for response in arrived:
            _receive(pool, response, now)


def _extend(now: float, deadline: Deadline, drivers: Drivers) -> float:
    """Return until when to go on at the end of a share: for half of the time that is left if nothing is completed."""
    if any(driver.completed for driver in drivers):
        return now
    later = now + (deadline.end - now) / 2
    return later if deadline.end - later > _SHORTEST_EXTENSION_S else deadline.end


def _send(pool: Brokers, driver: ApiDriver[Any, Any], spec: RequestSpec[Any], clock: Callable[[], float]) -> None:
    for broker, part in _spread(pool, spec):
        token = _Token(driver=driver, spec=part)
        any_broker = spec.broker in (None, ANY_BROKER)
        request = Request(
            api=token.handler.api,
            bodies=_bodies(token),
            token=token,
            for_any_broker=any_broker,
            idempotent=token.handler.idempotent,
            connection=spec.connection,
        )
        for refused in pool.submit(broker, request):
            _receive(pool, refused, clock())


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
    return [(brokers[at % len(brokers)], RequestSpec(broker=spec.broker, keys=part)) for at, part in enumerate(parts)]


def _receive(pool: Brokers, response: Response, now: float) -> None:
    token = response.request.token
    if not isinstance(token, _Token):
        # A late response to a request of the pool itself.
        return
    driver = token.driver
    if driver.is_complete():
        return
    keys = token.spec.keys if response.part is None else tuple(response.part)
    spec = RequestSpec(broker=token.spec.broker, keys=keys)
    if response.reason is not None:
        driver.on_unsent(spec, response.reason, now)
        return
    may_repeat = token.handler.idempotent or not response.was_sent
    if may_repeat and isinstance(response.error, (InvalidRequestError, ResponseTooLargeError)) and len(keys) > 1:
        # A name does not fit into a request, which halving finds; or the response of all keys is too large.
        for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
            _send(pool, driver, RequestSpec(broker=spec.broker, keys=half), lambda: now)
        return
    if response.error is not None:
        driver.on_failure(spec, keys, response.error, now, was_sent=response.was_sent)
        return
    try:
        result = token.handler.handle_response(keys, response.version, response.payload)
    except SchemaError as error:
        malformed = MalformedResponseError(f"the broker's {token.handler.api.name} response is malformed: {error}")
        driver.on_failure(spec, keys, malformed, now, was_sent=True)
        return
    pool.update_brokers(result.brokers)
    driver.on_response(spec, result, now)
