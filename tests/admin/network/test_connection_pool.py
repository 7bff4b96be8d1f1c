"""Reaching a cluster: from bootstrap servers to brokers, within the deadline and with the right word for each fault."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin, driver
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.resolver import Address, Resolve, resolve
from kafka_groups.errors import AdminError, NameNotResolvedError
from kafka_groups.model import Broker, Failure
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import accepting_only, not_taking, refusing, speaking
from tests.fakes.scripted_broker import ScriptedBroker, garbage, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

pytestmark = pytest.mark.timeout(20)


@contextlib.contextmanager
def _pool(*bootstrap: Endpoint, resolve: Resolve = resolve, **values: Any) -> Iterator[BrokerPool]:
    pool = BrokerPool(ConnectionSettings(bootstrap=bootstrap, **values), resolve=resolve)
    yield pool
    pool.close()


def _fault(*bootstrap: Endpoint, within_s: float = 5.0, **values: Any) -> tuple[str, str]:
    """How opening fails: the error's name and text."""
    with _pool(*bootstrap, timeout_s=within_s, **values) as pool:
        started = time.monotonic()
        with pytest.raises(AdminError) as caught:
            pool.open(started + within_s)
        assert time.monotonic() - started < within_s + 1
        return caught.value.name, str(caught.value)


def _listing_failure(cluster: ScriptedCluster, broker: int, **values: Any) -> Failure:
    with cluster.admin(**values) as admin:
        answers = admin.list_groups()
        assert list(answers.failed) == [broker]
        return answers.failed[broker]


def test_opening_learns_the_cluster_and_all_its_brokers() -> None:
    with ScriptedCluster(brokers=3) as cluster, _pool(cluster.brokers[2].endpoint) as pool:
        pool.open(time.monotonic() + 5)
        assert pool.cluster_id == "scripted"
        assert pool.brokers == {
            1: Broker(id=1, host="127.0.0.1", port=cluster.brokers[1].endpoint.port),
            2: Broker(id=2, host="127.0.0.1", port=cluster.brokers[2].endpoint.port),
            3: Broker(id=3, host="127.0.0.1", port=cluster.brokers[3].endpoint.port),
        }
        assert pool.sent == [("ApiVersions", 3), ("Metadata", 13)]


def test_the_bootstrap_connection_serves_its_own_broker_too() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin:
        admin.list_groups().all()
        assert len(cluster.asked("ApiVersions")) == 1


def test_nobody_listening_is_a_failed_connection() -> None:
    with refusing() as dead:
        assert _fault(dead) == ("CONNECTION_FAILED", f"{dead}: connection refused")


def test_the_next_bootstrap_server_is_tried_when_the_first_is_dead() -> None:
    with refusing() as dead, ScriptedCluster() as cluster, _pool(dead, cluster.brokers[1].endpoint) as pool:
        pool.open(time.monotonic() + 5)
        assert sorted(pool.brokers) == [1, 2, 3]


@pytest.mark.timed
def test_a_silent_bootstrap_server_leaves_the_next_one_its_turn() -> None:
    with (
        accepting_only() as mute,
        ScriptedCluster() as cluster,
        _pool(mute, cluster.brokers[1].endpoint, connect_timeout_s=2.0) as pool,
    ):
        started = time.monotonic()
        pool.open(started + 10)
        assert 0.9 < time.monotonic() - started < 3
        assert sorted(pool.brokers) == [1, 2, 3]


@pytest.mark.timed
def test_a_silent_bootstrap_server_leaves_the_next_one_its_turn_within_a_short_deadline() -> None:
    with (
        accepting_only() as mute,
        ScriptedCluster() as cluster,
        _pool(mute, cluster.brokers[1].endpoint, timeout_s=1.0) as pool,
    ):
        pool.open(time.monotonic() + 1.0)
        assert sorted(pool.brokers) == [1, 2, 3]


