"""Requests to a broker, and the responses that come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kafka_groups.errors import AdminError
    from kafka_groups.protocol.messages import Api


class Request(NamedTuple):
    """A request whose `bodies` turns the agreed version into one body a message, each with its own token.

    `bodies` is called once, when the broker's versions are known, and may raise UnsupportedVersionError.
    `for_any_broker`: another broker can serve it, too.
    """

    api: Api
    bodies: Callable[[int], list[tuple[Any, Mapping[str, Any]]]]
    token: Any
    for_any_broker: bool = False


class Response(NamedTuple):
    """A response, or the error in its place; `part` is the token of the body, None if no body was built."""

    request: Request
    part: Any
    version: int
    payload: bytes
    error: AdminError | None = None


class InFlight(NamedTuple):
    """A request that was sent, or waits for its turn, in an agreed version."""

    request: Request
    part: Any
    version: int
    # The response is ignored, because another broker serves the request.
    is_released: bool = False

    def is_movable(self) -> bool:
        """Return whether another broker can serve the request."""
        return self.request.for_any_broker and not self.is_released

    def to_lost(self, error: AdminError) -> Response:
        """Return the error as the response."""
        return Response(request=self.request, part=self.part, version=self.version, payload=b"", error=error)
