"""What every SASL mechanism provides to the handshake of a connection."""

from __future__ import annotations

from typing import Protocol


class SaslClient(Protocol):
    """The client's side of one authentication; its messages may hold a password or a token."""

    def first_message(self) -> bytes:
        """Return the first message to the broker."""
        ...

    def evaluate_challenge(self, challenge: bytes) -> bytes | None:
        """Return the next message, None after the last one. AuthenticationFailedError if the challenge is not valid."""
        ...

    def describe_refusal(self, reason: str) -> str:
        """Return that the broker refused the credentials, why (`reason` is its text), and what to check."""
        ...
