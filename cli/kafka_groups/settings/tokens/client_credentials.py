"""Tokens of an identity provider, for a client with a secret (KIP-768) or an assertion (KIP-1258, KIP-1139)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import Final
from urllib.parse import quote_plus

from kafka_groups.errors import SettingsError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.tokens.assertion import FILE, KEY_FILE, Assertion, select_assertion
from kafka_groups.settings.tokens.http_client import HttpRequest
from kafka_groups.settings.tokens.token import Token
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint, endpoint_from
from kafka_groups.settings.tokens.token_request import read_token, request_document
from kafka_groups.settings.tokens.token_settings import ENDPOINT, is_enabled, require_text, text_of
from kafka_groups.settings.values import hint_of_variable

CLIENT_ID: Final = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET: Final = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 # The name of a property.
_GRANT: Final = "sasl.oauthbearer.grant.type"
_RETRIEVER: Final = "sasl.oauthbearer.jwt.retriever.class"
_CREDENTIALS_GRANT: Final = "client_credentials"
_BEARER_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# Kafka's classes, by the last part of their names. The URL of the endpoint chooses for the default one.
_RETRIEVERS: Final = {
    "ClientCredentialsJwtRetriever": _CREDENTIALS_GRANT,
    "JwtBearerJwtRetriever": _BEARER_GRANT,
    "DefaultJwtRetriever": _CREDENTIALS_GRANT,
}
_HEADERS: Final = {
    "Accept": "application/json",
    "Cache-Control": "no-cache",
    "Content-Type": "application/x-www-form-urlencoded",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientCredentials:
    """A client of an identity provider, with its secret or with an assertion, and the scope that it requests.

    `is_urlencoded` encodes id, secret and scope as forms do, which Kafka's clients do on demand alone. `clock` returns
    seconds since 1970.
    """

    endpoint: TokenEndpoint
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scope: str = ""
    assertion: Assertion | None = None
    grant: str = _CREDENTIALS_GRANT
    is_urlencoded: bool = False
    clock: Callable[[], float] = time

    @property
    def place(self) -> str:
        """The source as errors name it."""
        return self.endpoint.place

    @property
    def is_read_each_time(self) -> bool:
        """Whether each authentication reads the source again."""
        return False

    def fetch(self, limit: Limit) -> Token:
        """Request a token. Raises TokenFailedError if the endpoint returns none until the limit."""
        assertion = "" if self.assertion is None else self.assertion.create()
        now = self.clock()
        basic = self._basic_credentials()
        secrets = (self.client_secret, self._encode(self.client_secret), basic, assertion)
        request = HttpRequest(
            method="POST",
            url=self.endpoint.url,
            # A request with an assertion has no other credentials.
            headers=_HEADERS if assertion else {**_HEADERS, "Authorization": f"Basic {basic}"},
            body=self._body(assertion).encode(),
        )
        response = request_document(request, self.endpoint, limit, secrets)
        return read_token(response, self.place, now, secrets)

    def _body(self, assertion: str) -> str:
        scope = f"&scope={self._encode(self.scope)}" if self.scope else ""
        if self.grant == _BEARER_GRANT:
            return f"grant_type={quote_plus(_BEARER_GRANT)}&assertion={assertion}{scope}"
        if not assertion:
            return f"grant_type={_CREDENTIALS_GRANT}{scope}"
        client = f"&client_id={quote_plus(self.client_id)}" if self.client_id else ""
        return (
            f"client_assertion_type={quote_plus(_ASSERTION_TYPE)}&client_assertion={assertion}"
            f"&grant_type={_CREDENTIALS_GRANT}{client}{scope}"
        )

    def _basic_credentials(self) -> str:
        return b64encode(f"{self._encode(self.client_id)}:{self._encode(self.client_secret)}".encode()).decode()

    def _encode(self, text: str) -> str:
        return quote_plus(text) if self.is_urlencoded else text


def credentials_from(settings: Mapping[str, Setting]) -> ClientCredentials:
    """Return the client of the settings. Raises SettingsError for a missing secret, and for settings without a use."""
    grant = _grant(settings)
    assertion = select_assertion(settings)
    if assertion is None and grant == _BEARER_GRANT:
        msg = f"the grant jwt-bearer needs an assertion; set {FILE} or {KEY_FILE}"
        raise SettingsError(msg)
    require = partial(require_text, settings, needed_by=settings[ENDPOINT].source, other_way=FILE)
    return ClientCredentials(
        endpoint=endpoint_from(settings),
        client_id=text_of(settings, CLIENT_ID) if assertion else require(CLIENT_ID),
        client_secret="" if assertion else require(CLIENT_SECRET),
        scope=text_of(settings, "sasl.oauthbearer.scope"),
        assertion=assertion,
        grant=grant,
        is_urlencoded=is_enabled(settings, "sasl.oauthbearer.header.urlencode"),
    )


def _grant(settings: Mapping[str, Setting]) -> str:
    """Return the grant by librdkafka's property, else by Java's class."""
    grant = text_of(settings, _GRANT)
    if grant in {_CREDENTIALS_GRANT, _BEARER_GRANT}:
        return grant
    if grant:
        setting = settings[_GRANT]
        msg = f"{setting.source}={grant} is not supported; write {_CREDENTIALS_GRANT} or {_BEARER_GRANT}"
        raise SettingsError(msg + hint_of_variable(grant))
    retriever = text_of(settings, _RETRIEVER).rpartition(".")[2]
    if retriever and retriever not in _RETRIEVERS:
        setting = settings[_RETRIEVER]
        shown = f"{setting.source}={setting.value}"
        if retriever == "FileJwtRetriever":
            msg = f"{shown} needs a file; write file:///PATH to {ENDPOINT}"
        else:
            msg = f"{shown} is not supported; write a class of Kafka's: {', '.join(_RETRIEVERS)}"
        raise SettingsError(msg + hint_of_variable(setting.value))
    return _RETRIEVERS.get(retriever, _CREDENTIALS_GRANT)
