"""Requests that any broker can serve: another one serves them if one fails, is silent or throttles the client."""

from __future__ import annotations

import socket
from collections.abc import Mapping

import pytest

from kafka_groups.admin import Topic, event_loop
from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.resolver import Resolve, resolve
from kafka_groups.errors import AdminError, NameNotResolvedError
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.raw_port import accepting_only, refusing, responding
from tests.fakes.reactions import ReceivedRequest, changed, delayed, drops, silent, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

pytestmark = pytest.mark.timeout(20)

TOPIC = Topic("t", topic_id("t"), internal=False, partitions=(0,), leaders={0: 1})


@pytest.fixture(autouse=True)
def refresh_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.admin.cluster_client._METADATA_MAX_AGE_S", 0.0)


def test_a_poll_whose_connection_was_closed_finds_a_broker_that_joined() -> None:
    groups = {"a": Group(coordinator=1), "c": Group(coordinator=4)}
    with ScriptedCluster(brokers=4, groups=groups) as cluster, cluster.admin() as admin:
        joining = cluster.addresses.pop(4)
        assert list(admin.list_groups().all()) == ["a"]
        cluster.addresses[4] = joining
        for broker in cluster.brokers.values():
            broker.close_connections()
        assert list(admin.list_groups().all()) == ["a", "c"]


@pytest.mark.slow
def test_a_poll_finds_brokers_that_all_have_other_addresses_now() -> None:
    with ScriptedCluster(brokers=2, groups={"g": Group(coordinator=2)}) as cluster, refusing() as dead:
        bootstrap = cluster.addresses
        admin = cluster.admin(timeout_s=5.0)
        with admin:
            admin.list_groups().all()
            admin._pool.brokers = {
                number: broker._replace(port=dead.port) if hasattr(broker, "_replace") else broker
                for number, broker in admin._pool.brokers.items()
            }
            cluster.brokers[1].close_connections()
            assert list(admin.list_groups().all()) == ["g"]
            assert {number: broker.port for number, broker in admin.brokers().items()} == {
                number: address.port for number, address in bootstrap.items()
            }


def test_a_poll_whose_only_connection_was_closed_connects_again() -> None:
    with ScriptedCluster(brokers=1, groups={"g": Group()}) as cluster, cluster.admin() as admin:
        for _ in range(3):
            assert list(admin.list_groups().all()) == ["g"]
            cluster.brokers[1].close_connections(with_reset=True)


def test_a_poll_that_no_broker_responds_to_raises_an_error_and_returns_no_old_brokers() -> None:
    with ScriptedCluster(brokers=2) as cluster, cluster.admin(timeout_s=1.0) as admin:
        admin.list_groups().all()
        for number in cluster.brokers:
            cluster.stop(number)
        with pytest.raises(AdminError, match="no server responded"):
            admin.list_groups()


def test_a_lookup_that_moves_on_leaves_a_slow_request_on_its_connection() -> None:
    groups = {"slow": Group(coordinator=1, commits={("t", 0): 5}), "moved": Group(coordinator=2)}
    with ScriptedCluster(brokers=2, groups=groups) as cluster, cluster.admin() as admin:
        admin.list_groups()
        groups["moved"].coordinator = 1
        cluster.groups["moved"].coordinator = 1
        cluster.script("OffsetFetch", delayed(1.6), brokers=[1])
        results = admin.list_consumer_group_offsets({"slow": None, "moved": None}, timeout=2.4)
        assert sorted(results.all()) == ["moved", "slow"]
        fetched = [row["group_id"] for each in cluster.requests_of("OffsetFetch") for row in each.body["groups"]]
        assert fetched.count("slow") == 1


def _resolver(places: Mapping[str, Endpoint | None]) -> Resolve:
    def find(endpoint: Endpoint) -> list[Address]:
        place = places.get(endpoint.host, endpoint)
        if place is None:
            msg = f"cannot resolve the host name '{endpoint.host}'"
            raise NameNotResolvedError(msg)
        return [(socket.AF_INET, (place.host, place.port))] if place is not endpoint else list(resolve(endpoint))

    return find


