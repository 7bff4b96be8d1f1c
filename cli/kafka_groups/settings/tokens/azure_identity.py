"""Tokens of a managed identity of Azure, from the metadata endpoint that each of Azure's machines has (IMDS)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import time
from typing import Final

from kafka_groups.errors import SettingsError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.tokens.http_client import HttpRequest
from kafka_groups.settings.tokens.token import Token
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint, endpoint_from
from kafka_groups.settings.tokens.token_request import read_token, request_document
from kafka_groups.settings.tokens.token_settings import text_of
from kafka_groups.settings.tokens.url_rules import METADATA_HOST, find_url_problem

_URL: Final = f"http://{METADATA_HOST}/metadata/identity/oauth2/token"
_CONFIG: Final = "sasl.oauthbearer.config"
_QUERY: Final = "query="
_EXAMPLE: Final = "query=api-version=2018-02-01&resource=RESOURCE"


@dataclass(frozen=True, kw_only=True, slots=True)
class AzureIdentity:
    """The metadata endpoint; the query of its URL names the resource. `clock` returns seconds since 1970."""

    endpoint: TokenEndpoint
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
        """Request a token. Raises TokenFailedError if there is none, for example outside Azure."""
        now = self.clock()
        request = HttpRequest(method="GET", url=self.endpoint.url, headers={"Metadata": "true"})
        return read_token(request_document(request, self.endpoint, limit), self.place, now)


def azure_identity_from(settings: Mapping[str, Setting]) -> AzureIdentity:
    """Return the identity of the settings, by librdkafka's `sasl.oauthbearer.config=query=…`, or the endpoint's query.

    Raises SettingsError if neither has a query.
    """
    endpoint = endpoint_from(settings, default_url=_URL, name="Azure's metadata endpoint")
    query = text_of(settings, _CONFIG).strip().removeprefix(_QUERY).removeprefix("?")
    if query and (problem := find_url_problem(f"{endpoint.url}?{query}")):
        # The text is free, and may be secret.
        msg = f"{settings[_CONFIG].source} {problem}"
        raise SettingsError(msg)
    if not query and "?" not in endpoint.url:
        msg = f"azure_imds needs the resource of the token; set {_CONFIG}={_EXAMPLE}"
        raise SettingsError(msg)
    joined = f"{endpoint.url}{'&' if '?' in endpoint.url else '?'}{query}" if query else endpoint.url
    return AzureIdentity(endpoint=replace(endpoint, url=joined))
