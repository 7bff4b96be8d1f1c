"""The ways to log in to the broker of `sandbox up --secure`, each as a config file, and those that fail."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_groups.settings import Endpoint
from tests.fakes.raw_port import accepting_only
from tests.fakes.token_server import Answer, HttpRequest, TokenServer, json_answer
from tests.live.secure_broker import PASSWORDS, SecureBroker

_SECRET: Final = "secret-of-the-client"
_OK: Final = 200
_CLIENT: Final = "kafka-groups"
_WRITE: Final = "import sys, pathlib; print(pathlib.Path(sys.argv[1]).read_text())"
WAYS_IN: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "certificate", "token file", "token command", "OIDC")


@dataclass(frozen=True, kw_only=True)
class WaysIn:
    """The ways in of a broker.

    `endpoint` hands out tokens for the client's secret, and so does `secure_endpoint`, with TLS and a certificate of
    the broker's authority; `silent_endpoint` accepts connections and never responds.
    """

    broker: SecureBroker
    endpoint: TokenServer
    secure_endpoint: TokenServer
    silent_endpoint: Endpoint
    directory: Path

    def properties(self, way: str, **changes: str | None) -> dict[str, str]:
        """Return the properties of one of WAYS_IN, with changes; None removes a property."""
        protocol = "SSL" if way == "certificate" else "SASL_SSL"
        own = {
            "certificate": self._certificate,
            "token file": self._token_file,
            "token command": self._token_command,
            "OIDC": self._endpoint,
        }.get(way, lambda: self._password(way))()
        merged: dict[str, str | None] = {
            "bootstrap.servers": self.broker.ssl if protocol == "SSL" else self.broker.sasl_ssl,
            "security.protocol": protocol,
            "ssl.ca.location": str(self.broker.authority),
            **own,
            **changes,
        }
        return {name: value for name, value in merged.items() if value is not None}

    def config(self, way: str, **changes: str | None) -> list[str]:
        """Return the options of the command line for a config file with the properties, which only its owner reads."""
        file = self.directory / "client.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{name}={value}\n" for name, value in self.properties(way, **changes).items()))
        return ["--config", str(file)]

    def token(self, claims: Mapping[str, Any] | None = None) -> str:
        """Return the URL of a file with a token that has these claims in place of others."""
        file = self.directory / f"token-{len([*self.directory.iterdir()])}"
        file.write_text(self.broker.sign(self.broker.claims(**(claims or {}))))
        return file.as_uri()

    def _password(self, mechanism: str) -> dict[str, str]:
        return {"sasl.mechanism": mechanism, "sasl.username": "admin", "sasl.password": PASSWORDS["admin"]}

    def _certificate(self) -> dict[str, str]:
        location = str(self.broker.certificate("admin"))
        return {"ssl.certificate.location": location, "ssl.key.location": location}

    def _token_file(self) -> dict[str, str]:
        return {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": self.token()}

    def _token_command(self) -> dict[str, str]:
        command = shlex.join([sys.executable, "-c", _WRITE, str(self.broker.token)])
        return {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.command": command}

    def _endpoint(self) -> dict[str, str]:
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": self.endpoint.url,
            "sasl.oauthbearer.client.credentials.client.id": _CLIENT,
            "sasl.oauthbearer.client.credentials.client.secret": _SECRET,
            "sasl.oauthbearer.scope": "kafka",
        }


@contextmanager
def open_ways_in(broker: SecureBroker, directory: Path) -> Iterator[WaysIn]:
    """Yield the ways in of a broker, with an endpoint that signs tokens with the key that the broker trusts."""
    create = partial(TokenServer, client_id=_CLIENT, client_secret=_SECRET)
    with create() as endpoint, create(certificate=broker.files.server) as secure, accepting_only() as silent:
        for each in (endpoint, secure):
            each.respond = partial(_issue_for_broker, broker, each)
        yield WaysIn(
            broker=broker, endpoint=endpoint, secure_endpoint=secure, silent_endpoint=silent, directory=directory
        )


def _issue_for_broker(broker: SecureBroker, endpoint: TokenServer, request: HttpRequest) -> Answer:
    answer = endpoint.issue_token(request)
    if answer.status != _OK:
        return answer
    claims = broker.claims(exp=time.time() + endpoint.lifetime_s)
    return json_answer({"access_token": broker.sign(claims)})