@pytest.mark.parametrize("operation", ["list_topics", "describe_topics", "describe", "offsets"])
def test_a_broker_without_an_address_is_skipped_by_requests_for_any_broker(operation: str) -> None:
    groups = {"g": Group(coordinator=3)}
    nowhere = Endpoint(host="nowhere", port=1)
    with ScriptedCluster(brokers=3, groups=groups, topics={"t": {0: 3}}, advertised={2: nowhere}) as cluster:
        settings = cluster.settings()
        with cluster.clock.client(settings, resolve=_resolver({"nowhere": None})) as admin:
            admin.brokers()
            cluster.stop(1)
            if operation == "list_topics":
                assert list(admin.list_topics().all()) == ["t"]
            elif operation == "describe_topics":
                assert admin.describe_topics(["t"]).all() == {"t": TOPIC._replace(leaders={0: 3})}
            elif operation == "describe":
                assert list(admin.describe_consumer_groups(["g"]).all()) == ["g"]
            else:
                assert list(admin.list_consumer_group_offsets({"g": None}).all()) == ["g"]


def test_lookups_that_are_spread_over_brokers_survive_one_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "MAX_LOOKUP_KEYS", 2)
    groups = {f"g{number}": Group(coordinator=1) for number in range(6)}
    nowhere = Endpoint(host="nowhere", port=1)
    with ScriptedCluster(brokers=3, groups=groups, advertised={2: nowhere}) as cluster:
        settings = cluster.settings()
        with cluster.clock.client(settings, resolve=_resolver({"nowhere": None})) as admin:
            assert sorted(admin.describe_consumer_groups(groups).all()) == sorted(groups)


def test_a_request_for_any_broker_survives_two_brokers_that_accept_no_connection() -> None:
    with ScriptedCluster(brokers=4, topics={"t": {0: 1}}) as cluster, accepting_only() as one, accepting_only() as two:
        cluster.addresses.update({2: one, 3: two})
        with cluster.admin(timeout_s=10.0, connect_timeout_s=0.3) as admin:
            admin.brokers()
            cluster.stop(1)
            assert admin.describe_topics(["t"]).all() == {"t": TOPIC}


def test_a_request_for_any_broker_survives_one_that_does_not_speak_tls() -> None:
    with (
        ScriptedCluster(brokers=3, topics={"t": {0: 1}}) as cluster,
        responding(bytes.fromhex("1503030002020a"), clock=cluster.clock) as tls,
    ):
        cluster.addresses[2] = tls
        with cluster.admin() as admin:
            admin.brokers()
            cluster.stop(1)
            assert admin.describe_topics(["t"]).all() == {"t": TOPIC}


def test_a_request_for_any_broker_does_not_wait_for_a_throttled_one() -> None:
    with ScriptedCluster(brokers=2, topics={"t": {0: 1}}) as cluster, cluster.admin(timeout_s=3.0) as admin:
        cluster.script("ListGroups", throttled(60_000), brokers=[1])
        admin.list_groups()
        assert admin.describe_topics(["t"]).all() == {"t": TOPIC}
        assert [each.broker for each in cluster.requests_of("Metadata")][-1] == 2


NO_BROKERS = changed(brokers=[], topics=[])


