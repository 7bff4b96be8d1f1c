"""The loop between routes and brokers: what is ready goes out, what comes back is sorted in, until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kafka_groups.admin.routing import Ask, Question, Route
from kafka_groups.admin.wire.connection import Reply, Request
from kafka_groups.admin.wire.fleet import ANY_BROKER
from kafka_groups.codec import CodecError
from kafka_groups.errors import BadAnswerError, UnaskableError
from kafka_groups.model import Broker

# One look-up of 65,000 keys takes a broker as long as fifteen of 10,000 (see cli/DESIGN.md), so above
# this many the keys are spread over the brokers.
MOST_LOOK_UPS: Final = 10_000


class Brokers(Protocol):
    """What the loop needs of a fleet."""

    brokers: Mapping[int, Broker]

    def submit(self, broker: int, request: Request) -> list[Reply]:
        """Ask; returns at once what cannot be asked."""

    def poll(self, until: float) -> list[Reply]:
        """Replies, waiting for one until that time."""

    def be_patient(self, quiet_s: float) -> None:
        """How long a broker that owes an answer may be silent."""

    def learn(self, brokers: Sequence[Broker]) -> None:
        """Take on addresses that an answer named."""


@dataclass(frozen=True, kw_only=True)
class _Token:
    """What a reply is about: whose question, and which keys (all of the ask until it was split)."""

    route: Route[Any, Any]
    ask: Ask[Any]


def settle(
    fleet: Brokers,
    routes: Sequence[Route[Any, Any]],
    *,
    deadline: float,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Bring every key of every route to an answer or a failure, by the deadline at the latest.

    A broker that says nothing for half of that time is given up: its keys may have moved, and the
    others' answers are not to be kept waiting. `progress` is told how many keys are settled, of how many.
    """
    started = clock()
    total = sum(route.total() for route in routes)
    fleet.be_patient(max(0.0, deadline - started) / 2)
    while not all(route.is_done() for route in routes):
        now = clock()
        if now >= deadline:
            for route in routes:
                route.expire(max(0.0, deadline - started))
            return
        for route in routes:
            for ask in route.ready(now):
                _send(fleet, route, ask, clock)
        # What cannot be asked was refused at once; where that settled everything, no reply will come.
        if not all(route.is_done() for route in routes):
            wakes = [wake for route in routes if (wake := route.wakes_at()) is not None]
            for reply in fleet.poll(min([deadline, *wakes])):
                _take(fleet, reply, clock())
        progress(sum(route.settled() for route in routes), total)


def _send(fleet: Brokers, route: Route[Any, Any], ask: Ask[Any], clock: Callable[[], float]) -> None:
    for broker, part in _spread(fleet, ask):
        question = route.question if part.broker is not None else route.look_up
        assert question is not None
        request = Request(api=question.api, bodies=_bodies(question, part), token=_Token(route=route, ask=part))
        for refused in fleet.submit(broker, request):
            _take(fleet, refused, clock())


def _spread(fleet: Brokers, ask: Ask[Any]) -> list[tuple[int, Ask[Any]]]:
    if ask.broker not in (None, ANY_BROKER):
        return [(ask.broker, ask)]
    if len(ask.keys) <= MOST_LOOK_UPS:
        return [(ANY_BROKER, ask)]
    brokers = sorted(fleet.brokers)
    size = max(MOST_LOOK_UPS, -(-len(ask.keys) // len(brokers)))
    parts = [ask.keys[at : at + size] for at in range(0, len(ask.keys), size)]
    return [(brokers[at % len(brokers)], Ask(broker=ask.broker, keys=part)) for at, part in enumerate(parts)]


def _bodies(question: Question[Any, Any], ask: Ask[Any]) -> Callable[[int], list[tuple[Any, Mapping[str, Any]]]]:
    return lambda version: question.bodies(ask.keys, version)


def _take(fleet: Brokers, reply: Reply, now: float) -> None:
    token = reply.request.token
    if not isinstance(token, _Token):
        # The answer to a question that the fleet asked for itself, and came late.
        return
    route, ask = token.route, token.ask
    keys = ask.keys if reply.part is None else tuple(reply.part)
    part = Ask(broker=ask.broker, keys=keys)
    if isinstance(reply.error, UnaskableError) and len(keys) > 1:
        # One of the names does not fit into a request: halves find it, and the others are asked.
        for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
            _send(fleet, route, Ask(broker=ask.broker, keys=half), lambda: now)
        return
    if reply.error is not None:
        route.lost(part, keys, reply.error, now)
        return
    question = route.question if ask.broker is not None else route.look_up
    assert question is not None
    try:
        outcome = question.read(keys, reply.version, reply.payload)
    except CodecError as error:
        told = BadAnswerError(f"the broker's answer to {question.api.name} cannot be read: {error}")
        route.lost(part, keys, told, now)
        return
    fleet.learn(outcome.seen)
    route.sort_in(part, outcome, now)
