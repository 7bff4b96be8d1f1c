"""One connection for each address: shared by the requests to its broker and those to any broker."""

from __future__ import annotations

import socket

import pytest

from kafka_groups.admin.network import connection_pool
from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import not_accepting
from tests.fakes.reactions import ReceivedRequest, delayed, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timeout(20)

_LOADING, _NOT_COORDINATOR = 14, 16


def test_a_broker_that_hangs_up_and_accepts_no_other_connection_costs_only_its_own_groups() -> None:
    # Group "a" then waits for its broker and "b" for a lookup, both by the connection that does not open.
    groups = {"a": Group(error=_LOADING), "b": Group(error=_NOT_COORDINATOR), "c": Group(commits={("t", 0): 5})}
    name = Endpoint(host="kafka.example", port=9092)
    with ScriptedCluster(brokers=1, groups=groups, advertised={1: name}) as cluster, not_accepting() as full:
        places = iter([cluster.brokers[1].endpoint])

        def resolve(_endpoint: Endpoint) -> list[Address]:
            place = next(places, full)
            return [(socket.AF_INET, (place.host, place.port))]

        def hang_up() -> None:
            cluster.clock.sleep(0.03)
            cluster.brokers[1].close_connections()

        def hang_up_later(_request: ReceivedRequest, response: Struct) -> Struct:
            cluster.clock.start_thread(hang_up)
            return response

        settings = ConnectionSettings(bootstrap=(name,), timeout_s=3.0, connect_timeout_s=0.5)
        with cluster.clock.client(settings, resolve=resolve) as admin:
            admin.brokers()
            cluster.script("OffsetFetch", hang_up_later)
            results = admin.list_consumer_group_offsets(dict.fromkeys(groups))
            assert list(results.succeeded) == ["c"]
            assert {group: failure.name for group, failure in results.failed.items()} == {
                "a": "TIMEOUT",
                "b": "TIMEOUT",
            }


def test_a_silent_bootstrap_connection_does_not_shorten_the_setup_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts: dict[int, float] = {}
    connect = BrokerPool._connect

    def record(pool: BrokerPool, endpoint: Endpoint, setup_timeout_s: float, number: int = 0) -> object:
        timeouts[endpoint.port] = setup_timeout_s
        return connect(pool, endpoint, setup_timeout_s, number)

    monkeypatch.setattr(BrokerPool, "_connect", record)
    with ScriptedCluster(brokers=3, groups={"g": Group(coordinator=3)}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("FindCoordinator", silent, brokers=[1])
        assert list(admin.list_consumer_group_offsets({"g": None}, timeout=4.0).all()) == ["g"]
        assert timeouts[cluster.brokers[2].endpoint.port] > 0.9
        assert timeouts[cluster.brokers[3].endpoint.port] > 1.0


def test_a_broker_that_responds_again_has_the_whole_setup_timeout() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin(timeout_s=5.0) as admin:
        admin.list_groups()
        cluster.script("ListGroups", silent)
        assert list(admin.list_groups(timeout=1.2).failed) == [1]
        # The next listing opens a new connection, because the old one owes a response.
        assert admin.list_groups().failed == {}
        assert len(cluster.requests_of("ApiVersions")) == 2
        assert admin._pool._bootstrap.failed(cluster.clock()) == set()


def test_a_connection_that_was_not_used_for_minutes_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "_LONGEST_REUSE_S", 0.05)
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin:
        admin.list_groups().all()
        cluster.clock.sleep(0.1)
        admin.list_groups().all()
        assert len(cluster.requests_of("ApiVersions")) == 2


def test_a_silent_broker_delays_a_lookup_for_half_of_the_timeout() -> None:
    with ScriptedCluster(brokers=2, groups={"g": Group(coordinator=2)}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("FindCoordinator", silent, brokers=[1])
        started = cluster.clock()
        assert list(admin.list_consumer_group_offsets({"g": None}, timeout=2.0).all()) == ["g"]
        assert 0.9 < cluster.clock() - started < 1.7


def test_the_only_broker_has_all_the_time_for_a_lookup() -> None:
    with ScriptedCluster(brokers=1, groups={"g": Group()}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("FindCoordinator", delayed(0.8))
        assert list(admin.list_consumer_group_offsets({"g": None}, timeout=1.2).all()) == ["g"]
        assert cluster.requests()["FindCoordinator"] == 1


def test_a_lookup_avoids_a_server_that_was_silent() -> None:
    with ScriptedCluster(brokers=2) as cluster:
        one, two = (cluster.brokers[number].endpoint for number in (1, 2))
        with cluster.clock.client(ConnectionSettings(bootstrap=(one, two))) as admin:
            admin.brokers()
            admin._pool._bootstrap.note_failure(one, until=cluster.clock() + 5, silent=True)
            assert admin._pool.responsive_brokers() == [2]
            admin.list_topics()
        assert [request.broker for request in cluster.requests_of("Metadata")] == [1, 2]
