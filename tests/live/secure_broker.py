"""The broker of `sandbox up --secure`: its listeners, its users, and tokens that it accepts or refuses."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_groups import sandbox
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.security.secret_files import SecretFiles, secret_files
from kafka_groups.sandbox.security.token_keys import sign_token, user_claims
from kafka_groups.sandbox.security.users import USERS

# The user `admin` may do everything, and `reader` may describe everything and do nothing else.
PASSWORDS = {user.name: user.password for user in USERS}


@dataclass(frozen=True, kw_only=True)
class SecureBroker:
    """The addresses of the listeners, and the files of `sandbox up --secure`.

    `bootstrap` is PLAINTEXT, for anonymous clients, which may do everything. The listeners with SASL have PLAIN,
    SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER, and `ssl` requires a client certificate. `authority` is the CA of all
    certificates, `token` the token file of `admin`, `key_set` the JSON Web Key Set of the broker.
    """

    bootstrap: str
    sasl_plaintext: str
    ssl: str
    sasl_ssl: str
    files: SecretFiles

    @property
    def authority(self) -> Path:
        """The certificate of the authority, as PEM."""
        return self.files.authority

    @property
    def key_set(self) -> Path:
        """The public key of tokens, as a JSON Web Key Set."""
        return self.files.key_set

    @property
    def token(self) -> Path:
        """The file with a token of `admin`, valid for 24 hours."""
        return self.files.token

    def certificate(self, user: str) -> Path:
        """Return the client certificate of a user and its key, in one PEM file."""
        return self.files.certificate(user)

    def claims(self, user: str = "admin", **changes: Any) -> dict[str, Any]:
        """Return the claims of a token that the broker accepts, with changes; None removes a claim."""
        claims = user_claims(user, now_s=time.time()) | changes
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token with these claims, signed with the key that the broker trusts."""
        return sign_token(self.files.signing_key.read_bytes(), claims)

    def flags(self, user: str, mechanism: str = "PLAIN", protocol: str = "SASL_SSL") -> list[str]:
        """Return the options of the command line for a user with a password."""
        properties = {
            "security.protocol": protocol,
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": PASSWORDS[user],
        }
        return [*self._listener(protocol), *(f"-X{name}={value}" for name, value in properties.items())]

    def token_flags(self, token_file: Path | None = None, protocol: str = "SASL_SSL") -> list[str]:
        """Return the options of the command line for OAUTHBEARER with the token in a file."""
        properties = {
            "security.protocol": protocol,
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": (token_file or self.token).as_uri(),
        }
        return [*self._listener(protocol), *(f"-X{name}={value}" for name, value in properties.items())]

    def certificate_flags(self, user: str) -> list[str]:
        """Return the options of the command line for the client certificate of a user."""
        location = self.certificate(user)
        return [
            *self._listener("SSL"),
            "-Xsecurity.protocol=SSL",
            f"-Xssl.certificate.location={location}",
            f"-Xssl.key.location={location}",
        ]

    def _listener(self, protocol: str) -> list[str]:
        address = {"SASL_PLAINTEXT": self.sasl_plaintext, "SSL": self.ssl, "SASL_SSL": self.sasl_ssl}[protocol]
        tls = [f"-Xssl.ca.location={self.authority}"] if protocol.endswith("SSL") else []
        return ["-b", address, *tls]


def secure_broker(started: sandbox.Sandbox) -> SecureBroker:
    """Return the broker of a sandbox that was started with `secure`."""
    servers = started.secure_servers
    return SecureBroker(
        bootstrap=started.bootstrap,
        sasl_plaintext=servers["SASL_PLAINTEXT"],
        ssl=servers["SSL"],
        sasl_ssl=servers["SASL_SSL"],
        files=secret_files(SandboxDirectory(path=started.directory)),
    )
