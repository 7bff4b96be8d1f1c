"""The loop between drivers and brokers: what is ready goes out, what comes back is sorted in, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kafka_groups.admin.driver import ApiDriver, ApiHandler, RequestSpec
from kafka_groups.admin.network.connection import Request, Response
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.errors import InvalidRequestError, MalformedResponseError
from kafka_groups.model import Broker
from kafka_groups.protocol import SchemaError

# One look-up of 65,000 keys takes a broker as long as fifteen of 10,000 (see cli/DESIGN.md), so above
# this many the keys are spread over the brokers.
MAX_LOOKUP_KEYS: Final = 10_000


class Brokers(Protocol):
    """What the loop needs of a pool."""

    brokers: Mapping[int, Broker]

    def submit(self, broker: int, request: Request) -> list[Response]:
        """RequestSpec; returns at once what cannot be asked."""

    def poll(self, until: float) -> list[Response]:
        """Replies, waiting for one until that time."""

    def set_idle_timeout(self, quiet_s: float) -> None:
        """How long a broker that owes an answer may be silent."""

    def update_brokers(self, brokers: Sequence[Broker]) -> None:
        """Take on addresses that an answer named."""


@dataclass(frozen=True, kw_only=True)
class _Token:
    """What a response is about: whose handler, and which keys (all of the ask until it was split)."""

    driver: ApiDriver[Any, Any]
    ask: RequestSpec[Any]


def run_until_complete(
    pool: Brokers,
    drivers: Sequence[ApiDriver[Any, Any]],
    *,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Bring every key of every driver to an answer or a failure, by the deadline at the latest.

    A broker that says nothing for half of that time is given up: its keys may have moved, and the
    others' answers are not to be kept waiting. `progress` is told how many keys are settled, of how many.
    """
    started = clock()
    total = sum(driver.total() for driver in drivers)
    pool.set_idle_timeout(max(0.0, deadline - started) / 2)
    while not all(driver.is_done() for driver in drivers):
        now = clock()
        if now >= deadline:
            for driver in drivers:
                driver.expire(max(0.0, deadline - started))
            return
        for driver in drivers:
            for ask in driver.ready(now):
                _send(pool, driver, ask, clock)
        # What cannot be asked was refused at once; where that settled everything, no response will come.
        if not all(driver.is_done() for driver in drivers):
            wakes = [wake for driver in drivers if (wake := driver.wakes_at()) is not None]
            for response in pool.poll(min([deadline, *wakes])):
                _take(pool, response, clock())
        progress(sum(driver.settled() for driver in drivers), total)


def _send(pool: Brokers, driver: ApiDriver[Any, Any], ask: RequestSpec[Any], clock: Callable[[], float]) -> None:
    for broker, part in _spread(pool, ask):
        handler = driver.handler if part.broker is not None else driver.lookup
        assert handler is not None
        request = Request(api=handler.api, bodies=_bodies(handler, part), token=_Token(driver=driver, ask=part))
        for refused in pool.submit(broker, request):
            _take(pool, refused, clock())


def _spread(pool: Brokers, ask: RequestSpec[Any]) -> list[tuple[int, RequestSpec[Any]]]:
    if ask.broker not in (None, ANY_BROKER):
        return [(ask.broker, ask)]
    if len(ask.keys) <= MAX_LOOKUP_KEYS:
        return [(ANY_BROKER, ask)]
    brokers = sorted(pool.brokers)
    size = max(MAX_LOOKUP_KEYS, -(-len(ask.keys) // len(brokers)))
    parts = [ask.keys[at : at + size] for at in range(0, len(ask.keys), size)]
    return [(brokers[at % len(brokers)], RequestSpec(broker=ask.broker, keys=part)) for at, part in enumerate(parts)]


def _bodies(
    handler: ApiHandler[Any, Any], ask: RequestSpec[Any]
) -> Callable[[int], list[tuple[Any, Mapping[str, Any]]]]:
    return lambda version: handler.build_requests(ask.keys, version)


def _take(pool: Brokers, response: Response, now: float) -> None:
    token = response.request.token
    if not isinstance(token, _Token):
        # The answer to a handler that the pool asked for itself, and came late.
        return
    driver, ask = token.driver, token.ask
    keys = ask.keys if response.part is None else tuple(response.part)
    part = RequestSpec(broker=ask.broker, keys=keys)
    if isinstance(response.error, InvalidRequestError) and len(keys) > 1:
        # One of the names does not fit into a request: halves find it, and the others are asked.
        for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
            _send(pool, driver, RequestSpec(broker=ask.broker, keys=half), lambda: now)
        return
    if response.error is not None:
        driver.on_failure(part, keys, response.error, now)
        return
    handler = driver.handler if ask.broker is not None else driver.lookup
    assert handler is not None
    try:
        outcome = handler.handle_response(keys, response.version, response.payload)
    except SchemaError as error:
        told = MalformedResponseError(f"the broker's answer to {handler.api.name} cannot be read: {error}")
        driver.on_failure(part, keys, told, now)
        return
    pool.update_brokers(outcome.brokers)
    driver.on_response(part, outcome, now)
