"""Errors of connections that could not be set up: what the peer did, in which step, and the likely cause."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import AdminError, BrokerTimeoutError, ConnectionFailedError, NameNotResolvedError
from kafka_groups.protocol.messages import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Channel
    from kafka_groups.admin.network.request import InFlight

_SASL: Final = (SASL_HANDSHAKE, SASL_AUTHENTICATE)


def unresolved(host: str, timeout_s: float) -> NameNotResolvedError:
    """Return the error of a host name whose lookup takes too long."""
    return NameNotResolvedError(f"the host name '{host}' was not resolved {_within(timeout_s)}")


def not_set_up(channel: Channel | None, in_flight: Collection[InFlight], timeout_s: float) -> BrokerTimeoutError:
    """Return the error of a connection that takes too long; `in_flight` are its requests."""
    if channel is None or not channel.is_connected:
        return BrokerTimeoutError(f"did not accept the connection {_within(timeout_s)}")
    step = " to SASL" if any(each.request.api in _SASL for each in in_flight) else ""
    return BrokerTimeoutError(f"accepted the connection but did not respond{step} {_within(timeout_s)}")


def closed_at_once(channel: Channel | None, error: AdminError) -> bool:
    """Return whether the peer closed an open connection without a response."""
    return channel is not None and channel.is_open and not channel.received and type(error) is ConnectionFailedError


def with_cause(error: AdminError, channel: Channel | None, in_flight: Collection[InFlight]) -> AdminError:
    """Return the error of a connection without credentials that is lost at its first Metadata request, with the cause.

    A listener with SASL responds to ApiVersions, and closes the connection at that request.
    """
    if (
        channel is None
        or [each.request.api for each in in_flight] != [METADATA]
        or not isinstance(error, ConnectionFailedError)
    ):
        return error
    setting = f"security.protocol={channel.sasl_protocol}"
    return type(error)(f"{error}; the listener may require SASL (-X {setting}, and sasl.mechanism)")


def _within(timeout_s: float) -> str:
    return f"within {max(0.1, round(timeout_s, 1)):g} s"
