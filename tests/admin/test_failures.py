"""What goes wrong between us and the brokers: each item fails alone, or is asked again where that helps."""

from __future__ import annotations

import time

import pytest

from kafka_groups.admin import driver
from kafka_groups.admin.handlers import list_consumer_group_offsets
from kafka_groups.errors import AdminError, BrokerError
from kafka_groups.model import TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.scripted_broker import Reaction, ReceivedRequest, delayed, drops, garbage, plain, silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

PLACES = {"a": 1, "b": 2, "c": 2, "d": 3}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six tries of a broker take half a second instead of two and a half."""
    monkeypatch.setattr(driver, "_MAX_BACKOFF_S", 0.1)


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at, commits={("t", 0): 5}) for name, at in PLACES.items()}
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2, 2: 3}}, versions=versions)


def _with_error(group: str, code: int, *, rows: str = "groups", key: str = "group_id") -> Reaction:
    """The answer as it would be, but one of its rows is replaced by an error."""

    def react(_asked: ReceivedRequest, answer: Struct) -> Struct:
        return {rows: [{key: group, "error_code": code} if row[key] == group else row for row in answer[rows]]}

    return react


def _without(group: str, *, rows: str = "groups", key: str = "group_id") -> Reaction:
    return lambda _asked, answer: {rows: [row for row in answer[rows] if row[key] != group]}


def _fetched(cluster: ScriptedCluster) -> list[tuple[int, list[str]]]:
    return [
        (asked.broker, [group["group_id"] for group in asked.body["groups"]])
        for asked in cluster.requests_of("OffsetFetch")
    ]


def test_each_group_of_one_answer_has_its_own_error() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups |= {"x": Group(error=30), "y": Group(error=69), "z": Group(error=24), "w": Group(error=113)}
        answers = admin.list_consumer_group_offsets(dict.fromkeys(["a", "x", "y", "z", "w"]))
        assert list(answers.succeeded) == ["a"]
        assert {name: failure.name for name, failure in answers.failed.items()} == {
            "x": "GROUP_AUTHORIZATION_FAILED",
            "y": "GROUP_ID_NOT_FOUND",
            "z": "INVALID_GROUP_ID",
            "w": "STALE_MEMBER_EPOCH",
        }
        assert {failure.broker for failure in answers.failed.values()} == {1}


def test_all_or_nothing_raises_the_first_failure_as_an_error() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["b"].error = 30
        with pytest.raises(BrokerError, match="not allowed: this needs Describe on the group") as caught:
            admin.list_consumer_group_offsets(dict.fromkeys("abc")).all()
        assert (caught.value.name, caught.value.code) == ("GROUP_AUTHORIZATION_FAILED", 30)


@pytest.mark.parametrize("code", [15, 16])
def test_a_group_whose_coordinator_moves_midway_is_looked_up_and_fetched_alone(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _with_error("b", code), brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        look_ups = [asked.body["coordinator_keys"] for asked in cluster.requests_of("FindCoordinator")]
        assert look_ups == [["a", "b", "c", "d"], ["b"]]
        assert _fetched(cluster)[-1] == (2, ["b"])


def test_a_group_that_its_coordinator_still_loads_is_asked_for_again_there() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _with_error("c", 14), _with_error("c", 14), brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert cluster.requests() == {"FindCoordinator": 1, "OffsetFetch": 5}
        first, second = [asked.at for asked in cluster.requests_of("OffsetFetch") if asked.broker == 2][-2:]
        assert second - first >= 0.16


@pytest.mark.parametrize("code", [14, 15])
def test_a_group_without_a_coordinator_yet_is_looked_up_again_while_the_others_go_on(code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _with_error("a", code, rows="coordinators", key="key"), brokers=[1])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert cluster.requests_of("FindCoordinator")[1].body["coordinator_keys"] == ["a"]
        assert _fetched(cluster)[-1] == (1, ["a"])
        assert cluster.requests_of("FindCoordinator")[1].at - cluster.requests_of("FindCoordinator")[0].at >= 0.08


def test_a_coordinator_that_never_comes_is_told_with_the_timeout() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        reactions = [_with_error("a", 15, rows="coordinators", key="key")] * 20
        cluster.script("FindCoordinator", *reactions, brokers=[1])
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"), timeout=0.8)
        assert sorted(answers.succeeded) == ["b", "c", "d"]
        assert answers.failed["a"].name == "TIMEOUT"
        assert answers.failed["a"].message.endswith("; last: no coordinator is available for this group")
        assert len(cluster.requests_of("FindCoordinator")) <= 5


def test_a_group_that_an_answer_lacks_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _without("b"), brokers=[2])
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(answers.succeeded) == ["a", "c", "d"]
        assert (answers.failed["b"].name, answers.failed["b"].broker) == ("MISSING_FROM_RESPONSE", 2)


def test_a_group_that_a_look_up_lacks_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", _without("b", rows="coordinators", key="key"), brokers=[1])
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(answers.succeeded) == ["a", "c", "d"]
        assert answers.failed["b"].name == "MISSING_FROM_RESPONSE"


def test_a_broker_that_hangs_up_during_a_fetch_is_looked_up_and_asked_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", drops, brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        look_ups = [asked.body["coordinator_keys"] for asked in cluster.requests_of("FindCoordinator")]
        assert look_ups == [["a", "b", "c", "d"], ["b", "c"]]


def test_groups_of_a_broker_that_hangs_up_reach_the_coordinator_that_took_over() -> None:
    def takes_over(_asked: ReceivedRequest, _answer: Struct) -> None:
        cluster.groups["b"].coordinator = cluster.groups["c"].coordinator = 3

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", takes_over, brokers=[2])
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("abcd")).all()) == ["a", "b", "c", "d"]
        assert _fetched(cluster)[-1] == (3, ["b", "c"])


def test_a_bootstrap_broker_that_hangs_up_later_is_replaced_by_another() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys("bcd")).all()) == ["b", "c", "d"]


def test_every_broker_has_its_turn_before_a_look_up_is_given_up() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        cluster.stop(2)
        assert list(admin.list_consumer_group_offsets({"d": None}).all()) == ["d"]


@pytest.mark.timed
@pytest.mark.usefixtures("impatient")
def test_the_groups_of_a_broker_that_takes_no_connection_fail_and_the_others_are_answered() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stop(3)
        started = time.monotonic()
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert time.monotonic() - started < 3
        assert sorted(answers.succeeded) == ["a", "b", "c"]
        assert (answers.failed["d"].name, answers.failed["d"].broker) == ("CONNECTION_FAILED", 3)
        assert answers.failed["d"].message == (
            f"cannot connect to broker 3 ({cluster.brokers[3].endpoint}): connection refused; "
            f"check advertised.listeners: {cluster.brokers[1].endpoint} returned this address"
        )


@pytest.mark.timed
@pytest.mark.usefixtures("impatient")
def test_a_listing_without_one_broker_has_the_groups_of_the_others_within_bounded_time() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.stop(2)
        started = time.monotonic()
        answers = admin.list_groups()
        assert time.monotonic() - started < 3
        assert sorted(answers.succeeded) == ["a", "d"]
        assert {broker: failure.name for broker, failure in answers.failed.items()} == {2: "CONNECTION_FAILED"}


@pytest.mark.timed
def test_a_broker_that_never_answers_costs_its_groups_and_no_more_than_the_deadline() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", silent, silent, brokers=[2])
        started = time.monotonic()
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"), timeout=0.8)
        # It has half of the time to say something, and then one more chance.
        assert 0.4 <= time.monotonic() - started < 2
        assert sorted(answers.succeeded) == ["a", "d"]
        assert {name: failure.name for name, failure in answers.failed.items()} == {"b": "TIMEOUT", "c": "TIMEOUT"}


def test_an_answer_that_comes_too_late_does_not_disturb_the_next_question() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", delayed(0.4), delayed(0.4), brokers=[2])
        late = admin.list_consumer_group_offsets({"b": None}, timeout=0.2)
        next_ = admin.list_consumer_group_offsets({"c": None})
        assert (list(late.succeeded), list(late.failed)) == ([], ["b"])
        assert list(next_.all()) == ["c"]


def test_an_answer_that_cannot_be_read_fails_the_groups_of_that_request_only() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", garbage, brokers=[2])
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert sorted(answers.succeeded) == ["a", "d"]
        assert {name: failure.name for name, failure in answers.failed.items()} == {
            "b": "MALFORMED_RESPONSE",
            "c": "MALFORMED_RESPONSE",
        }
        assert answers.failed["b"].message.startswith("the broker's OffsetFetch response is malformed: ")


def test_an_unreadable_part_of_a_split_question_leaves_the_other_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_consumer_group_offsets, "MAX_GROUPS", 1)
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", plain, garbage, brokers=[2])
        answers = admin.list_consumer_group_offsets(dict.fromkeys("abcd"))
        assert (sorted(answers.succeeded), list(answers.failed)) == (["a", "b", "d"], ["c"])


def test_a_connection_that_was_reset_between_two_calls_is_opened_anew() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.list_groups()
        for broker in cluster.brokers.values():
            broker.close_connections(with_reset=True)
        assert sorted(admin.list_groups().all()) == ["a", "b", "c", "d"]
        for broker in cluster.brokers.values():
            broker.close_connections(with_reset=True)
        assert sorted(admin.list_consumer_group_offsets(dict.fromkeys(["a", "x"])).all()) == ["a", "x"]


def test_nothing_reachable_is_raised_and_not_answered() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        for number in cluster.brokers:
            cluster.stop(number)
        with pytest.raises(AdminError, match="connection refused") as caught:
            admin.list_consumer_group_offsets({"a": None})
        assert caught.value.name == "CONNECTION_FAILED"
        assert str(cluster.brokers[1].endpoint) in str(caught.value)


@pytest.mark.usefixtures("impatient")
def test_a_look_up_that_nobody_answers_any_more_names_an_address() -> None:
    with ScriptedCluster(brokers=1) as cluster, cluster.admin() as admin:
        admin.brokers()
        cluster.stop(1)
        failure = admin.list_consumer_group_offsets({"a": None}).failed["a"]
        assert failure.name == "CONNECTION_FAILED"
        assert failure.message == f"cannot connect to {cluster.brokers[1].endpoint}: connection refused"


def test_a_leader_that_is_none_of_the_brokers_is_told_as_such() -> None:
    with ScriptedCluster(brokers=1, topics={"t": {0: 9}}) as cluster, cluster.admin() as admin:
        failure = admin.list_offsets([("t", 0)], timeout=0.3).failed[TopicPartition("t", 0)]
        assert failure.message.endswith("; last: broker 9 is not in the cluster's metadata")
