"""Failures of brokers and connections: each key fails alone, or its request is retried where that can help."""

from __future__ import annotations

import pytest

from kafka_groups.admin import driver
from kafka_groups.admin.handlers import list_consumer_group_offsets
from kafka_groups.errors import AdminError, BrokerError
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest, delayed, drops, garbage, plain, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

PLACES = {"a": 1, "b": 2, "c": 2, "d": 3}


@pytest.fixture
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the backoff, so that six attempts take half a second instead of two and a half."""
    monkeypatch.setattr(driver, "_MAX_BACKOFF_S", 0.1)


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at, commits={("t", 0): 5}) for name, at in PLACES.items()}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2, 2: 3}}, versions=versions)


def _with_error(group: str, code: int, *, rows: str = "groups", key: str = "group_id") -> Reaction:
    """Return a reaction that replaces one row of the response with an error."""

    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        return {rows: [{key: group, "error_code": code} if row[key] == group else row for row in response[rows]]}

    return react


def _without(group: str, *, rows: str = "groups", key: str = "group_id") -> Reaction:
    return lambda _request, response: {rows: [row for row in response[rows] if row[key] != group]}


def _fetched(cluster: ScriptedCluster) -> list[tuple[int, list[str]]]:
    return [
        (request.broker, [group["group_id"] for group in request.body["groups"]])
        for request in cluster.requests_of("OffsetFetch")
    ]


def test_each_group_of_one_response_has_its_own_error() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups |= {"x": Group(error=30), "y": Group(error=69), "z": Group(error=24), "w": Group(error=113)}
        results = admin.list_consumer_group_offsets(dict.fromkeys(["a", "x", "y", "z", "w"]))
        assert list(results.succeeded) == ["a"]
        assert {name: failure.name for name, failure in results.failed.items()} == {
            "x": "GROUP_AUTHORIZATION_FAILED",
            "y": "GROUP_ID_NOT_FOUND",
            "z": "INVALID_GROUP_ID",
            "w": "STALE_MEMBER_EPOCH",
        }
        assert {failure.broker for failure in results.failed.values()} == {1}


def test_all_raises_the_first_failure_as_an_error() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["b"].error = 30
        with pytest.raises(BrokerError, match="not allowed: this needs DESCRIBE on the group") as caught:
            admin.list_consumer_group_offsets(dict.fromkeys("abc")).all()
        assert (caught.value.name, caught.value.code) == ("GROUP_AUTHORIZATION_FAILED", 30)


@pytest.mark.parametrize("code", [15, 16])
def test_a_group_whose_coordinator_moved_is_looked_up_and_fetched_alone(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _with_error("b", code), brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        lookups = [request.body["coordinator_keys"] for request in cluster.requests_of("FindCoordinator")]
        assert lookups == [["a", "b", "c", "d"], ["b"]]
        assert _fetched(cluster)[-1] == (2, ["b"])


def test_a_group_that_its_coordinator_still_loads_is_requested_again_after_a_backoff() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _with_error("c", 14), _with_error("c", 14), brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetFetch": 5}
        first, second = [request.at for request in cluster.requests_of("OffsetFetch") if request.broker == 2][-2:]
        assert second - first >= 0.16


@pytest.mark.parametrize("code", [14, 15])
def test_a_group_without_an_available_coordinator_is_looked_up_again_alone(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _with_error("a", code, rows="coordinators", key="key"), brokers=[1])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert cluster.requests_of("FindCoordinator")[1].body["coordinator_keys"] == ["a"]
        assert _fetched(cluster)[-1] == (1, ["a"])
        assert cluster.requests_of("FindCoordinator")[1].at - cluster.requests_of("FindCoordinator")[0].at >= 0.08


def test_the_timeout_of_a_group_without_a_coordinator_names_that_reason() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        reactions = [_with_error("a", 15, rows="coordinators", key="key")] * 20
        cluster.script("FindCoordinator", *reactions, brokers=[1])
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"), timeout=0.8)
        assert sorted(results.succeeded) == ["b", "c", "d"]
        assert results.failed["a"].name == "TIMEOUT"
        assert results.failed["a"].message.endswith("; last: no coordinator is available for this group")
        assert len(cluster.requests_of("FindCoordinator")) <= 5


def test_a_group_that_is_missing_from_a_response_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _without("b"), brokers=[2])
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(results.succeeded) == ["a", "c", "d"]
        assert (results.failed["b"].name, results.failed["b"].broker) == ("MISSING_FROM_RESPONSE", 2)


def test_a_group_that_is_missing_from_a_lookup_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _without("b", rows="coordinators", key="key"), brokers=[1])
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(results.succeeded) == ["a", "c", "d"]
        assert results.failed["b"].name == "MISSING_FROM_RESPONSE"


def test_groups_of_a_broker_that_closes_the_connection_are_looked_up_and_fetched_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", drops, brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        lookups = [request.body["coordinator_keys"] for request in cluster.requests_of("FindCoordinator")]
        assert lookups == [["a", "b", "c", "d"], ["b", "c"]]


def test_groups_of_a_broker_that_closes_the_connection_are_fetched_from_their_new_coordinator() -> None:
    def move_groups(_request: ReceivedRequest, _response: Struct) -> None:
        cluster.groups["b"].coordinator = cluster.groups["c"].coordinator = 3

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", move_groups, brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert _fetched(cluster)[-1] == (3, ["b", "c"])


def test_a_lookup_uses_another_broker_when_the_bootstrap_broker_stopped() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("bcd")).all()) == ["b", "c", "d"]


def test_a_lookup_is_tried_at_every_broker() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        cluster.stop(2)
        assert list(admin.list_consumer_group_offsets({"d": None}).all()) == ["d"]


@pytest.mark.usefixtures("short_backoff")
def test_the_groups_of_a_broker_that_refuses_connections_fail_and_the_others_succeed() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stop(3)
        started = cluster.clock()
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert cluster.clock() - started < 3
        assert sorted(results.succeeded) == ["a", "b", "c"]
        assert (results.failed["d"].name, results.failed["d"].broker) == ("CONNECTION_FAILED", 3)
        assert results.failed["d"].message == (
            f"cannot connect to broker 3 ({cluster.brokers[3].endpoint}): connection refused; "
            f"check advertised.listeners: {cluster.brokers[1].endpoint} returned this address"
        )


@pytest.mark.usefixtures("short_backoff")
def test_a_listing_without_one_broker_has_the_groups_of_the_others_within_seconds() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stop(2)
        started = cluster.clock()
        results = admin.list_groups()
        assert cluster.clock() - started < 3
        assert sorted(results.succeeded) == ["a", "d"]
        assert {broker: failure.name for broker, failure in results.failed.items()} == {2: "CONNECTION_FAILED"}


def test_the_groups_of_a_broker_that_never_responds_time_out_and_the_others_succeed() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", *[silent] * 20, brokers=[2])
        started = cluster.clock()
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"), timeout=0.8)
        assert 0.4 <= cluster.clock() - started < 2
        assert sorted(results.succeeded) == ["a", "d"]
        assert {name: failure.name for name, failure in results.failed.items()} == {"b": "TIMEOUT", "c": "TIMEOUT"}


def test_a_late_response_does_not_disturb_the_next_call() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", delayed(0.4), delayed(0.4), brokers=[2])
        late = admin.list_consumer_group_offsets({"b": None}, timeout=0.2)
        next_ = admin.list_consumer_group_offsets({"c": None})
        assert (list(late.succeeded), list(late.failed)) == ([], ["b"])
        assert list(next_.all()) == ["c"]


def test_a_malformed_response_fails_only_the_groups_of_its_request() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", garbage, brokers=[2])
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(results.succeeded) == ["a", "d"]
        assert {name: failure.name for name, failure in results.failed.items()} == {
            "b": "MALFORMED_RESPONSE",
            "c": "MALFORMED_RESPONSE",
        }
        assert results.failed["b"].message.startswith("the broker's OffsetFetch response is malformed: ")


def test_a_malformed_response_to_one_part_of_a_request_does_not_fail_the_other_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(list_consumer_group_offsets, "MAX_GROUPS", 1)
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", plain, garbage, brokers=[2])
        results = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert (sorted(results.succeeded), list(results.failed)) == (["a", "b", "d"], ["c"])


def test_a_connection_that_was_reset_between_two_calls_is_opened_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_groups()
        for broker in cluster.brokers.values():
            broker.close_connections(with_reset=True)
        assert sorted(admin.list_groups().all()) == ["a", "b", "c", "d"]
        for broker in cluster.brokers.values():
            broker.close_connections(with_reset=True)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys(["a", "x"])).all()) == ["a", "x"]


def test_an_unreachable_cluster_is_an_error_and_not_a_result() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        for number in cluster.brokers:
            cluster.stop(number)
        with pytest.raises(AdminError, match="connection refused") as caught:
            admin.list_consumer_group_offsets({"a": None})
        assert caught.value.name == "CONNECTION_FAILED"
        assert str(cluster.brokers[1].endpoint) in str(caught.value)


@pytest.mark.usefixtures("short_backoff")
def test_a_lookup_without_a_reachable_broker_names_an_address() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        failure = admin.list_consumer_group_offsets({"a": None}).failed["a"]
        assert failure.name == "CONNECTION_FAILED"
        assert failure.message == f"cannot connect to broker 1 ({cluster.brokers[1].endpoint}): connection refused"


def test_a_leader_that_is_not_in_the_metadata_is_reported() -> None:
    with ScriptedCluster(brokers=1, topics={"t": {0: 9}}) as cluster, cluster.admin() as admin:
        failure = admin.list_offsets([("t", 0)], timeout=0.3).failed[TopicPartition("t", 0)]
        assert failure.message.endswith("; last: broker 9 is not in the cluster's metadata")
