"""PLAIN (RFC 4616): user name and password in clear text, which TLS has to protect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_groups.settings.masks import hide_secrets

if TYPE_CHECKING:
    from kafka_groups.settings import PasswordCredentials

CHECK_USER: Final = "check sasl.username and sasl.password"


class PlainClient:
    """PLAIN has one message and no challenge."""

    def __init__(self, credentials: PasswordCredentials) -> None:
        self._credentials = credentials

    def first_message(self) -> bytes:
        """Return the user name and the password."""
        return f"\0{self._credentials.username}\0{self._credentials.password}".encode()

    def evaluate_challenge(self, challenge: bytes) -> bytes | None:
        """Return None: there is no second message."""
        del challenge
        return None

    def describe_refusal(self, reason: str) -> str:
        """Return the reason of the broker, and which properties to check."""
        return refused_user(self._credentials, reason)


def refused_user(credentials: PasswordCredentials, reason: str) -> str:
    """Return that the broker refused a user or a password; brokers do not say which one."""
    # The text is the broker's, which got the password.
    reason = hide_secrets(reason, [credentials.password])
    who = f"user '{credentials.username}' with {credentials.mechanism}"
    return f"authentication failed for {who}: {reason}; {CHECK_USER}"
