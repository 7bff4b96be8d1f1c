"""Timeouts of a connection: for each address of a host name, for the handshake, for an outstanding response."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from kafka_groups.admin.network.channel import Address, Channel
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.handshake import Handshake
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.admin.network.selector import Selector
from kafka_groups.errors import AdminError, BrokerTimeoutError, ConnectionFailedError
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.settings import ConnectionSettings, Endpoint, PasswordCredentials
from tests.fakes.raw_port import accepting_only, not_accepting, refusing
from tests.fakes.reactions import ReceivedRequest, delayed, silent
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock, SimulatedSelector

pytestmark = pytest.mark.timeout(20)

NAME = Endpoint(host="a.name.of.several.addresses", port=9092)


def _addresses(*endpoints: Endpoint) -> list[Address]:
    return [(socket.AF_INET, (endpoint.host, endpoint.port)) for endpoint in endpoints]


@pytest.fixture
def waiting() -> Iterator[SimulatedSelector]:
    selector = SimulatedSelector(SimulatedClock())
    yield selector
    selector.close()


def _connect(
    waiting: SimulatedSelector,
    *endpoints: Endpoint,
    setup_timeout_s: float,
    credentials: PasswordCredentials | None = None,
) -> Connection:
    return Connection(
        NAME,
        handshake=Handshake("tester", credentials),
        make_channel=lambda addresses, _host: Channel(addresses),
        setup_timeout_s=setup_timeout_s,
        now=waiting.clock(),
        resolve=lambda _endpoint: _addresses(*endpoints),
        wakeup=waiting.wakeup,
    )


def _advance(
    waiting: SimulatedSelector, connection: Connection, is_enough: Callable[[list[Response]], bool]
) -> list[Response]:
    responses: list[Response] = []
    while True:
        responses += connection.advance(waiting.clock())
        waiting.register(connection)
        if is_enough(responses):
            return responses
        wakes_at = connection.wakes_at()
        waiting.select(60.0 if wakes_at is None else wakes_at - waiting.clock())


def _loss(waiting: SimulatedSelector, connection: Connection) -> AdminError:
    with pytest.raises(AdminError) as caught:
        _advance(waiting, connection, lambda _responses: False)
    connection.close(caught.value)
    return caught.value


def _listing() -> Request:
    return Request(api=LIST_GROUPS, bodies=lambda _version: [("all", {})], token=None)


def test_an_address_that_does_not_accept_leaves_time_for_the_next(waiting: SimulatedSelector) -> None:
    with not_accepting() as silent, ScriptedBroker(clock=waiting.clock) as broker:
        started = waiting.clock()
        connection = _connect(waiting, silent, silent, broker.endpoint, setup_timeout_s=1.5)
        _advance(waiting, connection, lambda _responses: connection.versions is not None)
        assert 0.9 <= waiting.clock() - started < 1.5
        connection.close(ConnectionFailedError("closed"))


def test_the_time_of_an_address_that_refuses_is_left_to_the_others(waiting: SimulatedSelector) -> None:
    with refusing() as dead, not_accepting() as silent, ScriptedBroker(clock=waiting.clock) as broker:
        started = waiting.clock()
        connection = _connect(waiting, dead, silent, broker.endpoint, setup_timeout_s=1.0)
        _advance(waiting, connection, lambda _responses: connection.versions is not None)
        assert 0.45 <= waiting.clock() - started < 1.0
        connection.close(ConnectionFailedError("closed"))


def test_the_connection_returns_when_to_try_the_next_address(waiting: SimulatedSelector) -> None:
    with not_accepting() as silent:
        started = waiting.clock()
        connection = _connect(waiting, silent, silent, setup_timeout_s=8.0)
        _advance(waiting, connection, lambda _responses: connection.channel is not None)
        wakes_at = connection.wakes_at()
        assert wakes_at is not None
        assert wakes_at - started == pytest.approx(4.0, abs=0.01)
        connection.advance(wakes_at)
        assert connection.wakes_at() == pytest.approx(started + 8.0, abs=0.01)
        connection.close(ConnectionFailedError("closed"))


def test_when_no_address_accepts_the_error_has_the_whole_setup_timeout(waiting: SimulatedSelector) -> None:
    with not_accepting() as silent:
        started = waiting.clock()
        error = _loss(waiting, _connect(waiting, silent, silent, silent, setup_timeout_s=0.6))
        assert 0.6 <= waiting.clock() - started < 2
    assert str(error) == "did not accept the connection within 0.6 s"


def test_a_listener_that_never_responds_fails_after_the_setup_timeout(waiting: SimulatedSelector) -> None:
    with accepting_only() as mute:
        started = waiting.clock()
        error = _loss(waiting, _connect(waiting, mute, setup_timeout_s=0.3))
        assert waiting.clock() - started == pytest.approx(0.3, abs=0.01)
    assert type(error) is BrokerTimeoutError
    assert str(error) == "accepted the connection but did not respond within 0.3 s"


CREDENTIALS = PasswordCredentials(mechanism="PLAIN", username="me", password="x")


def _sasl_broker(clock: SimulatedClock) -> ScriptedBroker:
    def respond(request: ReceivedRequest) -> Struct:
        return {"mechanisms": ["PLAIN"]} if request.api == "SaslHandshake" else {"auth_bytes": b""}

    return ScriptedBroker(respond, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}, clock=clock)


def test_each_request_of_sasl_authentication_has_the_setup_timeout(waiting: SimulatedSelector) -> None:
    with _sasl_broker(waiting.clock) as broker:
        broker.script("SaslHandshake", delayed(0.4))
        broker.script("SaslAuthenticate", delayed(0.4))
        connection = _connect(waiting, broker.endpoint, setup_timeout_s=0.6, credentials=CREDENTIALS)
        _advance(waiting, connection, lambda _responses: connection.versions is not None)
        assert [api for api, _ in connection.sent] == ["ApiVersions", "SaslHandshake", "SaslAuthenticate"]
        connection.close(ConnectionFailedError("closed"))


@pytest.mark.parametrize("api", ["SaslHandshake", "SaslAuthenticate"])
def test_a_broker_that_does_not_respond_to_sasl_is_reported_as_such(waiting: SimulatedSelector, api: str) -> None:
    with _sasl_broker(waiting.clock) as broker:
        broker.script(api, silent)
        error = _loss(waiting, _connect(waiting, broker.endpoint, setup_timeout_s=0.4, credentials=CREDENTIALS))
    assert str(error) == "accepted the connection but did not respond to SASL within 0.4 s"


def test_an_address_that_accepted_is_not_replaced_by_another(waiting: SimulatedSelector) -> None:
    with accepting_only() as mute, ScriptedBroker(clock=waiting.clock) as broker:
        error = _loss(waiting, _connect(waiting, mute, broker.endpoint, setup_timeout_s=0.4))
        assert broker.received == []
    assert str(error) == "accepted the connection but did not respond within 0.4 s"


def test_a_cluster_is_connected_through_the_address_that_accepts() -> None:
    with not_accepting() as silent, ScriptedCluster(brokers=1) as cluster:
        settings = ConnectionSettings(bootstrap=(NAME,), connect_timeout_s=1.0)
        addresses = _addresses(silent, cluster.brokers[1].endpoint)
        pool = cluster.clock.pool(settings, resolve=lambda _endpoint: addresses)
        started = cluster.clock()
        pool.open(started + 5)
        assert 0.45 <= cluster.clock() - started < 1.0
        pool.close()


def test_a_connection_is_idle_when_nothing_arrives_for_longer_than_the_timeout(waiting: SimulatedSelector) -> None:
    with ScriptedBroker(lambda _request: {"groups": []}, clock=waiting.clock) as broker:
        broker.hold("ListGroups", until=2)
        connection = _connect(waiting, broker.endpoint, setup_timeout_s=5.0)
        assert not connection.is_idle(waiting.clock() + 100, 3.0)
        _advance(waiting, connection, lambda _responses: connection.versions is not None)
        assert not connection.is_idle(waiting.clock() + 100, 3.0)
        sent_at = waiting.clock() + 50
        connection.submit(_listing(), sent_at)
        assert not connection.is_idle(sent_at + 2.9, 3.0)
        assert connection.is_idle(sent_at + 3.1, 3.0)
        connection.submit(_listing(), sent_at + 2)
        assert connection.is_idle(sent_at + 3.1, 3.0)
        _advance(waiting, connection, lambda responses: len(responses) == 2)
        assert not connection.is_idle(sent_at + 100, 3.0)
        connection.close(ConnectionFailedError("closed"))


@contextlib.contextmanager
def _selector() -> Iterator[Selector]:
    selector = Selector()
    try:
        yield selector
    finally:
        selector.close()


@pytest.mark.parametrize("seconds", [30 * 86_400.0, 1e20, math.inf])
def test_no_timeout_is_too_long_for_the_system(seconds: float) -> None:
    with _selector() as selector:
        timer = threading.Timer(0.05, selector.wakeup)
        timer.start()
        selector.select(seconds)
        timer.join()


def test_an_infinite_timeout_is_accepted() -> None:
    with (
        ScriptedCluster(groups={"g": Group()}) as cluster,
        cluster.admin(timeout_s=math.inf, connect_timeout_s=math.inf) as admin,
    ):
        assert list(admin.list_groups().succeeded) == ["g"]
