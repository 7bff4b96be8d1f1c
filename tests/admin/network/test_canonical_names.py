"""Bootstrap servers that are aliases: `client.dns.lookup=resolve_canonical_bootstrap_servers_only`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.resolver import canonical_name
from kafka_groups.errors import AdminError
from kafka_groups.settings import ConnectionSettings, Endpoint, Tls
from tests.admin.network.tls_listener import tls_broker
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)

Names = dict[str, list[str]]
_getaddrinfo = socket.getaddrinfo


class Dns:
    """The names and addresses that this process resolves; other names and addresses have none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: Names = {}
        self.names: dict[str, str] = {}
        self.resolved: list[str] = []
        self.looked_up: list[str] = []
        self.hang: Callable[[], None] = lambda: None
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)
        monkeypatch.setattr(socket, "getnameinfo", self._getnameinfo)

    def _getaddrinfo(self, host: str, port: int, *arguments: Any, **options: Any) -> list[Any]:
        is_number = host.replace(".", "").isdecimal()
        if not is_number and (options.get("flags") or host not in self.addresses):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        self.resolved.append(host)
        return [
            found
            for address in self.addresses.get(host, [host])
            for found in _getaddrinfo(address, port, *arguments, **options)
        ]

    def _getnameinfo(self, address: tuple[Any, ...], _flags: int) -> tuple[str, str]:
        self.looked_up.append(address[0])
        self.hang()
        if address[0] not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.names[address[0]], str(address[1])


@pytest.fixture
def dns(monkeypatch: pytest.MonkeyPatch) -> Dns:
    return Dns(monkeypatch)


def listing(
    port: int, certificate: Path, *servers: str, clock: SimulatedClock | None = None, **settings: Any
) -> list[str]:
    values = {"timeout_s": 30.0, "tls": Tls(ca_file=str(certificate)), "resolve_canonical_names": True, **settings}
    bootstrap = tuple(Endpoint(host=server, port=port) for server in servers)
    wanted = ConnectionSettings(bootstrap=bootstrap, **values)
    with clock.client(wanted) if clock else GroupAdmin(wanted) as admin:
        return list(admin.list_groups().all())


def test_a_certificate_is_verified_for_the_canonical_name_of_an_alias(
    dns: Dns, certificate: Callable[[str], Path]
) -> None:
    dns.addresses |= {"kafka.example": ["127.0.0.1"], "b-1.example": ["127.0.0.1"]}
    dns.names["127.0.0.1"] = "b-1.example"
    file = certificate("DNS:b-1.example,IP:127.0.0.1")
    with tls_broker(file) as broker:
        assert listing(broker.endpoint.port, file, "kafka.example") == ["orders"]
        with pytest.raises(AdminError, match=r"not valid for 'kafka\.example'"):
            listing(broker.endpoint.port, file, "kafka.example", resolve_canonical_names=False)


def test_every_address_of_an_alias_is_a_bootstrap_server(dns: Dns, certificate: Callable[[str], Path]) -> None:
    """The certificate of the first server has another name, so the second one is used."""
    dns.addresses |= {"kafka.example": ["127.0.0.1", "127.0.0.2"], "b-1.example": ["127.0.0.1"]}
    dns.addresses["b-2.example"] = ["127.0.0.2"]
    dns.names |= {"127.0.0.1": "b-1.example", "127.0.0.2": "b-2.example"}
    file = certificate("DNS:b-2.example,IP:127.0.0.1")
    with tls_broker(file) as broker, pytest.raises(AdminError) as caught:
        listing(broker.endpoint.port, file, "kafka.example", clock=broker.clock)
    assert f"b-1.example:{broker.endpoint.port}: the broker's certificate is not trusted: Hostname" in str(caught.value)
    assert f"b-2.example:{broker.endpoint.port}: connection refused" in str(caught.value)


def test_advertised_names_are_not_replaced(dns: Dns, certificate: Callable[[str], Path]) -> None:
    dns.addresses |= {"kafka.example": ["127.0.0.1"], "b-1.example": ["127.0.0.1"]}
    dns.names["127.0.0.1"] = "b-1.example"
    file = certificate("DNS:b-1.example")
    with tls_broker(file) as broker, pytest.raises(AdminError, match=r"IP address mismatch"):
        # The broker advertises its IP address, which its certificate does not have.
        listing(broker.endpoint.port, file, "kafka.example")


@pytest.mark.parametrize("named", [None, "other.example", "forged.example"])
def test_an_address_without_a_name_of_its_own_is_the_canonical_name(dns: Dns, named: str | None) -> None:
    """Java's client refuses a name that does not have the address, too."""
    dns.addresses["forged.example"] = ["127.0.0.9"]
    if named is not None:
        dns.names["127.0.0.1"] = named
    assert canonical_name(("127.0.0.1", 9092)) == "127.0.0.1"


def test_a_server_that_cannot_be_resolved_is_named_and_the_others_are_used(
    dns: Dns, certificate: Callable[[str], Path]
) -> None:
    dns.addresses |= {"kafka.example": ["127.0.0.1"], "b-1.example": ["127.0.0.1"]}
    dns.names["127.0.0.1"] = "b-1.example"
    file = certificate("DNS:b-1.example,IP:127.0.0.1")
    with tls_broker(file) as broker:
        assert listing(broker.endpoint.port, file, "absent.example", "kafka.example") == ["orders"]
        with pytest.raises(AdminError, match=r"cannot resolve the host name 'absent\.example'"):
            listing(broker.endpoint.port, file, "absent.example")


def test_a_slow_lookup_takes_no_longer_than_a_connection(dns: Dns, certificate: Callable[[str], Path]) -> None:
    dns.addresses["kafka.example"] = ["127.0.0.1"]
    file, end = certificate("DNS:kafka.example,IP:127.0.0.1"), threading.Event()
    with tls_broker(file) as broker:
        dns.hang = lambda: broker.clock.wait_for(end)
        broker.clock.use()
        started = broker.clock()
        values: dict[str, Any] = {"connect_timeout_s": 0.2, "clock": broker.clock}
        assert listing(broker.endpoint.port, file, "kafka.example", **values) == ["orders"]
        assert 0.2 < broker.clock() - started < 0.3
        end.set()


def test_without_the_setting_no_name_is_looked_up_by_its_address(dns: Dns, certificate: Callable[[str], Path]) -> None:
    dns.addresses["kafka.example"] = ["127.0.0.1"]
    file = certificate("DNS:kafka.example,IP:127.0.0.1")
    with tls_broker(file) as broker:
        assert listing(broker.endpoint.port, file, "kafka.example", resolve_canonical_names=False) == ["orders"]
    assert dns.looked_up == []
    assert dns.resolved.count("kafka.example") == 1
