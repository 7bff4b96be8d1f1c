"""Connections that log in with Kerberos: a ticket for each host, got in a thread while the event loop goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.handshake import Handshakes
from kafka_groups.errors import AuthenticationFailedError, ConnectionFailedError, ServiceUnknownError, TicketFailedError
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint, KerberosCredentials
from tests.fakes.kerberos_library import ALICE, FakeError, FakeLibrary
from tests.fakes.reactions import ReceivedRequest, drops
from tests.fakes.sasl_cluster import REFUSED, SaslCluster
from tests.fakes.scripted_cluster import Group

pytestmark = pytest.mark.timeout(20)

GROUPS = {"a": Group(coordinator=1), "b": Group(coordinator=2)}
USER: Mapping[str, Any] = {"credentials": KerberosCredentials()}
LAST = b"W\x01\0\0\0" + ALICE.encode()

UseLibrary = Callable[..., FakeLibrary]


class KerberosCluster(SaslCluster):
    """A cluster that lets clients with Kerberos log in, unless `accepts` refuses their ticket."""

    def __init__(self, *, accepts: Callable[[bytes], bool] = lambda _message: True, **options: Any) -> None:
        self._takes = accepts
        super().__init__(mechanism="GSSAPI", **options)

    def _respond_SaslAuthenticate(self, request: ReceivedRequest) -> Struct:  # noqa: N802 # The name has the API's.
        message: bytes = request.body["auth_bytes"]
        self.messages.append(message)
        if not self._takes(message):
            return {**REFUSED, "auth_bytes": b""}
        if message.startswith(b"ticket"):
            return {"auth_bytes": b"proof"}
        return {"auth_bytes": b"" if message else b"W\x01\0\0\0"}


@pytest.fixture
def use_library(monkeypatch: pytest.MonkeyPatch) -> UseLibrary:
    """Return a function that puts a fake in the place of the library, and returns it."""

    def use(**options: Any) -> FakeLibrary:
        library = FakeLibrary(**options)
        monkeypatch.setitem(sys.modules, "gssapi", library)
        return library

    return use


def test_each_broker_gets_a_ticket_for_its_own_host(use_library: UseLibrary) -> None:
    library = use_library()
    with KerberosCluster(brokers=2, groups=GROUPS) as cluster:
        other = Endpoint(host="localhost", port=cluster.brokers[2].endpoint.port)
        cluster.addresses[2] = other
        with GroupAdmin(cluster.settings(**USER)) as admin:
            assert sorted(admin.list_groups().all()) == ["a", "b"]
    assert sorted(context.host for context in library.contexts) == ["kafka@127.0.0.1", "kafka@localhost"]
    assert sorted(cluster.messages) == sorted(
        [b"ticket for kafka@127.0.0.1", b"", LAST, b"ticket for kafka@localhost", b"", LAST]
    )


def test_the_host_of_a_ticket_has_no_dot_at_its_end(use_library: UseLibrary) -> None:
    library = use_library()
    server = Endpoint(host="b1.test.", port=9092)
    has_ended = threading.Event()
    settings = ConnectionSettings(bootstrap=(server,), **USER)
    handshake = Handshakes(settings, wakeup=has_ended.set, clock=time.monotonic).create(server, is_first=True)
    handshake.first_request()
    assert has_ended.wait(10)
    assert library.contexts[0].host == "kafka@b1.test"


def test_a_slow_kdc_delays_no_handshake_of_another_broker(use_library: UseLibrary) -> None:
    is_released = threading.Event()
    use_library(get_ticket=lambda _service: is_released.wait(10))
    threading.Timer(0.8, is_released.set).start()
    settings = {**USER, "connect_timeout_s": 0.5}
    with KerberosCluster(brokers=1, groups=GROUPS) as cluster, GroupAdmin(cluster.settings(**settings)) as admin:
        assert "a" in admin.list_groups().all()
    assert [request.api for request in cluster.requests_of("SaslHandshake")] == ["SaslHandshake"]


def test_a_silent_kdc_ends_the_command_at_its_timeout(use_library: UseLibrary) -> None:
    is_released = threading.Event()
    use_library(get_ticket=lambda _service: is_released.wait(15))
    began = time.monotonic()
    with (
        KerberosCluster(brokers=1) as cluster,
        GroupAdmin(cluster.settings(**USER, timeout_s=1.0)) as admin,
        pytest.raises(TicketFailedError) as caught,
    ):
        admin.list_groups()
    is_released.set()
    assert time.monotonic() - began < 5
    assert str(caught.value) == (
        "cannot log in: the KDC took too long: it returned no Kerberos ticket within 0.9 s; check the network, and the "
        "address of the KDC in krb5.conf"
    )


def test_a_user_without_a_ticket_fails_once_for_all_servers(use_library: UseLibrary) -> None:
    def fail(_options: object) -> None:
        raise FakeError(141, "No Kerberos credentials available")

    use_library(acquire=fail)
    with KerberosCluster(brokers=2) as cluster:
        servers = tuple(broker.endpoint for broker in cluster.brokers.values())
        with cluster.clock.client(_at(cluster, servers)) as admin, pytest.raises(TicketFailedError) as caught:
            admin.list_groups()
    assert str(caught.value) == (
        "cannot log in: there is no Kerberos ticket (No Kerberos credentials available); run kinit, or set "
        "sasl.kerberos.keytab"
    )
    assert (caught.value.name, cluster.messages) == ("AUTHENTICATION_FAILED", [])


def test_a_server_that_the_kdc_does_not_know_leaves_the_others(use_library: UseLibrary) -> None:
    def get_ticket(service: str) -> None:
        if service == "kafka@localhost":
            raise FakeError(7, "Server not found")

    use_library(get_ticket=get_ticket)
    with KerberosCluster(brokers=1, groups={"a": Group(coordinator=1)}) as cluster:
        known = cluster.brokers[1].endpoint
        unknown = Endpoint(host="localhost", port=known.port)
        with GroupAdmin(_at(cluster, (unknown, known))) as admin:
            assert list(admin.list_groups().all()) == ["a"]
        with GroupAdmin(_at(cluster, (unknown,))) as admin, pytest.raises(ServiceUnknownError) as caught:
            admin.list_groups()
    assert str(caught.value).startswith(
        f"cannot connect to {unknown}: the KDC does not know the service kafka/localhost"
    )


def test_a_refused_ticket_is_explained(use_library: UseLibrary) -> None:
    use_library()
    with (
        KerberosCluster(brokers=1, accepts=lambda _message: False) as cluster,
        cluster.admin(**USER) as admin,
        pytest.raises(AuthenticationFailedError, match=r"the Kerberos ticket of alice@KAFKA\.TEST for kafka/127"),
    ):
        admin.list_groups()


def test_a_connection_that_is_closed_during_the_exchange_names_what_to_check(use_library: UseLibrary) -> None:
    use_library()
    with KerberosCluster(brokers=1) as cluster:
        cluster.brokers[1].script("SaslAuthenticate", *[drops] * 9)
        with cluster.admin(**USER) as admin, pytest.raises(ConnectionFailedError) as caught:
            admin.list_groups()
    step = "; check sasl.kerberos.service.name and the clocks, and whether the listener supports GSSAPI"
    assert step in str(caught.value)


def test_a_session_that_ends_gets_another_context(use_library: UseLibrary) -> None:
    library = use_library()
    with (
        KerberosCluster(brokers=1, groups={"a": Group(coordinator=1)}) as cluster,
        cluster.admin(**USER) as admin,
    ):
        admin.list_groups()
        cluster.brokers[1].close_connections()
        admin.list_groups()
    assert len(library.contexts) == 2


def test_a_library_that_cannot_be_loaded_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with (
        KerberosCluster(brokers=1) as cluster,
        cluster.admin(**USER) as admin,
        pytest.raises(TicketFailedError, match=r"^cannot log in: the library gssapi cannot be loaded \(.*; run pip"),
    ):
        admin.list_groups()


def _at(cluster: KerberosCluster, servers: tuple[Endpoint, ...]) -> ConnectionSettings:
    return replace(cluster.settings(**USER), bootstrap=servers)
