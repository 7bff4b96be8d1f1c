"""Requests to a broker, and the responses that come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_groups.errors import AdminError, BrokerTimeoutError, ConnectionFailedError, ResponseTooLargeError

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Channel
    from kafka_groups.protocol.messages import Api


class Request(NamedTuple):
    """A request whose `bodies` turns the agreed version into one body a message, each with its own token.

    `bodies` is called once, when the broker's versions are known, and may raise UnsupportedVersionError. An error in
    place of a body is the response.
    `for_any_broker`: another broker can serve it, too. One that is not `idempotent` is not sent after its call.
    `connection` is the number of the connection to the broker: those after 0 are for many requests of one call.
    """

    api: Api
    bodies: Callable[[int], Sequence[tuple[Any, Mapping[str, Any] | AdminError]]]
    token: Any
    for_any_broker: bool = False
    idempotent: bool = True
    connection: int = 0


class Response(NamedTuple):
    """A response, or the error in its place; `part` is the token of the body, None if no body was built.

    With an error, `was_sent` is whether the broker may have received the request, or a part of it. A request that was
    given up before it was sent has the `reason` of the delay instead.
    """

    request: Request
    part: Any
    version: int
    payload: bytes
    error: AdminError | None = None
    was_sent: bool = False
    reason: str | None = None


class InFlight(NamedTuple):
    """A request that was sent, or waits for its turn, in an agreed version.

    `begin` and `end` are its place among the bytes of the connection, None until it is passed to the channel.
    """

    request: Request
    part: Any
    version: int
    # The response is ignored, because another broker serves the request.
    is_released: bool = False
    begin: int | None = None
    end: int | None = None

    def is_movable(self) -> bool:
        """Return whether another broker can serve the request."""
        return self.request.for_any_broker and not self.is_released

    def is_cut_off(self, written: int) -> bool:
        """Return whether a request that must not be sent late is not completely written."""
        return not self.request.idempotent and self.end is not None and self.end > written

    def to_lost(self, error: AdminError, written: int = 0) -> Response:
        """Return the error as the response; `written` is the number of bytes that the connection has written."""
        was_sent = self.begin is not None and self.begin < written
        return Response(self.request, self.part, self.version, payload=b"", error=error, was_sent=was_sent)


def lost_responses(outstanding: Sequence[InFlight], error: AdminError, channel: Channel | None) -> list[Response]:
    """Return the error of a closed connection as the response to each request, but the released ones."""
    written = channel.written if channel is not None else 0
    failed = [each.to_lost(error, written) for each in outstanding]
    if isinstance(error, ResponseTooLargeError):
        # A broker responds in order, so the response belongs to the oldest request. The others are only lost.
        lost = ConnectionFailedError("closed after a response that is too large")
        failed[1:] = [response._replace(error=lost) for response in failed[1:]]
    return [response for response, each in zip(failed, outstanding, strict=True) if not each.is_released]


def idle_error(idle_timeout_s: float) -> BrokerTimeoutError:
    """Return the error of a request without a response for so many seconds."""
    return BrokerTimeoutError(f"accepted the request but sent nothing for {round(idle_timeout_s, 1):g} s")
