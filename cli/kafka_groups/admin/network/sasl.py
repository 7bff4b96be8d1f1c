"""What SASL's mechanisms say, turn by turn: PLAIN (RFC 4616) and SCRAM (RFC 5802, by the library scramp)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from kafka_groups.errors import AuthenticationFailedError

if TYPE_CHECKING:
    from kafka_groups.settings import SaslCredentials

# Kafka's brokers have 4,096 to 16,384. Each round costs us time, and whoever answers there names their number.
_MOST_ROUNDS: Final = 1_000_000
_ROUNDS: Final = re.compile(r"[^,]*,[^,]*,i=(\d{1,7})(?:,.*)?", re.DOTALL)


class Exchange(Protocol):
    """One login: the broker answers each message, until there is no next one."""

    def first(self) -> bytes:
        """What to begin with."""
        ...

    def after(self, answer: bytes) -> bytes | None:
        """What to say next; None when all is said. AuthenticationFailedError if the answer cannot be."""
        ...


def exchange_of(login: SaslCredentials) -> Exchange:
    """The exchange of the login's mechanism, which is one of `settings.login.MECHANISMS`."""
    return _Plain(login) if login.mechanism == "PLAIN" else _Scram(login)


class _Plain:
    """User and password as they are: a matter for TLS."""

    def __init__(self, login: SaslCredentials) -> None:
        self._login = login

    def first(self) -> bytes:
        return f"\0{self._login.username}\0{self._login.password}".encode()

    def after(self, answer: bytes) -> bytes | None:
        del answer
        return None


class _Scram:
    """Both sides show that they know the password, and neither tells it."""

    def __init__(self, login: SaslCredentials) -> None:
        # It takes a while to load, and most logins are plain.
        from scramp import ScramClient, ScramException

        try:
            self._client = ScramClient([login.mechanism], login.username, login.password)
        except ScramException as error:
            msg = f"user or password have characters that SASLprep (RFC 4013) does not allow: {error}"
            raise AuthenticationFailedError(msg) from error
        self._is_last = False

    def first(self) -> bytes:
        said: str = self._client.get_client_first()
        return said.encode()

    def after(self, answer: bytes) -> bytes | None:
        from scramp import ScramException

        try:
            text = answer.decode()
            if self._is_last:
                self._client.set_server_final(text)
                return None
            self._is_last = True
            _check_rounds(text)
            self._client.set_server_first(text)
            said: str = self._client.get_client_final()
            return said.encode()
        except (ScramException, ValueError) as error:
            msg = f"it could not be shown that the broker knows the password, too: {error}"
            raise AuthenticationFailedError(msg) from error


def _check_rounds(text: str) -> None:
    found = _ROUNDS.fullmatch(text)
    if found is None or int(found[1]) > _MOST_ROUNDS:
        msg = f"it does not say how often the password is to be hashed, or more than {_MOST_ROUNDS:,} times"
        raise AuthenticationFailedError(msg)
