"""The checks of connections: addresses, brokers, deadlines, and what the checks cost."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.errors import ConnectionFailedError, NameNotResolvedError
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.admin.network.checked_connections import check, evidence_of, outcome
from tests.fakes.raw_port import accepting_only, not_accepting, refusing, responding
from tests.fakes.reactions import changed, drops, garbage, silent
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)
NO_BROKERS = changed(brokers=[])


def test_every_broker_of_the_metadata_is_checked_with_three_requests_each() -> None:
    with ScriptedCluster(brokers=3) as cluster:
        found = check(cluster.settings(), cluster.clock)
        requests = {
            number: [(request.api, request.version) for request in broker.received]
            for number, broker in cluster.brokers.items()
        }
    assert [outcome(each) for each in found.connections.values()] == [(None, None)] * 3
    each = [("ApiVersions", 3), ("Metadata", 13), ("ApiVersions", 4)]
    assert requests == {1: each, 2: each, 3: each}
    assert found.servers == (cluster.brokers[1].endpoint,)
    assert found.is_reached()


def test_what_is_known_of_a_plain_connection() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        evidence = evidence_of(cluster)
    assert (evidence.addresses, evidence.address) == (("127.0.0.1",), "127.0.0.1")
    assert evidence.connected_s is not None
    assert evidence.versions is not None
    assert evidence.metadata is not None
    assert (evidence.metadata.cluster_id, [*evidence.metadata.brokers]) == ("scripted", [1])
    assert (evidence.tls, evidence.mechanisms, evidence.session_lifetime_s) == (None, None, None)


def test_a_name_that_is_not_resolved_and_a_closed_port_fail_beside_a_server_that_responds() -> None:
    def resolve(_endpoint: Endpoint) -> list[Address]:
        raise NameNotResolvedError("cannot resolve the host name 'nowhere': unknown")

    with ScriptedCluster(brokers=1) as cluster, refusing() as closed:
        servers = (Endpoint(host="nowhere", port=9092), closed, cluster.brokers[1].endpoint)
        settings = ConnectionSettings(bootstrap=servers, timeout_s=30.0)
        with cluster.clock.client(settings, resolve=resolve) as admin:
            found = admin.check_connections(timeout=5.0)
    assert [outcome(found.connections[server]) for server in servers] == [
        (SetupStep.NAME, "NAME_NOT_RESOLVED"),
        (SetupStep.ADDRESS, "CONNECTION_FAILED"),
        (None, None),
    ]
    assert found.connections[servers[0]].addresses is None
    assert found.connections[closed].addresses == ("127.0.0.1",)
    assert found.is_reached()


def test_a_host_that_does_not_accept_ends_at_the_timeout_of_the_connection() -> None:
    clock = SimulatedClock()
    with not_accepting() as full:
        started = clock()
        found = check(ConnectionSettings(bootstrap=(full,), connect_timeout_s=2.0), clock, 5.0)
    assert 2.0 <= clock() - started < 2.1
    assert outcome(found.connections[full]) == (SetupStep.ADDRESS, "TIMEOUT")
    assert not found.is_reached()


def test_a_listener_that_accepts_and_is_silent_fails_at_the_deadline_of_the_call() -> None:
    clock = SimulatedClock()
    with accepting_only() as mute:
        started = clock()
        found = check(ConnectionSettings(bootstrap=(mute,)), clock, 1.0)
    assert 1.0 <= clock() - started < 1.1
    evidence = found.connections[mute]
    assert outcome(evidence) == (SetupStep.PROTOCOL, "TIMEOUT")
    assert evidence.address == "127.0.0.1"


def test_a_listener_that_is_not_kafka_fails_at_the_protocol() -> None:
    clock = SimulatedClock()
    with responding(b"HTTP/1.1 400 Bad Request\r\n\r\n", clock=clock) as other:
        evidence = check(ConnectionSettings(bootstrap=(other,)), clock).connections[other]
    assert outcome(evidence) == (SetupStep.PROTOCOL, "MALFORMED_RESPONSE")


@pytest.mark.parametrize(
    ("reaction", "step", "name"),
    [
        (NO_BROKERS, SetupStep.CLUSTER, "CONNECTION_FAILED"),
        (garbage, SetupStep.CLUSTER, "MALFORMED_RESPONSE"),
        (silent, SetupStep.CLUSTER, "TIMEOUT"),
    ],
)
def test_metadata_that_cannot_be_used_fails_at_the_cluster(reaction: object, step: SetupStep, name: str) -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", reaction)  # type: ignore[arg-type]
        assert outcome(evidence_of(cluster)) == (step, name)


def test_a_broker_that_is_too_old_for_the_first_request_fails_at_the_versions() -> None:
    with ScriptedCluster(brokers=1, versions={"Metadata": (0, 3)}) as cluster:
        evidence = evidence_of(cluster)
    assert outcome(evidence) == (SetupStep.VERSIONS, "UNSUPPORTED_VERSION")
    assert evidence.address is not None


def test_features_are_not_requested_from_old_brokers_and_not_needed() -> None:
    with ScriptedCluster(brokers=1, versions={"ApiVersions": (0, 2)}) as cluster:
        old = evidence_of(cluster)
        assert [request.api for request in cluster.brokers[1].received].count("ApiVersions") == 2
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("ApiVersions", lambda _request, response: response, drops)
        lost = evidence_of(cluster)
    assert (outcome(old), old.features, outcome(lost), lost.features) == ((None, None), None, (None, None), None)


def test_a_wrong_advertised_address_fails_alone() -> None:
    with refusing() as closed, ScriptedCluster(brokers=2, advertised={2: closed}) as cluster:
        found = check(cluster.settings(), cluster.clock)
    assert outcome(found.connections[cluster.brokers[1].endpoint]) == (None, None)
    assert outcome(found.connections[closed]) == (SetupStep.ADDRESS, "CONNECTION_FAILED")
    assert found.is_reached()


def test_the_deadline_holds_for_all_connections_together() -> None:
    with accepting_only() as mute, ScriptedCluster(brokers=3, advertised={2: mute}) as cluster:
        started = cluster.clock()
        found = check(cluster.settings(), cluster.clock, 2.0)
        assert cluster.clock() - started < 2.1
    assert [step for step, _ in map(outcome, found.connections.values())].count(None) == 2
    assert outcome(found.connections[mute]) == (SetupStep.PROTOCOL, "TIMEOUT")


def test_a_closed_client_refuses_the_check() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        admin = cluster.admin()
        admin.close()
        with pytest.raises(ConnectionFailedError, match="the client is closed"):
            admin.check_connections()


def test_a_server_that_is_named_twice_is_checked_once() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        twice = (cluster.brokers[1].endpoint,) * 2
        found = check(ConnectionSettings(bootstrap=twice), cluster.clock)
        assert len(cluster.requests_of("Metadata")) == 1
    assert found.servers == twice[:1]


def test_more_addresses_than_may_be_open_at_once_are_all_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.admin.network.connection_checks._MAX_OPEN", 2)
    with ScriptedCluster(brokers=5) as cluster:
        found = check(cluster.settings(), cluster.clock)
    assert [outcome(each) for each in found.connections.values()] == [(None, None)] * 5


def test_silent_servers_leave_time_to_those_that_may_not_be_open_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.admin.network.connection_checks._MAX_OPEN", 2)
    with ExitStack() as stack, ScriptedCluster(brokers=1) as cluster:
        mute = [stack.enter_context(accepting_only()) for _ in range(4)]
        server = cluster.brokers[1].endpoint
        started = cluster.clock()
        found = check(ConnectionSettings(bootstrap=(*mute, server)), cluster.clock, 3.0)
        assert cluster.clock() - started < 3.1
    assert outcome(found.connections[server]) == (None, None)
    assert {outcome(found.connections[each]) for each in mute} == {(SetupStep.PROTOCOL, "TIMEOUT")}


def test_an_address_for_which_no_time_is_left_is_reported_as_not_checked() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        found = check(cluster.settings(), cluster.clock, 0.0)
        assert not cluster.brokers[1].received
    (evidence,) = found.connections.values()
    assert outcome(evidence) == (SetupStep.ADDRESS, "TIMEOUT")
    assert str(evidence.error) == "no time was left to check it; raise --timeout, or name fewer servers"