def test_topics_of_a_broker_that_is_starting_are_requested_again() -> None:
    with ScriptedCluster(brokers=1, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.script("Metadata", NO_BROKERS, NO_BROKERS, NO_BROKERS)
        assert admin.describe_topics(["t"]).all() == {"t": TOPIC}
        cluster.script("Metadata", NO_BROKERS)
        assert list(admin.list_topics().all()) == ["t"]
        cluster.script("Metadata", NO_BROKERS)
        assert admin.list_offsets([("t", 0)]).all() == {("t", 0): 100}


def test_a_host_whose_first_address_is_unreachable_is_connected_within_a_short_timeout() -> None:
    with ScriptedCluster(brokers=1) as cluster, accepting_only() as _, refusing() as dead:
        good = cluster.brokers[1].endpoint
        addresses: list[Address] = [(socket.AF_INET, ("192.0.2.1", 9)), (socket.AF_INET, (good.host, good.port))]
        settings = ConnectionSettings(bootstrap=(Endpoint(host="two.addresses", port=dead.port),), timeout_s=2.0)
        with cluster.clock.client(settings, resolve=lambda _endpoint: addresses) as admin:
            assert sorted(admin.brokers()) == [1]


def test_responses_that_arrived_while_the_process_was_stopped_count() -> None:
    with ScriptedCluster(brokers=3, groups={"g": Group(coordinator=2)}) as cluster:
        stops: list[float] = []

        def stop_once(_operation: str, done: int, _total: int) -> None:
            if done == 1 and stops:
                cluster.clock.sleep(stops.pop())

        with cluster.admin(progress=stop_once) as admin:
            admin.list_groups().all()
            stops.append(1.5)
            cluster.script("ListGroups", delayed(0.2), brokers=[2, 3])
            assert list(admin.list_groups(timeout=1.0).all()) == ["g"]
            assert stops == []


def test_a_late_response_that_is_too_large_causes_no_request() -> None:
    with ScriptedCluster(brokers=1, groups={"a": Group(), "b": Group()}) as cluster, cluster.admin() as admin:
        admin.list_groups()

        def too_large(_request: ReceivedRequest, _response: Struct) -> bytes:
            cluster.clock.sleep(0.5)
            return bytes(3_000)

        cluster.script("OffsetFetch", too_large)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kafka_groups.admin.network.channel._LARGEST_FRAME", 2_000)
            assert sorted(admin.list_consumer_group_offsets({"a": None, "b": None}, timeout=0.2).failed) == ["a", "b"]
            cluster.clock.sleep(0.6)
            admin.describe_topics([])
            admin.list_groups()
        assert cluster.requests()["OffsetFetch"] == 1


def test_a_lookup_that_is_dropped_and_never_served_fails_with_the_reason() -> None:
    with ScriptedCluster(brokers=1, groups={"g": Group()}) as cluster, cluster.admin(timeout_s=1.0) as admin:
        admin.brokers()
        cluster.script("FindCoordinator", drops, silent)
        failure = admin.list_consumer_group_offsets({"g": None}).failed["g"]
        assert failure.name == "TIMEOUT"
        assert "has sent nothing for" in failure.message


def test_after_a_timeout_the_coordinator_and_the_leader_are_looked_up_again() -> None:
    with ScriptedCluster(brokers=3, groups={"g": Group(coordinator=2)}, topics={"t": {0: 2}}) as cluster:
        with cluster.admin() as admin:
            admin.list_consumer_group_offsets({"g": None}).all()
            admin.list_offsets([("t", 0)]).all()
            cluster.script("OffsetFetch", silent, brokers=[2])
            cluster.script("ListOffsets", silent, brokers=[2])
            cluster.groups["g"].coordinator, cluster.topics["t"] = 3, {0: 3}
            assert list(admin.list_consumer_group_offsets({"g": None}, timeout=0.2).failed) == ["g"]
            assert list(admin.list_offsets([("t", 0)], timeout=0.2).failed) == [("t", 0)]
            assert list(admin.list_consumer_group_offsets({"g": None}).all()) == ["g"]
            assert list(admin.list_offsets([("t", 0)]).all()) == [("t", 0)]
        assert [request.broker for request in cluster.requests_of("OffsetFetch")] == [2, 2, 3]
        assert [request.broker for request in cluster.requests_of("ListOffsets")] == [2, 2, 3]


def test_after_a_timeout_of_a_describe_the_coordinator_is_looked_up_again() -> None:
    with ScriptedCluster(brokers=2, groups={"g": Group(coordinator=2)}) as cluster, cluster.admin() as admin:
        admin.describe_with_offsets(["g"], {"g": None})
        cluster.script("DescribeGroups", silent, brokers=[2])
        admin.describe_consumer_groups(["g"], timeout=0.2)
        cluster.groups["g"].coordinator = 1
        assert list(admin.describe_consumer_groups(["g"]).all()) == ["g"]
        assert cluster.requests()["FindCoordinator"] == 2
