"""SCRAM (RFC 5802) by the library scramp: both sides prove that they know the password, and neither sends it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import scramp

from kafka_groups.admin.network.sasl.plain import CHECK_USER, refused_user
from kafka_groups.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from kafka_groups.settings import PasswordCredentials

# Kafka's brokers use 4,096 to 16,384. The broker chooses the count, and each iteration costs this process time.
_MAX_ITERATIONS: Final = 1_000_000
_ITERATIONS: Final = re.compile(r"[^,]*,[^,]*,i=(\d{1,7})(?:,.*)?", re.DOTALL)

# The next step for errors of RFC 5802 that are about the user.
_SERVER_ERRORS: Final = dict.fromkeys(("invalid-proof", "unknown-user", "invalid-username-encoding"), CHECK_USER)


class ScramClient:
    """SCRAM has two messages: a nonce, and the proof for the salt and the iteration count of the broker."""

    def __init__(self, credentials: PasswordCredentials) -> None:
        self._credentials = credentials
        name = credentials.username
        password = credentials.password
        is_plain = (name + password).isascii() and (name + password).isprintable()
        user, secret = (name, password) if is_plain else ("user", "password")
        self._client = scramp.ScramClient([credentials.mechanism], user, secret)
        if not is_plain:
            # scramp changes or refuses such characters by SASLprep (RFC 4013); Kafka uses the bytes as they are.
            self._client.username = _Verbatim(name)
            self._client.password = _Verbatim(password)
        self._extensions = ",tokenauth=true" if credentials.is_delegation_token else ""
        self._is_last = False

    def first_message(self) -> bytes:
        """Return the user name and a nonce."""
        message: str = self._client.get_client_first() + self._extensions
        # The proof covers the extensions, too, and scramp knows none.
        self._client.client_first_bare += self._extensions
        return message.encode()

    def evaluate_challenge(self, challenge: bytes) -> bytes | None:
        """Return the proof, then None. AuthenticationFailedError if the broker does not prove that it knows it, too."""
        try:
            text = challenge.decode()
            _raise_server_error(text)
            if self._is_last:
                self._client.set_server_final(text)
                return None
            self._is_last = True
            _check_iterations(text)
            self._client.set_server_first(text)
            message: str = self._client.get_client_final()
            return message.encode()
        except (scramp.ScramException, ValueError) as error:
            msg = f"the broker did not prove that it knows the password: {error}"
            raise AuthenticationFailedError(msg) from error

    def describe_refusal(self, reason: str) -> str:
        """Return the reason of the broker, and which properties to check."""
        return refused_user(self._credentials, reason)


class _Verbatim:
    """A user name or a password for scramp, without SASLprep."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __bytes__(self) -> bytes:
        return self._text.encode()

    def escape(self) -> str:
        """Return the text as a SCRAM message has it."""
        return self._text.replace("=", "=3D").replace(",", "=2C")


def _raise_server_error(text: str) -> None:
    """Raise the error that a broker returned in place of a message (RFC 5802, section 7), with the next step."""
    if not text.startswith("e="):
        return
    error = text.removeprefix("e=").partition(",")[0]
    step = _SERVER_ERRORS.get(error, "the log of the broker has the reason")
    msg = f"the broker refused the SCRAM authentication: {error or 'it returned no reason'}; {step}"
    raise AuthenticationFailedError(msg)


def _check_iterations(text: str) -> None:
    found = _ITERATIONS.fullmatch(text)
    if found is None or int(found[1]) > _MAX_ITERATIONS:
        msg = f"the broker returned no valid SCRAM iteration count, or one above {_MAX_ITERATIONS:,}"
        raise AuthenticationFailedError(msg)
