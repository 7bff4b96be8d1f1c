"""Share groups are described by ShareGroupDescribe."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.model import Assignment, Member
from tests.fakes.kind_members import share_member
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id


def shared(**values: Any) -> Group:
    return Group(type="Share", protocol_type="share", assignor="simple", **values)


def test_a_share_group_has_epochs_and_members_with_their_subscriptions() -> None:
    members = [share_member("m-1", {"u": (0,), "t": (2, 0)}, rack_id="r1")]
    with (
        ScriptedCluster(groups={"clicks": shared(coordinator=2, members=members)}) as cluster,
        cluster.admin() as admin,
    ):
        description = admin.describe_share_groups(["clicks"]).all()["clicks"]
    assert (description.type, description.protocol_type, description.state) == ("Share", "share", "Stable")
    assert (description.assignor, description.group_epoch, description.target_assignment_epoch) == ("simple", 4, 4)
    assert description.coordinator is not None
    assert description.coordinator.id == 2
    assert description.members == (
        Member(
            member_id="m-1",
            group_instance_id=None,
            client_id="sampler",
            host="/10.0.0.1",
            assignment=(Assignment("t", (0, 2)), Assignment("u", (0,))),
            epoch=3,
            rack="r1",
            subscription=("t", "u"),
        ),
    )


def test_an_empty_share_group_has_no_members_and_no_empty_assignor() -> None:
    groups = {"clicks": Group(type="Share", state="Empty", assignor="")}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        description = admin.describe_share_groups(["clicks"]).all()["clicks"]
    assert (description.state, description.members, description.assignor) == ("Empty", (), None)


def test_topics_without_names_are_looked_up_by_their_ids() -> None:
    rows = [{"topic_id": topic_id("t"), "topic_name": "", "partitions": [1]}]
    members = [share_member("m-1", {}, assignment={"topic_partitions": rows})]
    topics = {"t": {0: 1, 1: 1}}
    with (
        ScriptedCluster(groups={"clicks": shared(members=members)}, topics=topics) as cluster,
        cluster.admin() as admin,
    ):
        (member,) = admin.describe_share_groups(["clicks"]).all()["clicks"].members
    assert (member.assignment, member.target_assignment) == ((Assignment("t", (1,)),), None)


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
def test_a_share_group_whose_coordinator_is_not_ready_is_requested_again(code: int, lookups: int) -> None:
    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        row = {"group_id": "clicks", "error_code": code, "group_state": "", "members": []}
        cluster.script("ShareGroupDescribe", changed(groups=[row]), brokers=[1])
        assert admin.describe_share_groups(["clicks"]).all()["clicks"].state == "Stable"
        assert cluster.requests() == {"FindCoordinator": lookups, "ShareGroupDescribe": 2}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (30, "GROUP_AUTHORIZATION_FAILED"),
        (29, "TOPIC_AUTHORIZATION_FAILED"),
        (24, "INVALID_GROUP_ID"),
        (42, "INVALID_REQUEST"),
        (-1, "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_the_error_of_a_share_group_is_its_failure_and_hides_no_other(code: int, name: str) -> None:
    groups = {"secret": shared(error=code), "clicks": shared()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.describe_share_groups(groups)
        assert cluster.requests()["ShareGroupDescribe"] == 1
    assert list(results.succeeded) == ["clicks"]
    assert (results.failed["secret"].code, results.failed["secret"].name) == (code, name)


def test_a_group_that_is_absent_or_of_another_type_is_no_share_group() -> None:
    groups = {"app": Group(type="Streams"), "old": Group(), "new": Group(type="Consumer")}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.describe_share_groups(["absent", *groups])
    assert {group: failure.message for group, failure in results.failed.items()} == {
        "absent": "Group absent not found.",
        **{group: f"Group {group} is not a share group." for group in groups},
    }
    assert {failure.code for failure in results.failed.values()} == {69}


def test_a_cluster_without_the_feature_has_not_enabled_share_groups() -> None:
    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset({"Share"})
        failure = admin.describe_share_groups(["clicks"]).failed["clicks"]
    assert (failure.code, failure.name) == (35, "UNSUPPORTED_VERSION")
    assert failure.message == "share groups are not enabled on this cluster (feature share.version)"


def test_a_broker_without_the_api_is_too_old_for_share_groups() -> None:
    versions = {"ShareGroupDescribe": (0, -1)}
    with ScriptedCluster(groups={"clicks": shared()}, versions=versions) as cluster, cluster.admin() as admin:
        failure = admin.describe_share_groups(["clicks"]).failed["clicks"]
    assert (failure.code, failure.name) == (None, "UNSUPPORTED_VERSION")
    assert "4.1" in failure.message
