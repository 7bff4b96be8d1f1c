"""The choice of a SASL mechanism's client by the credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.admin.network.sasl.client import SaslClient
from kafka_groups.admin.network.sasl.plain import PlainClient
from kafka_groups.settings import TokenCredentials

if TYPE_CHECKING:
    from kafka_groups.settings import SaslCredentials
    from kafka_groups.settings.tokens.token import Token


def create_client(credentials: SaslCredentials, token: Token | None = None) -> SaslClient:
    """Return the client of the credentials' mechanism; `token` is what their source returned, if they have one."""
    if isinstance(credentials, TokenCredentials):
        from kafka_groups.admin.network.sasl.oauthbearer import OAuthBearerClient

        assert token is not None
        return OAuthBearerClient(token, credentials.extensions, place=credentials.source.place)
    if credentials.mechanism == "PLAIN":
        return PlainClient(credentials)
    from kafka_groups.admin.network.sasl.scram import ScramClient

    return ScramClient(credentials)
