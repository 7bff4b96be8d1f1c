"""Tokens of a service account of Google Cloud, from the metadata endpoint that each of its machines has.

Google's Managed Service for Apache Kafka takes no bare access token: the token is the third part of a JWT whose claims
name the account (`GcpLoginCallbackHandler` of Google's managedkafka repository).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import time
from typing import Final

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.pairs import Setting
from kafka_groups.settings.tokens.http_client import HttpRequest, HttpResponse
from kafka_groups.settings.tokens.jwt_signature import encode_bytes, encode_part
from kafka_groups.settings.tokens.token import Token, parse_token
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint, endpoint_from
from kafka_groups.settings.tokens.token_request import read_token, request_document
from kafka_groups.settings.tokens.url_rules import METADATA_HOST

_URL: Final = f"http://{METADATA_HOST}/computeMetadata/v1/instance/service-accounts/default"
_HEADER: Final = {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
_LIFETIME_S: Final = 3600
_LONGEST_EMAIL: Final = 320


@dataclass(frozen=True, kw_only=True, slots=True)
class GcpAccount:
    """The metadata endpoint of an account, with `/token` and `/email` below its URL. `clock`: seconds since 1970."""

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
        """Request the account's name and an access token. Raises TokenFailedError if there is none."""
        now = self.clock()
        account = self._get("email", limit).body.decode(errors="replace").strip()
        if "@" not in account or not account.isprintable() or len(account) > _LONGEST_EMAIL:
            msg = f"{self.place} returned no name of a service account; give the machine a service account"
            raise TokenFailedError(msg)
        access = read_token(self._get("token", limit), self.place, now)
        expires_at = now + _LIFETIME_S if access.expires_at is None else access.expires_at
        claims = {"exp": int(expires_at), "iat": int(now), "iss": "Google", "scope": "kafka", "sub": account}
        parts = (encode_part(_HEADER), encode_part(claims), encode_bytes(access.text.encode()))
        return parse_token(".".join(parts), place=self.place)

    def _get(self, name: str, limit: Limit) -> HttpResponse:
        url = f"{self.endpoint.url.rstrip('/')}/{name}"
        request = HttpRequest(method="GET", url=url, headers={"Metadata-Flavor": "Google"})
        return request_document(request, self.endpoint, limit)


def gcp_account_from(settings: Mapping[str, Setting]) -> GcpAccount:
    """Return the service account of this machine. Raises SettingsError for settings that cannot be used."""
    return GcpAccount(endpoint=endpoint_from(settings, default_url=_URL, name="Google Cloud's metadata endpoint"))