def test_when_no_bootstrap_server_answers_each_is_told_with_its_reason() -> None:
    with refusing() as first, speaking(b"HTTP/1.1 400 Bad Request\r\n") as second:
        name, text = _fault(first, second)
    assert name == "MALFORMED_RESPONSE"
    assert text == (
        f"no bootstrap server answered: {first}: connection refused; {second}: what answers there "
        "does not speak Kafka's protocol (its answer begins with 'HTTP')"
    )


def test_a_name_that_does_not_resolve_is_told_by_name() -> None:
    def fail(endpoint: Endpoint) -> list[Address]:
        msg = f"the name '{endpoint.host}' does not resolve (unknown)"
        raise NameNotResolvedError(msg)

    assert _fault(Endpoint(host="nowhere", port=9092), resolve=fail) == (
        "NAME_NOT_RESOLVED",
        "nowhere:9092: the name 'nowhere' does not resolve (unknown)",
    )


def test_a_name_that_resolves_is_connected_to() -> None:
    with ScriptedCluster() as cluster:
        port = cluster.brokers[1].endpoint.port
        addresses: list[Address] = [(socket.AF_INET, ("127.0.0.1", port))]
        with _pool(Endpoint(host="kafka.example", port=9), resolve=lambda _endpoint: addresses) as pool:
            pool.open(time.monotonic() + 5)
            assert sorted(pool.brokers) == [1, 2, 3]


def test_a_name_with_a_dead_and_a_live_address_is_reached_under_the_live_one() -> None:
    with refusing() as dead, ScriptedCluster() as cluster:
        ports = [dead.port, cluster.brokers[1].endpoint.port]
        addresses: list[Address] = [(socket.AF_INET, ("127.0.0.1", port)) for port in ports]
        with _pool(Endpoint(host="kafka.example", port=9), resolve=lambda _endpoint: addresses) as pool:
            pool.open(time.monotonic() + 5)
            assert sorted(pool.brokers) == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "name", "text"),
    [
        ({"within_s": 0.4}, "TIMEOUT", "slow:9092: no answer within 0.4 s"),
        ({"connect_timeout_s": 0.5}, "NAME_NOT_RESOLVED", "slow:9092: the name 'slow' was not resolved within 0.5 s"),
    ],
)
def test_a_resolver_that_hangs_does_not_hold_up_the_deadline(values: dict[str, Any], name: str, text: str) -> None:
    release = threading.Event()

    def hang(_endpoint: Endpoint) -> Sequence[Address]:
        release.wait(10)
        return []

    assert _fault(Endpoint(host="slow", port=9092), resolve=hang, **values) == (name, text)
    release.set()


def test_a_port_that_accepts_and_says_nothing_is_given_up() -> None:
    with accepting_only() as mute:
        assert _fault(mute, connect_timeout_s=0.5) == (
            "CONNECTION_FAILED",
            f"{mute}: it took the connection but did not answer within 0.5 s",
        )


def test_a_port_that_takes_no_connection_is_given_up() -> None:
    with not_taking() as full:
        assert _fault(full, connect_timeout_s=0.5) == (
            "CONNECTION_FAILED",
            f"{full}: it did not take the connection within 0.5 s",
        )


def test_a_port_of_another_protocol_is_a_bad_answer() -> None:
    with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http:
        name, text = _fault(http)
    assert name == "MALFORMED_RESPONSE"
    assert text.startswith(f"{http}: what answers there does not speak Kafka's protocol")


def test_a_tls_alert_to_a_plain_client_is_a_tls_fault() -> None:
    with speaking(bytes.fromhex("1503030002020a")) as tls:
        assert _fault(tls) == ("TLS_FAILED", f"{tls}: the port speaks TLS; add -X security.protocol=SSL")


def test_metadata_that_never_comes_ends_at_the_deadline() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", silent)
        endpoint = cluster.brokers[1].endpoint
        assert _fault(endpoint, within_s=0.4) == ("TIMEOUT", f"{endpoint}: no answer within 0.4 s")


