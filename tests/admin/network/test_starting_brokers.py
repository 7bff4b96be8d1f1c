"""Bootstrap servers that are starting: they refuse connections, or know no brokers yet."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from kafka_groups.admin.network.bootstrap import retry_until
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BrokerTimeoutError,
    NoBrokersError,
    NoConnectionError,
    TlsFailedError,
)
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import refusing
from tests.fakes.reactions import changed, delayed, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)

SERVER = Endpoint(host="b1", port=9092)
NO_BROKERS = changed(brokers=[])


def _cluster(brokers: int = 1) -> ScriptedCluster:
    return ScriptedCluster(brokers=brokers, groups={"orders": Group()})


def test_a_broker_that_knows_no_brokers_yet_is_requested_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("Metadata", NO_BROKERS, NO_BROKERS)
        assert list(admin.list_groups().all()) == ["orders"]
        assert len(cluster.requests_of("Metadata")) == 3


def test_the_next_server_is_used_if_the_first_knows_no_brokers_yet() -> None:
    with _cluster(brokers=2) as cluster:
        cluster.script("Metadata", NO_BROKERS, brokers=[1])
        servers = tuple(broker.endpoint for broker in cluster.brokers.values())
        with cluster.clock.client(ConnectionSettings(bootstrap=servers, timeout_s=5.0)) as admin:
            assert list(admin.list_groups().all()) == ["orders"]
        assert [request.broker for request in cluster.requests_of("Metadata")] == [1, 2]


def test_a_cluster_that_knows_no_brokers_until_the_deadline_is_an_error_and_not_an_empty_cluster() -> None:
    with _cluster() as cluster, cluster.admin(timeout_s=0.6) as admin:
        cluster.script("Metadata", *[NO_BROKERS] * 50)
        started = cluster.clock()
        with pytest.raises(AdminError, match="its metadata contains no brokers; it may be starting") as caught:
            admin.list_groups()
        assert cluster.clock() - started < 2
        assert caught.value.name == "CONNECTION_FAILED"
        assert len(cluster.requests_of("Metadata")) > 1


def test_a_poll_whose_metadata_has_no_brokers_keeps_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.admin.cluster_client._METADATA_MAX_AGE_S", 0.0)
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("Metadata", NO_BROKERS)
        assert list(admin.list_groups().all()) == ["orders"]


@contextlib.contextmanager
def _late(cluster: ScriptedCluster, delay_s: float) -> Iterator[Endpoint]:
    """Yield an address that refuses connections, and after the delay passes one on to the first broker."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        cluster.clock.start_thread(_forward, listener, cluster, delay_s)
        yield Endpoint(host="127.0.0.1", port=listener.getsockname()[1])


def _forward(listener: socket.socket, cluster: ScriptedCluster, delay_s: float) -> None:
    cluster.clock.sleep(delay_s)
    listener.listen()
    cluster.clock.until_readable(listener)
    client = listener.accept()[0]
    target = cluster.brokers[1].endpoint
    server = socket.create_connection((target.host, target.port))
    for source, sink in ((client, server), (server, client)):
        cluster.clock.start_thread(_copy, cluster.clock, source, sink)


def _copy(clock: SimulatedClock, source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError), source, sink:
        clock.until_readable(source)
        while chunk := source.recv(65536):
            sink.sendall(chunk)
            clock.until_readable(source)


def test_a_server_that_refuses_connections_is_tried_again_for_a_tenth_of_the_timeout() -> None:
    with (
        _cluster() as cluster,
        _late(cluster, 0.3) as endpoint,
        cluster.clock.client(ConnectionSettings(bootstrap=(endpoint,), timeout_s=15.0)) as admin,
    ):
        assert list(admin.list_groups().all()) == ["orders"]


def test_a_wrong_port_is_reported_within_a_tenth_of_the_timeout() -> None:
    clock = SimulatedClock()
    with refusing() as dead, clock.client(ConnectionSettings(bootstrap=(dead,), timeout_s=5.0)) as admin:
        started = clock()
        with pytest.raises(AdminError, match="connection refused"):
            admin.list_groups()
        assert 0.1 < clock() - started < 0.5


@pytest.mark.parametrize(
    ("errors", "until"),
    [
        ([NoConnectionError("")], 13.0),
        ([NoConnectionError(""), NoBrokersError("")], 40.0),
        ([NoBrokersError(""), AuthenticationFailedError("")], 10.0),
        ([BrokerTimeoutError("")], 10.0),
        ([TlsFailedError("")], 10.0),
    ],
    ids=["refused", "one has no brokers", "wrong credentials", "silent", "tls"],
)
def test_only_what_may_pass_is_tried_again(errors: list[AdminError], until: float) -> None:
    assert retry_until([(SERVER, error) for error in errors], 10.0, 40.0) == until


def test_a_server_that_does_not_return_metadata_leaves_time_for_the_next() -> None:
    with _cluster(brokers=2) as cluster:
        cluster.script("Metadata", silent, brokers=[1])
        servers = tuple(broker.endpoint for broker in cluster.brokers.values())
        with cluster.clock.client(ConnectionSettings(bootstrap=servers, timeout_s=2.0)) as admin:
            started = cluster.clock()
            assert sorted(admin.brokers()) == [1, 2]
            assert cluster.clock() - started < 1.6


def test_a_server_has_its_whole_share_of_the_time_for_metadata() -> None:
    with _cluster(brokers=2) as cluster:
        cluster.script("Metadata", delayed(0.8), brokers=[1])
        servers = tuple(broker.endpoint for broker in cluster.brokers.values())
        with cluster.clock.client(ConnectionSettings(bootstrap=servers, timeout_s=2.4)) as admin:
            assert sorted(admin.brokers()) == [1, 2]
        assert [request.broker for request in cluster.requests_of("Metadata")] == [1]
