"""The profiles of a sandbox: that of its listener PLAINTEXT, and with `--secure` one for each way to authenticate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.profile import Profile, plain_profile
from kafka_groups.sandbox.security.listeners import SASL_PLAINTEXT, SASL_SSL, SSL
from kafka_groups.sandbox.security.secret_files import SecretFiles, secret_files
from kafka_groups.sandbox.security.users import ADMIN, READER, User

_Credentials: TypeAlias = Callable[[SecretFiles], Mapping[str, str]]

# The names of profiles after that of the sandbox.
PLAIN: Final = "plain"
SCRAM: Final = "scram"
TLS: Final = "tls"
OAUTH: Final = "oauth"
READ_ONLY: Final = "reader"


def sandbox_profiles(directory: SandboxDirectory, bootstrap: str, secure: Mapping[str, str]) -> tuple[Profile, ...]:
    """Return the profiles of a sandbox; `secure` has its servers by protocol, none without `--secure`."""
    plain = plain_profile(directory, bootstrap)
    return (plain, *_secure_profiles(directory, secure)) if secure else (plain,)


def _secure_profiles(directory: SandboxDirectory, servers: Mapping[str, str]) -> tuple[Profile, ...]:
    ways: Mapping[str, tuple[str, _Credentials]] = {
        PLAIN: (SASL_PLAINTEXT, partial(_password, ADMIN, "PLAIN")),
        SCRAM: (SASL_SSL, partial(_password, ADMIN, "SCRAM-SHA-512")),
        TLS: (SSL, _client_certificate),
        OAUTH: (SASL_SSL, _token),
        READ_ONLY: (SASL_SSL, partial(_password, READER, "SCRAM-SHA-256")),
    }
    return tuple(
        Profile(
            name=f"{directory.name}-{way}",
            bootstrap=servers[protocol],
            properties=partial(_properties, protocol, credentials),
        )
        for way, (protocol, credentials) in ways.items()
    )


def _properties(protocol: str, credentials: _Credentials, directory: Path) -> Mapping[str, str]:
    """Return the properties of a profile for a sandbox in a directory."""
    files = secret_files(SandboxDirectory(path=directory))
    tls = {"ssl.ca.location": str(files.authority)} if protocol.endswith(SSL) else {}
    return {"security.protocol": protocol, **tls, **credentials(files)}


def _password(user: User, mechanism: str, _: SecretFiles) -> Mapping[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.username": user.name, "sasl.password": user.password}


def _client_certificate(files: SecretFiles) -> Mapping[str, str]:
    certificate = str(files.certificate(ADMIN.name))
    # One file has both, and librdkafka reads the key from the second property.
    return {"ssl.certificate.location": certificate, "ssl.key.location": certificate}


def _token(files: SecretFiles) -> Mapping[str, str]:
    return {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": files.token.as_uri()}