def test_metadata_that_cannot_be_read_is_a_bad_answer() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", garbage)
        name, text = _fault(cluster.brokers[1].endpoint)
    assert name == "MALFORMED_RESPONSE"
    assert "its answer to Metadata cannot be read" in text


def test_a_broker_without_metadata_is_unsupported() -> None:
    with ScriptedCluster(brokers=1, versions={"Metadata": (0, 3)}) as cluster:
        name, text = _fault(cluster.brokers[1].endpoint)
    assert name == "UNSUPPORTED_VERSION"
    assert text.endswith("the broker speaks Metadata 0 to 3; this tool needs 4 to 13")


def test_a_broker_that_speaks_only_the_first_version_question_is_reached() -> None:
    with ScriptedCluster(brokers=2, versions={"ApiVersions": (0, 0)}) as cluster, cluster.admin() as admin:
        assert admin.list_groups().failed == {}


def test_an_ipv6_bootstrap_server_is_reached() -> None:
    rows = [{"node_id": 1, "host": "::1", "port": 1}]
    with ScriptedBroker(lambda _asked: {"brokers": rows, "topics": []}, host="::1") as broker:
        assert str(broker.endpoint) == f"[::1]:{broker.endpoint.port}"
        with _pool(broker.endpoint) as pool:
            pool.open(time.monotonic() + 5)
            assert pool.address_of(1) == "broker 1 at [::1]:1"


def test_an_advertised_address_that_refuses_names_both_addresses_and_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "_LONGEST_WAIT_S", 0.1)
    with refusing() as dead, ScriptedCluster(brokers=2, advertised={2: dead}) as cluster:
        failure = _listing_failure(cluster, 2)
        assert failure.name == "CONNECTION_FAILED"
        assert failure.message == (
            f"broker 2 at {dead}: connection refused; that address is what "
            f"{cluster.brokers[1].endpoint} advertises for it (advertised.listeners)"
        )


def test_an_advertised_address_that_says_nothing_is_given_up_and_named() -> None:
    with accepting_only() as mute, ScriptedCluster(brokers=2, advertised={2: mute}) as cluster:
        failure = _listing_failure(cluster, 2, timeout_s=0.5, connect_timeout_s=0.2)
        assert failure.name == "TIMEOUT"
        assert f"broker 2 at {mute}: it took the connection but did not answer within 0.2 s" in failure.message
        assert "advertised.listeners" in failure.message


def test_an_advertised_name_that_does_not_resolve_is_named_with_the_setting() -> None:
    nowhere = Endpoint(host="internal-name.invalid", port=9092)
    with ScriptedCluster(brokers=2, advertised={2: nowhere}) as cluster:
        failure = _listing_failure(cluster, 2)
        assert failure.name == "NAME_NOT_RESOLVED"
        assert failure.message.startswith("broker 2 at internal-name.invalid:9092: the name 'internal-name.invalid'")
        assert failure.message.endswith(f"{cluster.brokers[1].endpoint} advertises for it (advertised.listeners)")


def test_a_coordinator_that_was_not_among_the_brokers_is_reached_at_the_address_of_the_look_up() -> None:
    with ScriptedCluster(brokers=3, groups={"orders": Group(coordinator=3)}) as cluster, cluster.admin() as admin:
        hidden = cluster.addresses.pop(3)
        assert sorted(admin.brokers()) == [1, 2]
        cluster.addresses[3] = hidden
        assert list(admin.list_consumer_group_offsets({"orders": None}).all()) == ["orders"]


def test_a_door_that_could_not_be_opened_can_be_tried_again() -> None:
    with ScriptedCluster(brokers=1) as cluster, refusing() as dead:
        settings = ConnectionSettings(bootstrap=(dead,), timeout_s=5.0)
        pool = BrokerPool(settings)
        with GroupAdmin(settings, pool=pool) as admin:
            for _ in range(2):
                with pytest.raises(AdminError, match="connection refused"):
                    admin.list_groups()
        assert cluster.asked("ListGroups") == []
