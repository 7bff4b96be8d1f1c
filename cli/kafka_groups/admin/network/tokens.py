"""Tokens for the connections of one pool, which share a token while it is usable."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.authentication_step import SHARE_OF_TIMEOUT, AuthenticationStep, StepWords
from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token

if TYPE_CHECKING:
    from kafka_groups.settings.tokens.token import TokenSource

# A token is renewed when this share of its lifetime is over, as by Kafka's own login (ExpiringCredentialRefreshConfig).
_SHARE_OF_LIFETIME: Final = 0.8
# A session ends with its token, so that one of a token that lives shortly should begin with a new one.
_SHORT_LIFETIME_S: Final = 60.0
_SHARE_OF_SHORT_LIFETIME: Final = 0.1
# How long a token is used if nobody knows when it expires.
_UNKNOWN_LIFETIME_S: Final = 60.0
# How long the end of a fetch waits for its thread, which kills the processes that it started.
_LONGEST_JOIN_S: Final = 1.0


class TokenFetch(AuthenticationStep[Token]):
    """One fetch of a token; its errors are TokenFailedErrors."""

    def __init__(self, source: TokenSource, limit: Limit, wakeup: Callable[[], None]) -> None:
        words = StepWords(source.place, "token")
        super().__init__(source.fetch, limit, wakeup, words=words, failure=TokenFailedError)


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

    def request(self, host: str = "") -> TokenFetch:
        """Return a fetch whose token is fresh, or will be; it may have failed a moment ago. Any host gets the token."""
        del host
        if self._fetch is None or self._is_outdated(self._fetch):
            limit = Limit.after(self._timeout_s * SHARE_OF_TIMEOUT, self._clock)
            self._fetch = TokenFetch(self._source, limit, self._wakeup)
            self._fetched_at = self._wall_clock()
        return self._fetch

    def discard(self) -> None:
        """Forget the token: a broker has refused it. One that is being fetched is another one."""
        if self._fetch is not None and (self._fetch.has_failed() or self._fetch.result() is not None):
            self._fetch = None

    def close(self) -> None:
        """End the fetch that is running."""
        if self._fetch is not None:
            self._fetch.cancel(_LONGEST_JOIN_S)

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
        lifetime_s = token.expires_at - self._fetched_at
        share = _SHARE_OF_LIFETIME if lifetime_s >= _SHORT_LIFETIME_S else _SHARE_OF_SHORT_LIFETIME
        return age_s >= share * lifetime_s
