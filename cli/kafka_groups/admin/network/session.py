"""The session of one connection: how long the broker accepts requests after an authentication (KIP-368)."""

from __future__ import annotations

from math import inf
from typing import Final

# The share of a session after which the client authenticates again, as Kafka's own clients do (0.85 to 0.95).
_SHARE_OF_LONG_SESSION: Final = 0.85
# A broker reads the requests of a connection one after another, and closes it at one that it reads after the end of the
# session. What was in flight then has an unknown outcome. So the rest of a short session is for a single request.
_SHORT_S: Final = 60.0
_SHARE_OF_SHORT_SESSION: Final = 0.5
# The rest of every session is for requests that were sent before, and for the renewal.
_SHARE_WITH_REQUESTS: Final = 0.9
# Brokers take a second authentication within a second for a request of its own, and refuse it.
_SHORTEST_S: Final = 1.1
# How soon a renewal that failed is tried again, while the session lasts.
_RETRY_S: Final = 1.0


class Session:
    """When to authenticate again, and how many requests may be in flight until then.

    While it `is_renewing`, the requests of the renewal go before the others that wait. Times are seconds of the
    connection's clock.
    """

    def __init__(self) -> None:
        self.most_in_flight: float = inf
        self.is_renewing = False
        self._accepts_until = inf
        self._renew_at = inf

    def begin(self, lifetime_s: float | None, now: float) -> None:
        """Begin a session of a number of seconds; None has no end."""
        lifetime_s = inf if lifetime_s is None else lifetime_s
        is_short = lifetime_s < _SHORT_S
        share = _SHARE_OF_SHORT_SESSION if is_short else _SHARE_OF_LONG_SESSION
        self.most_in_flight = 1 if is_short else inf
        self.is_renewing = False
        self._accepts_until = now + lifetime_s * _SHARE_WITH_REQUESTS
        self._renew_at = now + max(lifetime_s * share, _SHORTEST_S)

    def accepts_requests(self, now: float) -> bool:
        """Return whether the broker reads a request that is sent now before the end of the session."""
        return now < self._accepts_until

    def needs_renewal(self, now: float) -> bool:
        """Return whether the client should authenticate again before its next request."""
        return now >= self._renew_at and not self.is_renewing

    def postpone_renewal(self, now: float) -> bool:
        """Try a failed renewal again later, and return whether the session lasts until then."""
        self._renew_at = now + _RETRY_S
        return self._renew_at < self._accepts_until
