"""The choice of a SASL mechanism's client by the credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.admin.network.sasl.client import SaslClient
from kafka_groups.admin.network.sasl.plain import PlainClient
from kafka_groups.settings import KerberosCredentials, TokenCredentials

if TYPE_CHECKING:
    from kafka_groups.admin.network.sasl.kerberos import SecurityContext
    from kafka_groups.settings import SaslCredentials
    from kafka_groups.settings.tokens.token import Token


def create_client(credentials: SaslCredentials, result: Token | SecurityContext | None = None) -> SaslClient:
    """Return the client of the credentials' mechanism; `result` is that of its long step, if it has one."""
    if isinstance(credentials, KerberosCredentials):
        from kafka_groups.admin.network.sasl.kerberos import KerberosClient, SecurityContext

        assert isinstance(result, SecurityContext)
        return KerberosClient(result)
    if isinstance(credentials, TokenCredentials):
        from kafka_groups.admin.network.sasl.oauthbearer import OAuthBearerClient
        from kafka_groups.settings.tokens.token import Token

        assert isinstance(result, Token)
        return OAuthBearerClient(result, credentials.extensions, place=credentials.source.place)
    if credentials.mechanism == "PLAIN":
        return PlainClient(credentials)
    from kafka_groups.admin.network.sasl.scram import ScramClient

    return ScramClient(credentials)
