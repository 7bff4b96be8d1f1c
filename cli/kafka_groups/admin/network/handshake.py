"""What is said on a connection before its first handler: versions (KIP-511), and the login, if any (KIP-152)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafka_groups import __version__
from kafka_groups.admin.network.sasl import Exchange, exchange_of
from kafka_groups.errors import AuthenticationFailedError, MalformedResponseError, UnsupportedVersionError
from kafka_groups.protocol import INT16, Cursor, SchemaError, Struct
from kafka_groups.protocol.messages import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, Api

if TYPE_CHECKING:
    from kafka_groups.settings import SaslCredentials

Versions = Mapping[int, tuple[int, int]]

_UNSUPPORTED_VERSION: Final = 35
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_STATE: Final = 34


@dataclass(frozen=True, slots=True)
class Turn:
    """One request; its body may hold a password."""

    api: Api
    version: int
    body: Mapping[str, Any] = field(repr=False)


class Handshake:
    """One connection's. `versions` are the broker's, by API key, None until it told them.

    A login may end (KIP-368): the broker hangs up then, and who asked asks again on a new connection.
    """

    def __init__(self, client_id: str, login: SaslCredentials | None = None) -> None:
        self.client_id = client_id
        self.login = login
        self.versions: Versions | None = None
        self._exchange: Exchange | None = None

    def first(self) -> Turn:
        """What to begin with."""
        return _ask_versions(API_VERSIONS.highest)

    def after(self, turn: Turn, payload: bytes) -> Turn | None:
        """What to say next, None when questions may be asked.

        Raises MalformedResponseError if the peer does not speak Kafka's protocol, AuthenticationFailedError if it
        refuses the credentials.
        """
        if turn.api is API_VERSIONS:
            return self._learn_versions(turn, payload)
        try:
            answer = turn.api.read_response(turn.version, payload)
        except SchemaError as error:
            msg = f"its answer to {turn.api.name} cannot be read: {error}"
            raise MalformedResponseError(msg) from error
        if turn.api is SASL_HANDSHAKE:
            return self._begin_login(answer)
        return self._go_on(answer)

    def _learn_versions(self, turn: Turn, payload: bytes) -> Turn | None:
        try:
            # A broker that does not know our version of ApiVersions answers in version 0 (KIP-511).
            refused = INT16.read(False, False)(Cursor(payload, 4)) == _UNSUPPORTED_VERSION
            answer = API_VERSIONS.read_response(0 if refused else turn.version, payload)
        except SchemaError as error:
            raise MalformedResponseError("what answers there does not speak Kafka's protocol") from error
        if refused and turn.version > 0:
            return _ask_versions(0)
        if answer["error_code"]:
            msg = f"it refused to tell its versions (error {answer['error_code']})"
            raise MalformedResponseError(msg)
        self.versions = {api["api_key"]: (api["min_version"], api["max_version"]) for api in answer["api_keys"]}
        if self.login is None:
            return None
        return self._turn(SASL_HANDSHAKE, {"mechanism": self.login.mechanism})

    def _begin_login(self, answer: Struct) -> Turn:
        assert self.login is not None
        if answer["error_code"] == _ILLEGAL_STATE:
            msg = "the port wants no login: its security.protocol is PLAINTEXT or SSL"
            raise AuthenticationFailedError(msg)
        if answer["error_code"] == _UNSUPPORTED_MECHANISM:
            taken = ", ".join(answer["mechanisms"]) or "nothing that it tells"
            msg = f"it does not take {self.login.mechanism}, but {taken} (sasl.mechanism)"
            raise AuthenticationFailedError(msg)
        if answer["error_code"]:
            msg = f"it refused to begin a login (error {answer['error_code']})"
            raise AuthenticationFailedError(msg)
        self._exchange = exchange_of(self.login)
        return self._turn(SASL_AUTHENTICATE, {"auth_bytes": self._exchange.first()})

    def _go_on(self, answer: Struct) -> Turn | None:
        assert self._exchange is not None
        assert self.login is not None
        if answer["error_code"]:
            told = answer["error_message"] or f"error {answer['error_code']}"
            msg = f"it refused the login of '{self.login.username}' by {self.login.mechanism}: {told}{self._hint()}"
            raise AuthenticationFailedError(msg)
        said = self._exchange.after(answer["auth_bytes"])
        return None if said is None else self._turn(SASL_AUTHENTICATE, {"auth_bytes": said})

    def _hint(self) -> str:
        assert self.login is not None
        is_prepared = self.login.mechanism != "PLAIN" and not self.login.password.isascii()
        # Brokers take its bytes as they are.
        return "; SASLprep (RFC 4013) may change a password that is not ASCII" if is_prepared else ""

    def _turn(self, api: Api, body: Mapping[str, Any]) -> Turn:
        return Turn(api, agreed_version(self.versions or {}, api), body)


def agreed_version(versions: Versions, api: Api) -> int:
    """The highest version that both sides speak; UnsupportedVersionError if there is none."""
    low, high = versions.get(api.key, (0, -1))
    version = min(high, api.highest)
    if version < max(low, api.lowest):
        has = f"speaks {api.name} {low} to {high}" if high >= 0 else f"has no {api.name}"
        msg = f"the broker {has}; this tool needs {api.lowest} to {api.highest}"
        raise UnsupportedVersionError(msg)
    return version


def _ask_versions(version: int) -> Turn:
    body = {"client_software_name": "kafka-groups", "client_software_version": __version__}
    return Turn(API_VERSIONS, version, body)
