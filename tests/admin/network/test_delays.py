"""What a connection waits for: the throttle time, capacity for requests in flight, and a broker that is late."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.admin import Topic
from kafka_groups.admin.network.channel import Address, Channel
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.handshake import Handshake
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.errors import BrokerTimeoutError, ConnectionFailedError
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import not_accepting
from tests.fakes.reactions import ReceivedRequest, changed, throttled
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.scripted_cluster import ScriptedCluster, topic_id

pytestmark = pytest.mark.timeout(20)

LISTED: Struct = {"groups": []}
TOPIC = Topic("t", topic_id("t"), internal=False, partitions=(0,), leaders={0: 1})


def _connect(endpoint: Endpoint) -> Connection:
    return Connection(
        endpoint,
        handshake=Handshake("tester"),
        make_channel=lambda addresses, _host: Channel(addresses),
        setup_timeout_s=30.0,
        now=time.monotonic(),
        resolve=lambda _endpoint: [],
        wakeup=lambda: None,
    )


def _listing(token: Any = None, *parts: Any, for_any_broker: bool = False) -> Request:
    bodies: list[tuple[Any, Mapping[str, Any]]] = [(part, {}) for part in parts or ("all",)]
    return Request(api=LIST_GROUPS, bodies=lambda _version: bodies, token=token, for_any_broker=for_any_broker)


def _advance(connection: Connection, *, responses: int) -> list[Response]:
    taken: list[Response] = []
    until = time.monotonic() + 30
    while len(taken) < responses or connection.versions is None:
        taken += connection.advance(time.monotonic())
        assert time.monotonic() < until, f"{len(taken)} of {responses} responses arrived"
        time.sleep(0.001)
    return taken


def test_a_throttled_connection_sends_no_request_until_the_throttle_time_is_over() -> None:
    def throttle(_request: ReceivedRequest) -> Struct:
        return {"groups": [], "throttle_time_ms": 60_000}

    with ScriptedBroker(throttle) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing("first"), time.monotonic())
        _advance(connection, responses=1)
        connection.submit(_listing("second"), time.monotonic())
        wakes_at = connection.wakes_at()
        assert wakes_at is not None
        assert 55 < wakes_at - time.monotonic() < 60
        assert connection.reason_for_delay(wakes_at - 20.0) == "throttles this client for another 20 s"
        assert connection.sent == {("ApiVersions", 3): 1, ("ListGroups", 5): 1}
        connection.advance(wakes_at)
        assert connection.sent == {("ApiVersions", 3): 1, ("ListGroups", 5): 2}
        connection.close(ConnectionFailedError("closed"))


def test_at_most_64_requests_are_in_flight_and_the_rest_waits_for_responses() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        broker.hold("ListGroups", until=1000)
        connection = _connect(broker.endpoint)
        _advance(connection, responses=0)
        connection.submit(_listing("many", *range(100)), time.monotonic())
        assert connection.sent["ListGroups", 5] == 64
        assert connection.wakes_at() is None
        assert connection.reason_for_delay(time.monotonic()) == "has sent nothing for 0 s"
        connection.close(ConnectionFailedError("closed"))


def test_a_throttled_connection_without_a_request_waits_for_nothing() -> None:
    with ScriptedBroker(lambda _request: {"groups": [], "throttle_time_ms": 60_000}) as broker:
        connection = _connect(broker.endpoint)
        connection.submit(_listing(), time.monotonic())
        _advance(connection, responses=1)
        assert connection.is_throttled(time.monotonic())
        assert connection.reason_for_delay(time.monotonic()) is None
        connection.close(ConnectionFailedError("closed"))


def test_a_connection_is_idle_once_nothing_was_received_for_longer_than_the_time() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        broker.hold("ListGroups", until=2)
        connection = _connect(broker.endpoint)
        _advance(connection, responses=0)
        now = time.monotonic()
        assert not connection.is_idle(now + 9.0, 1.0)
        connection.submit(_listing(for_any_broker=True), now)
        assert (connection.is_idle(now + 0.5, 1.0), connection.is_idle(now + 1.5, 1.0)) == (False, True)
        assert (connection.may_release(now + 0.5, 1.0), connection.may_release(now + 1.5, 1.0)) == (False, True)
        connection.close(ConnectionFailedError("closed"))


def test_the_late_response_to_a_released_request_is_ignored() -> None:
    with ScriptedBroker(lambda _request: LISTED) as broker:
        broker.hold("ListGroups", until=2)
        connection = _connect(broker.endpoint)
        connection.submit(_listing("moved", for_any_broker=True), time.monotonic())
        _advance(connection, responses=0)
        released = connection.release(BrokerTimeoutError("silent"))
        assert [(each.request.token, str(each.error)) for each in released] == [("moved", "silent")]
        connection.submit(_listing("later"), time.monotonic())
        assert [each.request.token for each in _advance(connection, responses=1)] == ["later"]
        connection.close(ConnectionFailedError("closed"))


def test_a_request_for_any_broker_goes_to_one_that_is_not_throttled() -> None:
    with ScriptedCluster(brokers=2, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", throttled(60_000), brokers=[1])
        admin.list_groups()
        started = cluster.clock()
        assert admin.describe_topics(["t"]).all() == {"t": TOPIC}
        assert cluster.clock() - started < 2.0
        assert [each.broker for each in cluster.requests_of("Metadata")] == [1, 2]


def test_a_leader_is_looked_up_again_on_a_broker_that_is_starting() -> None:
    with ScriptedCluster(brokers=1, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", changed(brokers=[], topics=[]))
        assert admin.list_offsets([("t", 0)]).all() == {("t", 0): 100}
        assert cluster.requests()["Metadata"] == 2


def test_the_addresses_of_the_last_server_share_a_timeout_that_is_shorter_than_the_connect_timeout() -> None:
    with not_accepting() as dead, ScriptedCluster(brokers=1) as cluster:
        addresses: list[Address] = [
            (socket.AF_INET, (each.host, each.port)) for each in (dead, cluster.brokers[1].endpoint)
        ]
        settings = ConnectionSettings(
            bootstrap=(Endpoint(host="two.addresses", port=9092),), timeout_s=1.0, connect_timeout_s=30.0
        )
        with cluster.clock.client(settings, resolve=lambda _endpoint: addresses) as admin:
            assert sorted(admin.brokers()) == [1]
