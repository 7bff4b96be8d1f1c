"""A handler that is never built nor read: tests that drive a ApiDriver by hand are its brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.driver import ApiDriver, ApiResult, RequestSpec
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure


class SilentHandler:
    """A handler that is never built nor read: the tests are its brokers."""

    api = None

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        raise NotImplementedError

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, Any]:
        raise NotImplementedError

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        return Failure.of(error, group=key, broker=broker)


def driver_of(*keys: str, known: Mapping[str, int] | None = None, jitter: float = 0.5) -> ApiDriver[str, str]:
    return ApiDriver(keys, handler=SilentHandler(), lookup=SilentHandler(), known=known or {}, jitter=lambda: jitter)


def only(asks: list[RequestSpec[str]]) -> RequestSpec[str]:
    assert len(asks) == 1
    return asks[0]
