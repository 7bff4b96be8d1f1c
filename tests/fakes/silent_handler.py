"""A handler without a network, for tests that call an ApiDriver directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.admin.api_handler import ApiResult, RequestSpec
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.errors import AdminError
from kafka_groups.model import Failure


class SilentHandler:
    """A handler that builds no requests and handles no responses, because tests pass the results to the driver."""

    api = None

    def __init__(self, *, idempotent: bool = True) -> None:
        self.idempotent = idempotent

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        raise NotImplementedError

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, Any]:
        raise NotImplementedError

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        return Failure.of(error, group=key, broker=broker)


def driver_of(
    *keys: str,
    known: Mapping[str, int] | None = None,
    jitter: float = 0.5,
    gather: bool = False,
    idempotent: bool = True,
) -> ApiDriver[str, str]:
    handler = SilentHandler(idempotent=idempotent)
    return ApiDriver(
        keys, handler=handler, lookup=SilentHandler(), known=known or {}, gather=gather, jitter=lambda: jitter
    )


def only(specs: list[RequestSpec[str]]) -> RequestSpec[str]:
    assert len(specs) == 1
    return specs[0]


def ready(driver: ApiDriver[str, str], now: float) -> list[tuple[int | None, tuple[str, ...]]]:
    """The requests that the driver wants to send now, as broker and keys."""
    return sorted(((spec.broker, spec.keys) for spec in driver.ready(now)), key=str)


def failures(driver: ApiDriver[str, str]) -> dict[str, tuple[int | None, str]]:
    """The broker and the name of each failure."""
    return {key: (failure.broker, failure.name) for key, failure in driver.failed.items()}
