"""Peers that close the connection at the first request: it is sent once more, in the first version."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.extra_connections import FIRST_EXTRA
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.model import Broker
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.settings import ConnectionSettings, Endpoint, PasswordCredentials, Tls
from tests.admin.network.tls_listener import tls_broker
from tests.fakes.raw_port import responding
from tests.fakes.reactions import ReceivedRequest, changed, delayed, drops
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)

USER = PasswordCredentials(mechanism="PLAIN", username="me", password="geheim")


def drops_newer(request: ReceivedRequest, response: Struct) -> Struct | None:
    """Close the connection at a version of ApiVersions after the first one."""
    return response if request.version == 0 else None


def old_broker(**values: Any) -> ScriptedBroker:
    """Return a broker that closes each connection at ApiVersions in a version after the first one."""

    def respond(request: ReceivedRequest) -> Struct:
        match request.api:
            case "Metadata":
                return {"brokers": [{"node_id": 1, "host": broker.endpoint.host, "port": broker.endpoint.port}]}
            case "SaslHandshake":
                return {"mechanisms": ["PLAIN"]}
        return {"groups": [{"group_id": "orders"}]}

    broker = ScriptedBroker(respond, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}, **values)
    broker.script("ApiVersions", *[drops_newer] * 100)
    return broker


def sent(broker: ScriptedBroker) -> list[tuple[str, int]]:
    return [(request.api, request.version) for request in broker.received]


def error_text(settings: ConnectionSettings, *, clock: SimulatedClock | None = None) -> str:
    with clock.client(settings) if clock else GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
        admin.list_groups()
    return str(caught.value)


def test_a_broker_that_closes_the_connection_at_a_newer_request_is_asked_in_version_0() -> None:
    with old_broker() as broker, GroupAdmin(broker.settings()) as admin:
        assert list(admin.list_groups().all()) == ["orders"]
        assert sent(broker)[:3] == [("ApiVersions", 3), ("ApiVersions", 0), ("Metadata", 13)]
        assert [api for api, _ in sent(broker)].count("ApiVersions") == 2


def test_a_connection_that_is_reset_at_the_first_request_is_tried_again() -> None:
    def reset(connection: socket.socket) -> None:
        connections.append(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    connections: list[socket.socket] = []
    with responding(after=8, then=reset) as endpoint:
        text = error_text(ConnectionSettings(bootstrap=(endpoint,), timeout_s=30.0))
    assert len(connections) == 2
    assert "reset by peer at the first request; the listener may require TLS" in text


def test_the_user_is_authenticated_after_the_first_version() -> None:
    with old_broker() as broker, GroupAdmin(broker.settings(credentials=USER)) as admin:
        assert list(admin.list_groups().all()) == ["orders"]
        assert sent(broker)[:4] == [
            ("ApiVersions", 3),
            ("ApiVersions", 0),
            ("SaslHandshake", 1),
            ("SaslAuthenticate", 2),
        ]


def test_a_refused_user_of_an_old_broker_is_reported_as_such() -> None:
    with old_broker() as broker:
        broker.script("SaslAuthenticate", changed(error_code=58, error_message="wrong"))
        with GroupAdmin(broker.settings(credentials=USER)) as admin, pytest.raises(AuthenticationFailedError):
            admin.list_groups()


def test_a_tls_connection_is_made_again_too(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker, GroupAdmin(broker.settings(tls=Tls(ca_file=str(file)))) as admin:
        broker.script("ApiVersions", *[drops_newer] * 4)
        assert list(admin.list_groups().all()) == ["orders"]
        assert sent(broker)[:2] == [("ApiVersions", 3), ("ApiVersions", 0)]


def test_a_peer_that_closes_both_connections_may_require_tls() -> None:
    with ScriptedBroker() as broker:
        broker.script("ApiVersions", *[drops] * 4)
        text = error_text(broker.settings())
        assert sent(broker) == [("ApiVersions", 3), ("ApiVersions", 0)]
    assert text == (
        f"cannot connect to {broker.endpoint}: closed the connection at the first request; "
        "the listener may require TLS (-X security.protocol=SSL), or may not be Kafka's"
    )


def test_a_peer_that_responded_before_it_closed_is_not_tried_again() -> None:
    def serve(connection: Any) -> None:
        connections.append(connection)

    connections: list[Any] = []
    with responding(struct.pack(">ii", 4, 99), then=serve) as endpoint:
        assert "unknown correlation ID" in error_text(ConnectionSettings(bootstrap=(endpoint,), timeout_s=30.0))
    assert len(connections) == 1


def test_the_address_that_closed_the_connection_is_the_one_that_is_tried_again() -> None:
    with responding() as closing, old_broker() as broker:

        def resolve(_endpoint: Endpoint) -> list[Any]:
            return [
                (socket.AF_INET, (broker.endpoint.host, broker.endpoint.port)),
                (socket.AF_INET, (closing.host, closing.port)),
            ]

        name = ConnectionSettings(bootstrap=(Endpoint(host="kafka.example", port=9092),), timeout_s=30.0)
        with GroupAdmin(name, pool=BrokerPool(name, resolve=resolve)) as admin:
            assert admin.brokers()
        assert sent(broker)[:2] == [("ApiVersions", 3), ("ApiVersions", 0)]


def test_a_second_connection_that_does_not_respond_ends_with_the_setup_timeout() -> None:
    with old_broker() as broker:
        broker._scripts.clear()
        broker.script("ApiVersions", drops, delayed(3))
        text = error_text(broker.settings(connect_timeout_s=0.5), clock=broker.clock)
    assert "accepted the connection but did not respond within 0.5 s" in text


def submit_and_wait(pool: BrokerPool, number: int) -> Response:
    """Return the response to a request on a numbered connection to broker 1."""
    request = Request(LIST_GROUPS, lambda _version: [((), {})], token=None, connection=number)
    responses = pool.submit(1, request)
    deadline = time.monotonic() + 30
    while not responses and time.monotonic() < deadline:
        responses = pool.poll(deadline)
    return responses[0]


@pytest.mark.parametrize("number", [1, FIRST_EXTRA])
def test_a_further_connection_to_an_old_broker_begins_with_version_0(number: int) -> None:
    with old_broker() as broker, contextlib.closing(BrokerPool(broker.settings())) as pool:
        pool.open(time.monotonic() + 30)
        assert submit_and_wait(pool, number).error is None
        assert [each for each in sent(broker) if each[0] == "ApiVersions"] == [
            ("ApiVersions", 3),
            ("ApiVersions", 0),
            ("ApiVersions", 0),
        ]


def test_a_further_connection_to_an_old_broker_with_tls_begins_with_version_0(
    certificate: Callable[[str], Path],
) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker:
        broker.script("ApiVersions", *[drops_newer] * 9)
        with contextlib.closing(BrokerPool(broker.settings(tls=Tls(ca_file=str(file))))) as pool:
            pool.open(time.monotonic() + 30)
            assert submit_and_wait(pool, FIRST_EXTRA).error is None
        assert [version for api, version in sent(broker) if api == "ApiVersions"] == [3, 0, 0]


def test_the_first_connection_to_another_old_broker_may_be_an_extra_one() -> None:
    with old_broker() as broker, old_broker() as other:
        with contextlib.closing(BrokerPool(broker.settings())) as pool:
            pool.open(time.monotonic() + 30)
            pool.update_brokers([Broker(id=1, host=other.endpoint.host, port=other.endpoint.port)])
            assert submit_and_wait(pool, FIRST_EXTRA).error is None
        assert [version for api, version in sent(other) if api == "ApiVersions"] == [3, 0]


def test_a_further_connection_to_a_broker_with_newer_versions_has_one_attempt() -> None:
    with old_broker() as broker, contextlib.closing(BrokerPool(broker.settings())) as pool:
        broker._scripts.clear()
        pool.open(time.monotonic() + 30)
        broker.script("ApiVersions", *[drops] * 4)
        assert submit_and_wait(pool, 1).error is not None
        assert [version for api, version in sent(broker) if api == "ApiVersions"] == [3, 3]
