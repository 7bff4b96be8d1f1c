"""An unsigned token for tests: brokers accept it if their listener validates no signatures (RFC 7515, appendix A.5)."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token, parse_token

_LIFETIME_S: Final = 3600.0
_HEADER: Final = {"alg": "none"}


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """A token that this tool makes itself, without a signature: `principal` is the claim `sub`, `scope` its scope.

    `clock` returns seconds since 1970.
    """

    principal: str
    scope: tuple[str, ...] = ()
    lifetime_s: float = _LIFETIME_S
    clock: Callable[[], float] = time.time

    @property
    def place(self) -> str:
        """The source as errors name it."""
        return f"the unsecured token of '{self.principal}'"

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again."""
        return False

    def fetch(self, limit: Limit) -> Token:
        """Return a token that is valid from now on."""
        del limit
        now = round(self.clock(), 3)
        claims: dict[str, Any] = {"sub": self.principal, "iat": now, "exp": now + self.lifetime_s}
        if self.scope:
            claims["scope"] = list(self.scope)
        return parse_token(f"{_encode(_HEADER)}.{_encode(claims)}.", place=self.place)


def _encode(part: Mapping[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).decode().rstrip("=")
