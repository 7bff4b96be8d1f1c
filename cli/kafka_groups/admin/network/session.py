"""The session of one connection: how long the broker accepts requests after an authentication (KIP-368)."""

from __future__ import annotations

from math import inf
from typing import Final

# The share of a session after which the client authenticates again, as Kafka's own clients do (0.85 to 0.95).
_SHARE_BEFORE_RENEWAL: Final = 0.85
# A broker reads the requests of a connection one after another, and refuses those that it reads after the end.
# So the requests in flight may need this share of the remaining time.
_SHARE_OF_REST: Final = 0.5
# What one request takes until the first one was measured, in seconds.
_FIRST_SERVICE_S: Final = 0.05
_WEIGHT_OF_SAMPLE: Final = 0.3
# Brokers take a second authentication within a second for a request of its own, and refuse it.
_SHORTEST_S: Final = 1.1
# A session that a burst of requests may outlast, if the broker is busy.
_SHORT_S: Final = 60.0
# How soon a renewal that failed is tried again, while the session lasts.
_RETRY_S: Final = 1.0


class Session:
    """The end of a session, and how many requests fit into the rest of it. Without an end, everything fits.

    Times are seconds of the connection's clock.
    """

    def __init__(self) -> None:
        self._began_at = 0.0
        self._ends_at = inf
        self._renew_at = inf
        self._service_s = _FIRST_SERVICE_S
        # Since when the broker has had a request to handle.
        self._busy_since: float | None = None

    def begin(self, lifetime_s: float | None, now: float) -> None:
        """Begin a session of a number of seconds; None has no end."""
        self._began_at = now
        self._ends_at = inf if lifetime_s is None else now + lifetime_s
        self._renew_at = inf if lifetime_s is None else now + max(lifetime_s * _SHARE_BEFORE_RENEWAL, _SHORTEST_S)
        self._busy_since = None

    def is_short(self) -> bool:
        """Return whether a burst of requests might not fit, so that their number has to grow with the responses."""
        return self._ends_at - self._began_at < _SHORT_S

    def note_sent(self, now: float) -> None:
        """Measure from now on how long the broker takes for a request, if it has no other one."""
        self._busy_since = now if self._busy_since is None else self._busy_since

    def note_response(self, now: float, *, is_more_in_flight: bool) -> None:
        """Measure how long the broker took for a request; requests of other connections are part of it."""
        if self._busy_since is not None:
            sample_s = now - self._busy_since
            mean_s = (1 - _WEIGHT_OF_SAMPLE) * self._service_s + _WEIGHT_OF_SAMPLE * sample_s
            self._service_s = max(sample_s, mean_s)
        self._busy_since = now if is_more_in_flight else None

    def capacity(self, now: float) -> float:
        """Return how many requests may be in flight, so that the broker reads them before the end."""
        if self._ends_at == inf:
            return inf
        # A broker reads a single request at once.
        return max(1.0, (self._ends_at - now) * _SHARE_OF_REST / self._service_s)

    def needs_renewal(self, now: float) -> bool:
        """Return whether the client should authenticate again before its next request."""
        return now >= self._renew_at

    def postpone_renewal(self, now: float) -> bool:
        """Try a failed renewal again later, and return whether the session lasts until then."""
        self._renew_at = now + _RETRY_S
        return self._renew_at < self._ends_at
