"""The settings of brokers with users: three listeners beside that of the sandbox, four mechanisms, an authorizer."""

from __future__ import annotations

from typing import Final

from kafka_groups.sandbox.ports import HOST
from kafka_groups.sandbox.security.secret_files import SecretFiles
from kafka_groups.sandbox.security.users import ADMIN, AUDIENCE, ISSUER, MECHANISMS, SCRAM_MECHANISMS, USERS
from kafka_groups.sandbox.state_file import Node

SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SSL: Final = "SSL"
SASL_SSL: Final = "SASL_SSL"
# Listeners have the names of their protocols.
PROTOCOLS: Final = (SASL_PLAINTEXT, SSL, SASL_SSL)

_MODULES: Final = "org.apache.kafka.common.security"
_PLAIN: Final = f"{_MODULES}.plain.PlainLoginModule required"
_SCRAM: Final = f"{_MODULES}.scram.ScramLoginModule required;"
_OAUTHBEARER: Final = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
_ALLOWED_URLS: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


def secure_properties(node: Node, files: SecretFiles) -> dict[str, str]:
    """Return what a broker with users has in its server.properties, beside that of every broker of a sandbox."""
    addresses = ",".join(f"{protocol}://{HOST}:{node.secure_ports[protocol]}" for protocol in PROTOCOLS)
    return {
        "listeners": addresses,
        "advertised.listeners": addresses,
        "listener.security.protocol.map": ",".join(f"{protocol}:{protocol}" for protocol in PROTOCOLS),
        **_tls(files),
        **_sasl(SASL_PLAINTEXT),
        **_sasl(SASL_SSL),
        **_tokens(files),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The listener PLAINTEXT and the controllers have anonymous clients alone, those of the sandbox itself.
        "super.users": f"User:ANONYMOUS;User:{ADMIN.name}",
    }


def secure_jvm(files: SecretFiles) -> tuple[str, ...]:
    """Return the options of a broker's JVM: it opens only URLs of keys that are named here."""
    return (f"-D{_ALLOWED_URLS}={files.key_set_url}",)


def _tls(files: SecretFiles) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.authority),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": r"RULE:^CN=([^,]+),.*$/$1/,DEFAULT",
    }


def _sasl(protocol: str) -> dict[str, str]:
    prefix = f"listener.name.{protocol.lower()}"
    users = " ".join(f'user_{user.name}="{user.password}"' for user in USERS)
    return {
        f"{prefix}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        f"{prefix}.plain.sasl.jaas.config": f"{_PLAIN} {users};",
        **{f"{prefix}.{mechanism.lower()}.sasl.jaas.config": _SCRAM for mechanism in SCRAM_MECHANISMS},
        f"{prefix}.oauthbearer.sasl.jaas.config": _OAUTHBEARER,
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": (
            f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
    }


def _tokens(files: SecretFiles) -> dict[str, str]:
    return {
        "sasl.oauthbearer.jwks.endpoint.url": files.key_set_url,
        # Brokers of Kafka 4.4 and newer require both.
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }
