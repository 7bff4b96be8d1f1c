"""The pool of connections: from bootstrap servers to brokers within the deadline, and the error of each failure."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafka_groups.admin import driver
from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.resolver import Resolve, resolve
from kafka_groups.errors import AdminError, NameNotResolvedError
from kafka_groups.model import Broker, Failure
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import accepting_only, not_accepting, refusing, responding
from tests.fakes.reactions import garbage, silent
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)


@contextlib.contextmanager
def _pool(
    *bootstrap: Endpoint, resolve: Resolve = resolve, clock: SimulatedClock | None = None, **values: Any
) -> Iterator[BrokerPool]:
    create = clock.pool if clock else BrokerPool
    with contextlib.closing(create(ConnectionSettings(bootstrap=bootstrap, **values), resolve=resolve)) as pool:
        yield pool


def _fault(*bootstrap: Endpoint, within_s: float = 30.0, **values: Any) -> tuple[str, str]:
    """Return the name and the text of the error that opening raises."""
    with _pool(*bootstrap, timeout_s=within_s, **values) as pool:
        with pytest.raises(AdminError) as caught:
            pool.open(pool._clock() + within_s)
        return caught.value.name, str(caught.value)


def _listing_failure(cluster: ScriptedCluster, broker: int, **values: Any) -> Failure:
    with cluster.admin(**values) as admin:
        results = admin.list_groups()
        assert list(results.failed) == [broker]
        return results.failed[broker]


def test_opening_reads_the_cluster_id_and_all_brokers() -> None:
    with ScriptedCluster(brokers=3) as cluster, _pool(cluster.brokers[2].endpoint) as pool:
        pool.open(time.monotonic() + 30)
        assert pool.cluster_id == "scripted"
        assert pool.brokers == {
            1: Broker(id=1, host="127.0.0.1", port=cluster.brokers[1].endpoint.port),
            2: Broker(id=2, host="127.0.0.1", port=cluster.brokers[2].endpoint.port),
            3: Broker(id=3, host="127.0.0.1", port=cluster.brokers[3].endpoint.port),
        }
        assert pool.sent == {("ApiVersions", 3): 1, ("Metadata", 13): 1}


def test_sent_requests_are_counted_and_not_listed_so_that_a_long_run_does_not_grow() -> None:
    with ScriptedCluster(brokers=1) as cluster, _pool(cluster.brokers[1].endpoint) as pool:
        pool.open(time.monotonic() + 30)
        for _ in range(20):
            pool.refresh(time.monotonic() + 30)
        cluster.brokers[1].close_connections()
        assert pool.sent == {("ApiVersions", 3): 1, ("Metadata", 13): 21}


def test_the_bootstrap_connection_is_used_for_its_own_broker_too() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin:
        admin.list_groups().all()
        assert len(cluster.requests_of("ApiVersions")) == 1


def test_a_refused_connection_is_a_failed_connection() -> None:
    with refusing() as dead:
        assert _fault(dead, clock=SimulatedClock()) == (
            "CONNECTION_FAILED",
            f"cannot connect to {dead}: connection refused",
        )


def test_the_next_bootstrap_server_is_tried_when_the_first_is_dead() -> None:
    with refusing() as dead, ScriptedCluster() as cluster, _pool(dead, cluster.brokers[1].endpoint) as pool:
        pool.open(time.monotonic() + 30)
        assert sorted(pool.brokers) == [1, 2, 3]


def test_a_silent_bootstrap_server_leaves_time_for_the_next() -> None:
    with (
        accepting_only() as mute,
        ScriptedCluster() as cluster,
        _pool(mute, cluster.brokers[1].endpoint, connect_timeout_s=2.0, clock=cluster.clock) as pool,
    ):
        started = cluster.clock()
        pool.open(started + 10)
        assert 0.9 < cluster.clock() - started < 1.1
        assert sorted(pool.brokers) == [1, 2, 3]


def test_a_silent_bootstrap_server_leaves_time_for_the_next_within_a_short_deadline() -> None:
    with (
        accepting_only() as mute,
        ScriptedCluster() as cluster,
        _pool(mute, cluster.brokers[1].endpoint, timeout_s=1.0, clock=cluster.clock) as pool,
    ):
        pool.open(cluster.clock() + 1.0)
        assert sorted(pool.brokers) == [1, 2, 3]


def test_when_no_bootstrap_server_responds_each_is_named_with_its_reason() -> None:
    clock = SimulatedClock()
    with refusing() as first, responding(b"HTTP/1.1 400 Bad Request\r\n", clock=clock) as second:
        name, text = _fault(first, second, clock=clock)
    assert name == "MALFORMED_RESPONSE"
    assert text == (
        f"no server responded: {first}: connection refused; {second}: the peer "
        "does not speak Kafka's protocol (it sent 'HTTP' first); check host and port"
    )


def test_a_host_name_that_cannot_be_resolved_is_named() -> None:
    def fail(endpoint: Endpoint) -> list[Address]:
        msg = f"cannot resolve the host name '{endpoint.host}': unknown"
        raise NameNotResolvedError(msg)

    assert _fault(Endpoint(host="nowhere", port=9092), resolve=fail) == (
        "NAME_NOT_RESOLVED",
        "cannot connect to nowhere:9092: cannot resolve the host name 'nowhere': unknown",
    )


def test_a_host_name_is_resolved_and_connected_to() -> None:
    with ScriptedCluster() as cluster:
        port = cluster.brokers[1].endpoint.port
        addresses: list[Address] = [(socket.AF_INET, ("127.0.0.1", port))]
        with _pool(Endpoint(host="kafka.example", port=9), resolve=lambda _endpoint: addresses) as pool:
            pool.open(time.monotonic() + 30)
            assert sorted(pool.brokers) == [1, 2, 3]


def test_a_host_name_with_a_dead_and_a_live_address_is_connected_at_the_live_one() -> None:
    with refusing() as dead, ScriptedCluster() as cluster:
        ports = [dead.port, cluster.brokers[1].endpoint.port]
        addresses: list[Address] = [(socket.AF_INET, ("127.0.0.1", port)) for port in ports]
        with _pool(Endpoint(host="kafka.example", port=9), resolve=lambda _endpoint: addresses) as pool:
            pool.open(time.monotonic() + 30)
            assert sorted(pool.brokers) == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        (
            {"within_s": 0.4},
            "NAME_NOT_RESOLVED",
            "cannot connect to slow:9092: the host name 'slow' was not resolved within 0.4 s",
        ),
        (
            {"connect_timeout_s": 0.5},
            "NAME_NOT_RESOLVED",
            "cannot connect to slow:9092: the host name 'slow' was not resolved within 0.5 s",
        ),
    ],
)
def test_a_resolver_that_hangs_does_not_delay_the_deadline(values: dict[str, Any], name: str, text: str) -> None:
    clock, release = SimulatedClock(), threading.Event()

    def hang(_endpoint: Endpoint) -> Sequence[Address]:
        clock.wait_for(release)
        return []

    assert _fault(Endpoint(host="slow", port=9092), resolve=hang, clock=clock, **values) == (name, text)
    release.set()


def test_a_listener_that_never_responds_fails_after_the_connect_timeout() -> None:
    with accepting_only() as mute:
        assert _fault(mute, connect_timeout_s=0.5, clock=SimulatedClock()) == (
            "TIMEOUT",
            f"cannot connect to {mute}: accepted the connection but did not respond within 0.5 s",
        )


def test_a_listener_that_never_accepts_fails_after_the_connect_timeout() -> None:
    with not_accepting() as full:
        assert _fault(full, connect_timeout_s=0.5, clock=SimulatedClock()) == (
            "TIMEOUT",
            f"cannot connect to {full}: did not accept the connection within 0.5 s",
        )


def test_another_protocol_is_a_malformed_response() -> None:
    with responding(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http:
        name, text = _fault(http)
    assert name == "MALFORMED_RESPONSE"
    assert text.startswith(f"cannot connect to {http}: the peer does not speak Kafka's protocol")


def test_a_tls_alert_to_a_plain_client_is_a_tls_failure() -> None:
    with responding(bytes.fromhex("1503030002020a")) as tls:
        assert _fault(tls) == (
            "TLS_FAILED",
            f"cannot connect to {tls}: the listener uses TLS; set -X security.protocol=SSL",
        )


def test_waiting_for_metadata_ends_at_the_deadline() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", silent)
        endpoint = cluster.brokers[1].endpoint
        name, text = _fault(endpoint, within_s=0.4, clock=cluster.clock)
    assert name == "TIMEOUT"
    assert text.startswith(f"cannot connect to {endpoint}: no response within 0.4 s; it has sent nothing for 0.")


def test_metadata_that_cannot_be_read_is_a_malformed_response() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", garbage)
        name, text = _fault(cluster.brokers[1].endpoint)
    assert name == "MALFORMED_RESPONSE"
    assert "cannot read the Metadata response" in text


def test_a_broker_with_too_old_metadata_is_unsupported() -> None:
    with ScriptedCluster(brokers=1, versions={"Metadata": (0, 3)}) as cluster:
        name, text = _fault(cluster.brokers[1].endpoint)
    assert name == "UNSUPPORTED_VERSION"
    assert text.endswith("the broker supports Metadata versions 0 to 3; this tool needs version 4 to 13")


def test_a_broker_with_only_the_first_version_of_api_versions_is_connected() -> None:
    with ScriptedCluster(brokers=2, versions={"ApiVersions": (0, 0)}) as cluster, cluster.admin() as admin:
        assert admin.list_groups().failed == {}


def test_an_ipv6_bootstrap_server_is_connected() -> None:
    rows = [{"node_id": 1, "host": "::1", "port": 1}]
    with ScriptedBroker(lambda _request: {"brokers": rows, "topics": []}, host="::1") as broker:
        assert str(broker.endpoint) == f"[::1]:{broker.endpoint.port}"
        with _pool(broker.endpoint) as pool:
            pool.open(time.monotonic() + 30)
            assert pool._name_of(Endpoint(host="::1", port=1)) == "broker 1 ([::1]:1)"


def test_an_advertised_address_that_refuses_is_reported_with_its_origin_and_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "_MAX_BACKOFF_S", 0.1)
    with refusing() as dead, ScriptedCluster(brokers=2, advertised={2: dead}) as cluster:
        failure = _listing_failure(cluster, 2)
        assert failure.name == "CONNECTION_FAILED"
        assert failure.message == (
            f"cannot connect to broker 2 ({dead}): connection refused; check advertised.listeners: "
            f"{cluster.brokers[1].endpoint} returned this address"
        )


def test_an_advertised_address_that_never_responds_is_named() -> None:
    with accepting_only() as mute, ScriptedCluster(brokers=2, advertised={2: mute}) as cluster:
        failure = _listing_failure(cluster, 2, timeout_s=0.5, connect_timeout_s=0.2)
        assert failure.name == "TIMEOUT"
        assert f"broker 2 ({mute}): accepted the connection but did not respond within 0.2 s" in failure.message
        assert "advertised.listeners" in failure.message


def test_an_advertised_name_that_cannot_be_resolved_is_named_with_the_setting() -> None:
    nowhere = Endpoint(host="internal-name.invalid", port=9092)
    with ScriptedCluster(brokers=2, advertised={2: nowhere}) as cluster:
        failure = _listing_failure(cluster, 2)
        assert failure.name == "NAME_NOT_RESOLVED"
        assert failure.message.startswith(
            "cannot connect to broker 2 (internal-name.invalid:9092): cannot resolve the host name "
        )
        assert failure.message.endswith(
            f"; check advertised.listeners: {cluster.brokers[1].endpoint} returned this address"
        )


def test_a_coordinator_unknown_to_metadata_is_connected_at_the_address_of_the_lookup() -> None:
    with ScriptedCluster(brokers=3, groups={"orders": Group(coordinator=3)}) as cluster, cluster.admin() as admin:
        hidden = cluster.addresses.pop(3)
        assert sorted(admin.brokers()) == [1, 2]
        cluster.addresses[3] = hidden
        assert list(admin.list_consumer_group_offsets({"orders": None}).all()) == ["orders"]


def test_a_client_that_could_not_connect_can_be_used_again() -> None:
    with ScriptedCluster(brokers=1) as cluster, refusing() as dead:
        with cluster.clock.client(ConnectionSettings(bootstrap=(dead,), timeout_s=5.0)) as admin:
            for _ in range(2):
                with pytest.raises(AdminError, match="connection refused"):
                    admin.list_groups()
        assert cluster.requests_of("ListGroups") == []
