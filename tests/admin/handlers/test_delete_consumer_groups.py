"""Groups are deleted by one DeleteGroups a coordinator; each group has its own outcome."""

from __future__ import annotations

import pytest

from kafka_groups.admin.handlers import delete_consumer_groups
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

PLACES = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    groups = {name: Group(coordinator=at, state="Empty") for name, at in PLACES.items()}
    return ScriptedCluster(groups=groups, versions=versions)


def _with_error(group: str, code: int, message: str | None = None) -> Reaction:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        rows = [row for row in response["results"] if row["group_id"] != group]
        return {"results": [{"group_id": group, "error_code": code, "error_message": message}, *rows]}

    return react


def test_groups_need_one_lookup_and_one_request_per_coordinator() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.delete_consumer_groups([*"abcdea"]).all() == dict.fromkeys("abcde")
        assert cluster.requests() == {"FindCoordinator": 1, "DeleteGroups": 3}
        assert cluster.groups == {}
        deleted = {each.broker: each.body["groups_names"] for each in cluster.requests_of("DeleteGroups")}
    assert deleted == {1: ["a", "b"], 2: ["c", "d"], 3: ["e"]}


def test_an_old_broker_gets_one_lookup_per_group_and_one_request_per_coordinator() -> None:
    with _cluster(FindCoordinator=(0, 3), DeleteGroups=(0, 1)) as cluster, cluster.admin() as admin:
        assert len(admin.delete_consumer_groups([*"abcde"]).all()) == 5
        assert cluster.requests() == {"FindCoordinator": 5, "DeleteGroups": 3}


def test_many_groups_of_a_coordinator_are_split_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_consumer_groups, "MAX_GROUPS", 2)
    groups = {f"g{number}": Group(state="Empty") for number in range(5)}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        assert len(admin.delete_consumer_groups(groups).all()) == 5
        assert [len(each.body["groups_names"]) for each in cluster.requests_of("DeleteGroups")] == [2, 2, 1]


def test_each_group_has_its_own_outcome() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["a"].members = [{"member_id": "m"}]
        cluster.groups["b"].error = 30
        results = admin.delete_consumer_groups(["a", "b", "c", "absent"])
        assert sorted(cluster.groups) == ["a", "b", "d", "e"]
    assert dict(results.succeeded) == {"c": None}
    assert {group: failure.message for group, failure in results.failed.items()} == {
        "a": "the group is not empty: it has members",
        "b": "not allowed: this needs DELETE on the group",
        "absent": "there is no such group",
    }


def test_the_message_of_a_newer_broker_is_shown() -> None:
    with _cluster(DeleteGroups=(0, 3)) as cluster, cluster.admin() as admin:
        cluster.script("DeleteGroups", _with_error("a", 134, "the plugin failed"), brokers=[1])
        cluster.script("DeleteGroups", _with_error("c", 134), brokers=[2])
        results = admin.delete_consumer_groups(["a", "c"])
        assert cluster.requests_of("DeleteGroups")[0].version == 3
    assert {group: (failure.name, failure.message) for group, failure in results.failed.items()} == {
        "a": ("GROUP_DELETION_FAILED", "the plugin failed"),
        "c": ("GROUP_DELETION_FAILED", "the broker could not delete the group; see its log"),
    }


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
def test_only_a_group_whose_coordinator_is_loading_or_moved_is_requested_again(code: int, lookups: int) -> None:
    def refuse(_request: ReceivedRequest, response: Struct) -> Struct:
        cluster.groups["a"] = Group(coordinator=1)
        refused: Struct = _with_error("a", code)(_request, response)
        return refused

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DeleteGroups", refuse, brokers=[1])
        assert dict(admin.delete_consumer_groups(["a", "b"]).all()) == {"a": None, "b": None}
        assert [each.body["groups_names"] for each in cluster.requests_of("DeleteGroups")] == [["a", "b"], ["a"]]
        assert cluster.requests()["FindCoordinator"] == lookups


def test_a_group_that_the_response_lacks_is_unknown_and_not_sent_again() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DeleteGroups", lambda _request, response: {"results": response["results"][:1]}, brokers=[1])
        results = admin.delete_consumer_groups(["a", "b"])
        assert len(cluster.requests_of("DeleteGroups")) == 1
    assert list(results.succeeded) == ["a"]
    assert results.failed["b"].name == "OUTCOME_UNKNOWN"
    assert "it is missing from the broker's response" in results.failed["b"].message


def test_a_broker_before_1_1_is_too_old() -> None:
    with _cluster(DeleteGroups=(0, -1)) as cluster, cluster.admin() as admin:
        failure = admin.delete_consumer_groups(["a"]).failed["a"]
    assert failure.message == "the broker does not support DeleteGroups; this tool needs version 0 to 3 (Kafka 1.1)"


def test_a_group_that_was_deleted_and_made_by_another_type_is_described_as_of_unknown_type() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.list_groups().all()["a"].type == "Classic"
        admin.delete_consumer_groups(["a"]).all()
        cluster.groups["a"] = Group(coordinator=1, type="Consumer")
        assert admin.describe_consumer_groups(["a"]).all()["a"].type == "Consumer"
        # Without a known type, both APIs are requested in the same round.
        assert cluster.requests() == {
            "ListGroups": 3,
            "DeleteGroups": 1,
            "ConsumerGroupDescribe": 1,
            "DescribeGroups": 1,
        }
