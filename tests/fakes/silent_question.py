"""A question that is never built nor read: tests that drive a Route by hand are its brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.routing import Ask, Route, Sorted
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure


class Silent:
    """A question that is never built nor read: the tests are its brokers."""

    api = None

    def bodies(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        raise NotImplementedError

    def read(self, keys: Sequence[str], version: int, payload: bytes) -> Sorted[str, Any]:
        raise NotImplementedError

    def blame(self, key: str, error: AdminError, broker: int | None) -> Failure:
        return Failure.of(error, group=key, broker=broker)


def route_of(*keys: str, known: Mapping[str, int] | None = None, jitter: float = 0.5) -> Route[str, str]:
    return Route(keys, question=Silent(), look_up=Silent(), known=known or {}, jitter=lambda: jitter)


def only(asks: list[Ask[str]]) -> Ask[str]:
    assert len(asks) == 1
    return asks[0]
