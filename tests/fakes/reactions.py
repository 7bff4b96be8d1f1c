"""Reactions of a scripted broker: what becomes of the response to a request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_groups.protocol import Struct
from tests.fakes.simulated_clock import SimulatedClock


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """A request as a broker received it; `at` is in seconds of the broker's clock."""

    broker: int
    api: str
    version: int
    client_id: str
    body: Struct
    at: float
    number: int
    clock: SimulatedClock


# A reaction gets the request and its response, and returns another response, the raw bytes behind the
# correlation id, None to close the connection, or SILENCE.
SILENCE = object()
Respond: TypeAlias = Callable[[ReceivedRequest], Struct]
Reaction: TypeAlias = Callable[[ReceivedRequest, Struct], Any]


def plain(_request: ReceivedRequest, response: Struct) -> Struct:
    """Return the response unchanged; a placeholder between other reactions."""
    return response


def drops(_request: ReceivedRequest, _response: Struct) -> None:
    """Close the connection without a response."""


def silent(_request: ReceivedRequest, _response: Struct) -> object:
    """Send no response."""
    return SILENCE


def garbage(_request: ReceivedRequest, _response: Struct) -> bytes:
    """Return a body that matches no schema; its correlation id is right."""
    return b"\xff" * 12


def throttled(milliseconds: int) -> Reaction:
    """Return a reaction that responds at once with a throttle time."""
    return lambda _request, response: {**response, "throttle_time_ms": milliseconds}


def delayed(seconds: float) -> Reaction:
    """Return a reaction that responds late."""

    def react(request: ReceivedRequest, response: Struct) -> Struct:
        request.clock.sleep(seconds)
        return response

    return react


def changed(**values: Any) -> Reaction:
    """Return a reaction that replaces some top-level fields of the response."""
    return lambda _request, response: {**response, **values}
