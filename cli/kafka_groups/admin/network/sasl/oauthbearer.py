"""OAUTHBEARER (RFC 7628, KIP-255): a bearer token, and extensions (KIP-342)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kafka_groups.settings.masks import hide_secrets

if TYPE_CHECKING:
    from kafka_groups.settings.tokens.token import Token

# The only message that may follow a refusal (RFC 7628, section 3.2.3).
_ACKNOWLEDGEMENT: Final = b"\x01"
_SEPARATOR: Final = "\x01"
# In characters; a claim may have the groups of a whole company.
_LONGEST_CLAIM: Final = 200
_LOG_HAS_REASON: Final = "the log of the broker has the reason"


class OAuthBearerClient:
    """The token is sent at once; a refusal is a challenge with JSON, and an error after the acknowledgement.

    `clock` returns seconds since 1970. `place` is where the token comes from, as errors name it.
    """

    def __init__(
        self,
        token: Token,
        extensions: Mapping[str, str],
        *,
        place: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._token = token
        self._extensions = extensions
        self._place = place
        self._clock = clock
        self._status = ""

    def first_message(self) -> bytes:
        """Return the token and the extensions, without an authorization identity."""
        pairs = {"auth": f"Bearer {self._token.text}", **self._extensions}
        text = "".join(f"{_SEPARATOR}{key}={value}" for key, value in pairs.items())
        return f"n,,{text}{_SEPARATOR}{_SEPARATOR}".encode()

    def evaluate_challenge(self, challenge: bytes) -> bytes | None:
        """Return None if the broker accepts the token, else the acknowledgement of its refusal."""
        if not challenge:
            return None
        self._status = _read_status(challenge)
        return _ACKNOWLEDGEMENT

    def describe_refusal(self, reason: str) -> str:
        """Return what is wrong with the token by the clock of this machine, else what the token says of itself."""
        # The text is the broker's, which got the token.
        shown = hide_secrets(self._status or reason, [self._token.text])
        return f"the broker refused the token of {self._place} ({shown}): {self._likely_cause()}"

    def _likely_cause(self) -> str:
        now = self._clock()
        token = self._token
        if token.expires_at is not None and token.expires_at <= now:
            return f"it expired at {_format_time(token.expires_at)}; get a new one"
        if token.not_before is not None and token.not_before > now:
            since = _format_time(token.not_before)
            return f"it is not valid before {since}; check the clocks of both machines, or wait"
        if token.hint:
            return f"{token.hint}; {_LOG_HAS_REASON}"
        claims = {"subject": token.subject, "audience": token.audience, "issuer": token.issuer}
        known = " and ".join(f"the {name} '{_cut(value)}'" for name, value in claims.items() if value)
        if not known:
            return f"it is opaque to this tool; {_LOG_HAS_REASON}"
        return f"it has {known}; check which ones the broker accepts: {_LOG_HAS_REASON}"


def _read_status(challenge: bytes) -> str:
    """Return the status of a refusal, such as `invalid_token`; empty if it is not JSON."""
    try:
        document = json.loads(challenge)
    except (ValueError, RecursionError):
        return ""
    status = document.get("status") if isinstance(document, dict) else None
    return status if isinstance(status, str) and status.isprintable() else ""


def _cut(claim: str) -> str:
    return claim if len(claim) <= _LONGEST_CLAIM else f"{claim[:_LONGEST_CLAIM]}…"


def _format_time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        # A claim may have any number.
        return f"{seconds:g} s after 1970"
