"""A bearer token, what this tool reads of it, and what every source of tokens provides."""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit

# The grammar of RFC 6750, as Kafka's OAuthBearerClientInitialResponse enforces it.
_TOKEN: Final = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")
_JWT_PARTS: Final = 3
# The year 9999, in seconds since 1970.
_LATEST_S: Final = 253_402_300_799


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A bearer token (RFC 6750), and its claims, which this tool needs to renew it and to explain errors.

    `expires_at` and `not_before` are seconds since 1970, None if nobody said. `subject`, `audience` and `issuer` are
    claims of a JWT, empty for an opaque token. `hint` is what to check if the broker refuses it, if the source knows.
    """

    text: str = field(repr=False)
    expires_at: float | None = None
    not_before: float | None = None
    subject: str = ""
    audience: str = ""
    issuer: str = ""
    hint: str = ""


class TokenSource(Protocol):
    """Where tokens come from. It holds what the user set, secrets among it, so that its repr must not show these."""

    @property
    def place(self) -> str:
        """The source as errors name it: `the file /run/token`, `the endpoint https://login.example/token`."""
        ...

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again, because that costs nothing and it may have changed."""
        ...

    def fetch(self, limit: Limit) -> Token:
        """Return a token; this may block until the limit. TokenFailedError, without any secret, if there is none."""
        ...


def parse_token(text: str, *, place: str, expires_at: float | None = None) -> Token:
    """Return a token with the claims of a JWT; `expires_at`, in seconds since 1970, is for opaque tokens alone.

    Raises TokenFailedError, which names the `place` that it comes from, for text that is no bearer token.
    """
    if not text:
        msg = f"{place} has no token: it is empty"
        raise TokenFailedError(msg)
    if not _TOKEN.fullmatch(text):
        msg = f"{place} has no token: a token has the characters A-Z a-z 0-9 - . _ ~ + / alone, and = at its end"
        raise TokenFailedError(msg)
    claims = _read_claims(text)
    expiry = _seconds(claims.get("exp"))
    return Token(
        text=text,
        expires_at=expires_at if expiry is None else expiry,
        not_before=_seconds(claims.get("nbf")),
        subject=_text(claims.get("sub")),
        audience=_text(claims.get("aud")),
        issuer=_text(claims.get("iss")),
    )


def _read_claims(text: str) -> Mapping[str, Any]:
    """Return the claims of a JWT, none of an opaque token."""
    parts = text.split(".")
    if len(parts) != _JWT_PARTS:
        return {}
    try:
        padding = "=" * (-len(parts[1]) % 4)
        claims = json.loads(urlsafe_b64decode(parts[1] + padding))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) <= _LATEST_S else None


def _text(value: object) -> str:
    """Return a claim as text; `aud` may be a list (RFC 7519, section 4.1.3)."""
    listed = value if isinstance(value, list) else [value]
    return ", ".join(each for each in listed if isinstance(each, str))
