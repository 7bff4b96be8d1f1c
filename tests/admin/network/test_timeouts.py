"""How long a connection waits: for each address of a name, for a handshake, for an answer that is owed."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kafka_groups.admin.network.channel import Channel
from kafka_groups.admin.network.connection import Connection, Request, Response
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.handshake import Handshake
from kafka_groups.admin.network.resolver import Address
from kafka_groups.admin.network.selector import Selector
from kafka_groups.errors import AdminError, ConnectionFailedError
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.settings import ConnectionSettings, Endpoint, SaslCredentials
from tests.fakes.raw_port import accepting_only, not_taking, refusing
from tests.fakes.scripted_broker import Asked, ScriptedBroker, delayed, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = [pytest.mark.timed, pytest.mark.timeout(20)]

NAME = Endpoint(host="a.name.of.several.addresses", port=9092)


def _addresses(*endpoints: Endpoint) -> list[Address]:
    return [(socket.AF_INET, (endpoint.host, endpoint.port)) for endpoint in endpoints]


def _connect(*endpoints: Endpoint, patience_s: float, login: SaslCredentials | None = None) -> Connection:
    return Connection(
        NAME,
        handshake=Handshake("tester", login),
        make_channel=lambda addresses, _host: Channel(addresses),
        patience_s=patience_s,
        now=time.monotonic(),
        resolve=lambda _endpoint: _addresses(*endpoints),
        wake=lambda: None,
    )


def _drive(connection: Connection, is_enough: Callable[[list[Response]], bool]) -> list[Response]:
    responses: list[Response] = []
    until = time.monotonic() + 5
    while not is_enough(responses):
        responses += connection.advance(time.monotonic())
        assert time.monotonic() < until
        time.sleep(0.001)
    return responses


def _loss(connection: Connection) -> AdminError:
    with pytest.raises(AdminError) as caught:
        _drive(connection, lambda _replies: False)
    connection.abandon(caught.value)
    return caught.value


def _listing() -> Request:
    return Request(api=LIST_GROUPS, bodies=lambda _version: [("all", {})], token=None)


def test_an_address_that_does_not_answer_leaves_time_for_the_next() -> None:
    with not_taking() as silent, ScriptedBroker() as broker:
        started = time.monotonic()
        connection = _connect(silent, silent, broker.endpoint, patience_s=1.5)
        _drive(connection, lambda _replies: connection.versions is not None)
        assert 0.9 <= time.monotonic() - started < 1.5
        connection.abandon(ConnectionFailedError("closed"))


def test_the_share_of_an_address_that_refuses_goes_to_the_others() -> None:
    with refusing() as dead, not_taking() as silent, ScriptedBroker() as broker:
        started = time.monotonic()
        connection = _connect(dead, silent, broker.endpoint, patience_s=1.0)
        _drive(connection, lambda _replies: connection.versions is not None)
        assert 0.45 <= time.monotonic() - started < 1.0
        connection.abandon(ConnectionFailedError("closed"))


def test_the_owner_is_told_to_wake_for_the_next_address() -> None:
    with not_taking() as silent:
        started = time.monotonic()
        connection = _connect(silent, silent, patience_s=8.0)
        _drive(connection, lambda _replies: connection.channel is not None)
        wakes_at = connection.wakes_at()
        assert wakes_at is not None
        assert wakes_at - started == pytest.approx(4.0, abs=0.3)
        connection.advance(wakes_at)
        assert connection.wakes_at() == pytest.approx(started + 8.0, abs=0.3)
        connection.abandon(ConnectionFailedError("closed"))


def test_when_no_address_answers_the_whole_patience_is_told() -> None:
    with not_taking() as silent:
        started = time.monotonic()
        error = _loss(_connect(silent, silent, silent, patience_s=0.6))
        assert 0.6 <= time.monotonic() - started < 2
    assert str(error) == "it did not take the connection within 0.6 s"


LOGIN = SaslCredentials(mechanism="PLAIN", username="me", password="x")


def _guarded() -> ScriptedBroker:
    def answer(asked: Asked) -> Struct:
        return {"mechanisms": ["PLAIN"]} if asked.api == "SaslHandshake" else {"auth_bytes": b""}

    return ScriptedBroker(answer, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)})


def test_a_broker_that_thinks_about_a_login_has_the_patience_for_each_turn() -> None:
    with _guarded() as broker:
        broker.script("SaslHandshake", delayed(0.4))
        broker.script("SaslAuthenticate", delayed(0.4))
        connection = _connect(broker.endpoint, patience_s=0.6, login=LOGIN)
        _drive(connection, lambda _replies: connection.versions is not None)
        assert [api for api, _ in connection.sent] == ["ApiVersions", "SaslHandshake", "SaslAuthenticate"]
        connection.abandon(ConnectionFailedError("closed"))


@pytest.mark.parametrize("turn", ["SaslHandshake", "SaslAuthenticate"])
def test_a_login_that_is_not_answered_is_told_as_what_it_is(turn: str) -> None:
    with _guarded() as broker:
        broker.script(turn, silent)
        error = _loss(_connect(broker.endpoint, patience_s=0.4, login=LOGIN))
    assert str(error) == "it took the connection but did not answer the login within 0.4 s"


def test_an_address_that_took_the_connection_is_not_left_for_another() -> None:
    with accepting_only() as mute, ScriptedBroker() as broker:
        error = _loss(_connect(mute, broker.endpoint, patience_s=0.4))
        assert broker.asked == []
    assert str(error) == "it took the connection but did not answer within 0.4 s"


def test_a_cluster_is_reached_through_the_address_that_answers() -> None:
    with not_taking() as silent, ScriptedBroker() as broker:
        settings = ConnectionSettings(bootstrap=(NAME,), connect_timeout_s=1.0)
        pool = BrokerPool(settings, resolve=lambda _endpoint: _addresses(silent, broker.endpoint))
        started = time.monotonic()
        pool.open(started + 5)
        assert 0.45 <= time.monotonic() - started < 1.0
        pool.close()


def test_an_answer_is_overdue_when_nothing_came_for_longer_than_the_patience() -> None:
    with ScriptedBroker(lambda _asked: {"groups": []}) as broker:
        broker.hold("ListGroups", until=2)
        connection = _connect(broker.endpoint, patience_s=5.0)
        assert not connection.overdue(time.monotonic() + 100, 3.0)
        _drive(connection, lambda _replies: connection.versions is not None)
        assert not connection.overdue(time.monotonic() + 100, 3.0)
        asked_at = time.monotonic() + 50
        connection.submit(_listing(), asked_at)
        assert not connection.overdue(asked_at + 2.9, 3.0)
        assert connection.overdue(asked_at + 3.1, 3.0)
        connection.submit(_listing(), asked_at + 2)
        assert connection.overdue(asked_at + 3.1, 3.0)
        _drive(connection, lambda responses: len(responses) == 2)
        assert not connection.overdue(asked_at + 100, 3.0)
        connection.abandon(ConnectionFailedError("closed"))


@contextlib.contextmanager
def _watch() -> Iterator[Selector]:
    watch = Selector()
    try:
        yield watch
    finally:
        watch.close()


@pytest.mark.parametrize("seconds", [30 * 86_400.0, 1e20, math.inf])
def test_no_wait_is_too_long_for_the_system(seconds: float) -> None:
    with _watch() as watch:
        bell = threading.Timer(0.05, watch.ring)
        bell.start()
        watch.wait(seconds)
        bell.join()


def test_a_deadline_without_end_is_a_deadline() -> None:
    with (
        ScriptedCluster(groups={"g": Group()}) as cluster,
        cluster.admin(timeout_s=math.inf, connect_timeout_s=math.inf) as admin,
    ):
        assert list(admin.list_groups().succeeded) == ["g"]
