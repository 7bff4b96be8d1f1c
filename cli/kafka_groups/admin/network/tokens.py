"""Tokens for the connections of one pool, fetched in a thread, so that the event loop goes on meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_groups.errors import AuthenticationFailedError, TokenFailedError
from kafka_groups.settings.limits import Limit

if TYPE_CHECKING:
    from kafka_groups.settings.tokens.token import Token, TokenSource

# The share of a command's timeout that a token may take, so that its own error is reported, and not the deadline.
_SHARE_OF_TIMEOUT: Final = 0.9
# A token is renewed when this share of its lifetime is over, as by Kafka's own login (ExpiringCredentialRefreshConfig).
_SHARE_OF_LIFETIME: Final = 0.8
# How long a token is used if nobody knows when it expires.
_UNKNOWN_LIFETIME_S: Final = 60.0
# How long the end of a fetch waits for its thread, which kills the processes that it started.
_LONGEST_JOIN_S: Final = 1.0


class TokenFetch:
    """One fetch of a token. Its thread calls `wakeup` at its end; it is a daemon, as a name lookup may take minutes."""

    def __init__(self, source: TokenSource, limit: Limit, wakeup: Callable[[], None]) -> None:
        self._source = source
        self._limit = limit
        self._wakeup = wakeup
        self._started = limit.clock()
        self._token: Token | None = None
        self._error: TokenFailedError | None = None
        self._thread = threading.Thread(target=self._run, name="fetch token", daemon=True)
        self._thread.start()

    @property
    def until(self) -> float:
        """The point in time of the limit's clock at which the fetch has failed."""
        return self._limit.until

    def has_failed(self) -> bool:
        """Return whether there will be no token."""
        return self._error is not None or (self._token is None and self._limit.is_over())

    def result(self) -> Token | None:
        """Return the token, None while it is being fetched. Raises TokenFailedError if there is none."""
        if self._error is not None:
            # Each caller gets an error of its own: they are raised in several connections.
            raise TokenFailedError(str(self._error))
        if self._token is None and self._limit.is_over():
            seconds = round(self._limit.until - self._started, 1)
            msg = f"{self._source.place} took too long: it returned no token within {seconds:g} s"
            raise TokenFailedError(msg)
        return self._token

    def describe(self) -> str:
        """Return what the fetch waits for, as the end of a sentence."""
        return f"waits for a token from {self._source.place}"

    def cancel(self) -> None:
        """End the fetch, and the processes that it started."""
        self._limit.cancel()
        if self._thread is not threading.current_thread():
            self._thread.join(_LONGEST_JOIN_S)

    def _run(self) -> None:
        try:
            self._token = self._source.fetch(self._limit)
        except AuthenticationFailedError as error:
            self._error = TokenFailedError(str(error))
        except Exception as error:  # noqa: BLE001 # In this thread nobody else would report it.
            self._error = TokenFailedError(f"{self._source.place} failed: {type(error).__name__}")
        self._wakeup()


class Tokens:
    """The tokens of one source. A connection asks for a fetch, which several connections share while it is usable.

    `timeout_s` is the timeout of a command. `wall_clock` returns seconds since 1970, `clock` those of deadlines.
    """

    def __init__(
        self,
        source: TokenSource,
        *,
        timeout_s: float,
        wakeup: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._timeout_s = timeout_s
        self._wakeup = wakeup
        self._clock = clock
        self._wall_clock = wall_clock
        self._fetch: TokenFetch | None = None
        self._fetched_at = -inf

    def request(self) -> TokenFetch:
        """Return a fetch whose token is fresh, or will be; it may have failed a moment ago."""
        if self._fetch is None or self._is_outdated(self._fetch):
            limit = Limit.after(self._timeout_s * _SHARE_OF_TIMEOUT, self._clock)
            self._fetch = TokenFetch(self._source, limit, self._wakeup)
            self._fetched_at = self._wall_clock()
        return self._fetch

    def discard(self) -> None:
        """Forget the token: a broker has refused it."""
        self._fetch = None

    def close(self) -> None:
        """End the fetch that is running."""
        if self._fetch is not None:
            self._fetch.cancel()

    def _is_outdated(self, fetch: TokenFetch) -> bool:
        if fetch.has_failed():
            return True
        token = fetch.result()
        if token is None:
            return False
        if self._source.is_read_each_time:
            return True
        age_s = self._wall_clock() - self._fetched_at
        if token.expires_at is None:
            return age_s >= _UNKNOWN_LIFETIME_S
        return age_s >= _SHARE_OF_LIFETIME * (token.expires_at - self._fetched_at)
