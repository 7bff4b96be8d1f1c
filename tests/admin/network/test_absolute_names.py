"""Host names with a dot at the end, which makes them absolute: certificates and SNI have the name without it."""

from __future__ import annotations

import socket
import ssl
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.errors import AdminError
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint, Tls
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.timeout(20)


class NamedBroker:
    """A broker with TLS that advertises a name; it keeps the names that clients send (SNI) and resolve."""

    def __init__(self, certificate: Path, advertised: str) -> None:
        self.advertised = advertised
        self.indicated: list[str | None] = []
        self.resolved: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        context.sni_callback = lambda _socket, name, _context: self.indicated.append(name)
        self.broker = ScriptedBroker(self._respond, tls=context)

    def _respond(self, request: ReceivedRequest) -> Struct:
        if request.api == "Metadata":
            return {"brokers": [{"node_id": 1, "host": self.advertised, "port": 9092}]}
        return {"groups": [{"group_id": "orders"}]}

    def resolve(self, endpoint: Endpoint) -> list[Address]:
        self.resolved.append(endpoint.host)
        return [(socket.AF_INET, (self.broker.endpoint.host, self.broker.endpoint.port))]

    def list_groups(self, bootstrap: str, certificate: Path) -> list[str]:
        tls = Tls(ca_file=str(certificate))
        settings = ConnectionSettings(bootstrap=(Endpoint(host=bootstrap, port=9092),), timeout_s=5.0, tls=tls)
        with GroupAdmin(settings, pool=BrokerPool(settings, resolve=self.resolve)) as admin:
            return list(admin.list_groups().all())


@pytest.fixture
def named(certificate: Callable[[str], Path]) -> Any:
    brokers: list[NamedBroker] = []

    def make(advertised: str) -> tuple[NamedBroker, Path]:
        file = certificate("DNS:b-0.example")
        brokers.append(NamedBroker(file, advertised))
        return brokers[-1], file

    yield make
    for each in brokers:
        each.broker.close()


@pytest.mark.parametrize(
    ("bootstrap", "advertised"),
    [
        ("b-0.example.", "b-0.example."),
        ("b-0.example.", "b-0.example"),
        ("b-0.example", "b-0.example."),
        ("B-0.Example.", "b-0.example."),
    ],
)
def test_the_name_is_resolved_as_given_and_verified_without_the_dot(
    named: Any, bootstrap: str, advertised: str
) -> None:
    broker, certificate = named(advertised)
    assert broker.list_groups(bootstrap, certificate) == ["orders"]
    assert broker.resolved == list(dict.fromkeys([bootstrap, advertised]))
    assert {str(name).lower() for name in broker.indicated} == {"b-0.example"}


@pytest.mark.parametrize("bootstrap", ["b-1.example.", "example."])
def test_a_name_that_the_certificate_lacks_is_refused_with_a_dot_too(named: Any, bootstrap: str) -> None:
    broker, certificate = named("b-0.example.")
    with pytest.raises(AdminError, match="Hostname mismatch") as caught:
        broker.list_groups(bootstrap, certificate)
    assert caught.value.name == "TLS_FAILED"


@pytest.mark.parametrize("host", [".", ".example", f"{'x' * 64}.example"])
def test_a_name_that_no_certificate_can_have_is_an_error_of_the_connection(named: Any, host: str) -> None:
    broker, certificate = named("b-0.example")
    with pytest.raises(AdminError, match="no certificate can have the host name") as caught:
        broker.list_groups(host, certificate)
    assert caught.value.name == "TLS_FAILED"


def test_the_oldest_librdkafka_that_is_accepted_verifies_names_without_the_dot() -> None:
    """Librdkafka verifies them so since 2.13.0; confluent-kafka has the same numbers."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    found = next(each for each in map(Requirement, project["dependencies"]) if each.name == "confluent-kafka")
    assert not found.specifier.contains("2.12.99")
    assert found.specifier.contains("2.13.0")
