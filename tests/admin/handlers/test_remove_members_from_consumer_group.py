"""Members are removed by one LeaveGroup a group, on old brokers by one for each member."""

from __future__ import annotations

import pytest

from kafka_groups.admin import MemberIdentity
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

DYNAMIC, STATIC = MemberIdentity("m-1", None), MemberIdentity("", "i-1")
BOTH, ABSENT = MemberIdentity("m-3", "i-3"), MemberIdentity("m-9", None)
REASON = "removed by an administrator with kafka-groups"


def _cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    members = [
        {"member_id": "m-1"},
        {"member_id": "m-2", "group_instance_id": "i-1"},
        {"member_id": "m-3", "group_instance_id": "i-3"},
    ]
    groups = {"a": Group(coordinator=1, members=members), "b": Group(coordinator=2, members=members)}
    return ScriptedCluster(groups=groups, versions=versions)


def test_each_group_has_one_request_with_its_members_and_the_reason() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.remove_members_from_consumer_group({"a": [DYNAMIC, STATIC, BOTH], "b": [DYNAMIC]})
        assert results.all() == {"a": {DYNAMIC: None, STATIC: None, BOTH: None}, "b": {DYNAMIC: None}}
        assert cluster.requests() == {"FindCoordinator": 1, "LeaveGroup": 2}
        request = next(each for each in cluster.requests_of("LeaveGroup") if each.broker == 1)
        assert cluster.groups["a"].state == "Empty"
    assert request.version == 5
    assert request.body["members"] == [
        {"member_id": "m-1", "group_instance_id": None, "reason": REASON},
        {"member_id": "", "group_instance_id": "i-1", "reason": REASON},
        {"member_id": "m-3", "group_instance_id": "i-3", "reason": REASON},
    ]


def test_a_member_that_is_absent_and_one_that_was_replaced_fail_alone() -> None:
    fenced = MemberIdentity("m-0", "i-1")
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.remove_members_from_consumer_group({"a": [DYNAMIC, ABSENT, fenced], "absent": [ABSENT]})
    failures = {member: failure and failure.message for member, failure in results.succeeded["a"].items()}
    assert failures == {
        DYNAMIC: None,
        ABSENT: "member m-9: the group has no such member",
        fenced: "member m-0: another member of the group has this group.instance.id",
    }
    absent = results.succeeded["absent"][ABSENT]
    assert absent is not None
    assert absent.name == "UNKNOWN_MEMBER_ID"


def test_a_member_id_that_the_broker_adds_to_a_static_member_is_accepted() -> None:
    row = {"member_id": "m-2", "group_instance_id": "i-1", "error_code": 0}
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("LeaveGroup", changed(members=[row]), brokers=[1])
        assert admin.remove_members_from_consumer_group({"a": [STATIC]}).all() == {"a": {STATIC: None}}


def test_a_member_that_the_response_lacks_is_unknown() -> None:
    row = {"member_id": "m-1", "group_instance_id": None, "error_code": 0}
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("LeaveGroup", changed(members=[row]), brokers=[1])
        results = admin.remove_members_from_consumer_group({"a": [DYNAMIC, STATIC]})
    assert results.succeeded["a"][DYNAMIC] is None
    failure = results.succeeded["a"][STATIC]
    assert failure is not None
    assert failure.name == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
@pytest.mark.parametrize("version", [2, 5])
def test_a_coordinator_that_is_loading_or_moved_is_requested_again(code: int, lookups: int, version: int) -> None:
    with _cluster(LeaveGroup=(0, version)) as cluster, cluster.admin() as admin:
        cluster.script("LeaveGroup", changed(error_code=code, members=[]), brokers=[1])
        # The fake removes a member before its response is replaced, and the second request removes another one.
        cluster.groups["a"].members = [{"member_id": "m-1"}, {"member_id": "m-1"}]
        assert admin.remove_members_from_consumer_group({"a": [DYNAMIC]}).all() == {"a": {DYNAMIC: None}}
        assert cluster.requests() == {"FindCoordinator": lookups, "LeaveGroup": 2}


def test_the_right_that_a_removal_needs_is_named() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.groups["a"].error = 30
        failure = admin.remove_members_from_consumer_group({"a": [DYNAMIC]}).failed["a"]
    assert failure.message == "not allowed: this needs READ on the group"


@pytest.mark.parametrize("version", [3, 4])
def test_versions_before_the_reason_take_many_members(version: int) -> None:
    with _cluster(LeaveGroup=(0, version)) as cluster, cluster.admin() as admin:
        results = admin.remove_members_from_consumer_group({"a": [DYNAMIC, STATIC]})
        assert results.all() == {"a": {DYNAMIC: None, STATIC: None}}
        assert len(cluster.requests_of("LeaveGroup")) == 1


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_old_broker_gets_one_request_for_each_member_without_a_pause(version: int) -> None:
    with _cluster(LeaveGroup=(0, version)) as cluster, cluster.admin() as admin:
        results = admin.remove_members_from_consumer_group({"a": [DYNAMIC, ABSENT, STATIC, BOTH], "b": [STATIC]})
        requests = cluster.requests_of("LeaveGroup")
        assert [each.body["member_id"] for each in requests] == ["m-1", "m-9", "m-3"]
        assert [member["member_id"] for member in cluster.groups["a"].members] == ["m-2"]
    assert {member: failure and failure.name for member, failure in results.succeeded["a"].items()} == {
        DYNAMIC: None,
        ABSENT: "UNKNOWN_MEMBER_ID",
        STATIC: "UNSUPPORTED_VERSION",
        BOTH: None,
    }
    assert results.failed["b"].name == "UNSUPPORTED_VERSION"
    assert results.failed["b"].message == (
        "to remove a member by its group.instance.id alone needs LeaveGroup version 3 (Kafka 2.4); "
        f"the broker supports up to {version}"
    )
