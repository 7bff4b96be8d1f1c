"""Descriptions of groups: two APIs, one result for each group."""

from __future__ import annotations

import pytest

from kafka_groups.model import Assignment, Member
from kafka_groups.protocol import Struct
from tests.fakes.reactions import Reaction, ReceivedRequest, changed, throttled
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.protocol.golden_messages import BY_NAME

# ConsumerProtocolAssignment, version 0: topic "b" with partitions 3 and 1, then topic "a" with 0; no user data.
ASSIGNMENT = bytes.fromhex("0000 00000002 0001 62 00000002 00000003 00000001 0001 61 00000001 00000000 ffffffff")
CLASSIC_MEMBER: Struct = {
    "member_id": "m-1",
    "group_instance_id": "i-1",
    "client_id": "c-1",
    "client_host": "/10.0.0.1",
    "member_metadata": b"",
    "member_assignment": ASSIGNMENT,
}
CONSUMER_MEMBER: Struct = {
    "member_id": "m-2",
    "instance_id": None,
    "member_epoch": 3,
    "client_id": "c-2",
    "client_host": "/10.0.0.2",
    "assignment": {"topic_partitions": [{"topic_name": "t", "partitions": [2, 0]}]},
    "target_assignment": {"topic_partitions": [{"topic_name": "t", "partitions": [0]}]},
    "member_type": 1,
}


def test_a_classic_group_is_described_with_members_and_without_epochs() -> None:
    groups = {"old": Group(coordinator=2, members=[CLASSIC_MEMBER])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        description = admin.describe_consumer_groups(["old"]).all()["old"]
        assert (description.type, description.state, description.assignor) == ("Classic", "Stable", "range")
        assert (description.group_epoch, description.target_assignment_epoch) == (None, None)
        assert description.coordinator is not None
        assert (description.coordinator.id, description.coordinator.port) == (2, cluster.brokers[2].endpoint.port)
        assert description.members == (
            Member(
                member_id="m-1",
                group_instance_id="i-1",
                client_id="c-1",
                host="/10.0.0.1",
                assignment=(Assignment(topic="a", partitions=(0,)), Assignment(topic="b", partitions=(1, 3))),
            ),
        )


def test_a_group_of_the_consumer_protocol_is_described_with_epochs_and_targets() -> None:
    groups = {"new": Group(type="Consumer", members=[CONSUMER_MEMBER], assignor="uniform", epoch=4)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        description = admin.describe_consumer_groups(["new"]).all()["new"]
        assert (description.type, description.protocol_type, description.assignor) == (
            "Consumer",
            "consumer",
            "uniform",
        )
        assert (description.group_epoch, description.target_assignment_epoch) == (4, 4)
        assert description.members == (
            Member(
                member_id="m-2",
                group_instance_id=None,
                client_id="c-2",
                host="/10.0.0.2",
                assignment=(Assignment(topic="t", partitions=(0, 2)),),
                epoch=3,
                target_epoch=4,
                target_assignment=(Assignment(topic="t", partitions=(0,)),),
                upgraded=True,
            ),
        )


@pytest.mark.parametrize(("member_type", "upgraded"), [(-1, None), (0, False), (1, True), (7, None)])
def test_a_member_is_upgraded_according_to_its_member_type(member_type: int, upgraded: bool | None) -> None:
    groups = {"new": Group(type="Consumer", members=[{**CONSUMER_MEMBER, "member_type": member_type}])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        assert admin.describe_consumer_groups(["new"]).all()["new"].members[0].upgraded is upgraded


def test_consumer_group_describe_version_0_does_not_report_upgrades() -> None:
    groups = {"new": Group(type="Consumer", members=[CONSUMER_MEMBER])}
    versions = {"ConsumerGroupDescribe": (0, 0)}
    with ScriptedCluster(groups=groups, versions=versions) as cluster, cluster.admin() as admin:
        assert admin.describe_consumer_groups(["new"]).all()["new"].members[0].upgraded is None


def test_groups_of_both_types_are_returned_in_the_order_of_the_call() -> None:
    groups = {"new": Group(type="Consumer"), "old": Group(coordinator=2)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(["old", "new", "old"])
        assert [(group.group, group.type, group.group_epoch) for group in results.all().values()] == [
            ("old", "Classic", None),
            ("new", "Consumer", 4),
        ]


@pytest.mark.parametrize(("before", "after"), [("Classic", "Consumer"), ("Consumer", "Classic")])
def test_a_group_that_changed_its_type_since_it_was_listed_is_described(before: str, after: str) -> None:
    groups = {"moves": Group(type=before), "stays": Group(type=before)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        admin.list_groups()
        groups["moves"].type = after
        results = admin.describe_consumer_groups(["moves", "stays"])
        assert [(group.group, group.type) for group in results.all().values()] == [("moves", after), ("stays", before)]
        requests = cluster.requests()
        assert (requests["DescribeGroups"], requests["ConsumerGroupDescribe"]) == (1, 1)
        assert admin.describe_consumer_groups(["moves"]).all()["moves"].type == after


def test_a_group_that_was_deleted_since_it_was_listed_has_the_error_of_the_api_of_its_type() -> None:
    with ScriptedCluster(groups={"goes": Group()}) as cluster, cluster.admin() as admin:
        admin.list_groups()
        del cluster.groups["goes"]
        cluster.script("ConsumerGroupDescribe", _with_message("Group goes is not a consumer group."))
        assert "not a consumer group" not in admin.describe_consumer_groups(["goes"]).failed["goes"].message


def test_a_group_that_neither_api_finds_has_the_error_of_the_newer_api() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        cluster.script("ConsumerGroupDescribe", _with_message("Group ghost was never seen."))
        failure = admin.describe_consumer_groups(["ghost"]).failed["ghost"]
        assert (failure.code, failure.name) == (69, "GROUP_ID_NOT_FOUND")
        assert failure.message == "Group ghost was never seen."
        assert failure.group == "ghost"


def test_an_authorization_error_of_the_older_api_is_the_error_of_the_group() -> None:
    with ScriptedCluster(groups={"old": Group(error=30)}) as cluster, cluster.admin() as admin:
        failure = admin.describe_consumer_groups(["old"]).failed["old"]
        assert (failure.code, failure.name) == (30, "GROUP_AUTHORIZATION_FAILED")


def test_a_group_that_consumer_group_describe_does_not_support_is_described_by_describe_groups() -> None:
    with ScriptedCluster(groups={"old": Group()}) as cluster, cluster.admin() as admin:
        cluster.script("ConsumerGroupDescribe", changed(groups=[{"group_id": "old", "error_code": 35}]))
        assert admin.describe_consumer_groups(["old"]).all()["old"].type == "Classic"


def test_a_consumer_group_with_an_unauthorized_topic_fails_with_that_error() -> None:
    with ScriptedCluster(groups={"new": Group(type="Consumer", error=29)}) as cluster, cluster.admin() as admin:
        failure = admin.describe_consumer_groups(["new"]).failed["new"]
        assert (failure.code, failure.name) == (29, "TOPIC_AUTHORIZATION_FAILED")


def test_a_group_of_kafka_connect_is_not_a_consumer_group() -> None:
    groups = {"sink": Group(protocol_type="connect"), "orders": Group()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.describe_consumer_groups(["sink", "orders"])
        assert list(results.succeeded) == ["orders"]
        assert results.failed["sink"].name == "INCONSISTENT_GROUP_PROTOCOL"
        assert results.failed["sink"].message == "it is not a consumer group (connect)"


def test_a_simple_group_without_a_protocol_is_described() -> None:
    groups = {"simple": Group(protocol_type="", state="Empty", assignor="")}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        description = admin.describe_consumer_groups(["simple"]).all()["simple"]
        assert (description.state, description.assignor, description.members) == ("Empty", None, ())


def test_a_member_without_partitions_has_an_empty_assignment() -> None:
    groups = {"old": Group(members=[{**CLASSIC_MEMBER, "member_assignment": b""}])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        (member,) = admin.describe_consumer_groups(["old"]).all()["old"].members
        assert (member.assignment, member.partition_count) == ((), 0)


def test_a_partition_that_an_assignment_has_twice_is_assigned_once() -> None:
    twice = bytes.fromhex(
        "0000 00000002 0001 62 00000002 00000003 00000003 0001 62 00000002 00000003 00000001 ffffffff"
    )
    groups = {"old": Group(members=[{**CLASSIC_MEMBER, "member_assignment": twice}])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        (member,) = admin.describe_consumer_groups(["old"]).all()["old"].members
        assert member.assignment == (Assignment(topic="b", partitions=(1, 3)),)


@pytest.mark.parametrize("assignment", [b"\x00", b"not an assignment at all", b'{"u":[1]}', ASSIGNMENT[:9]])
def test_an_unreadable_assignment_is_not_an_empty_one_and_hides_no_other_member(assignment: bytes) -> None:
    members = [{**CLASSIC_MEMBER, "member_assignment": assignment}, {**CLASSIC_MEMBER, "member_id": "m-2"}]
    with ScriptedCluster(groups={"old": Group(members=members)}) as cluster, cluster.admin() as admin:
        unreadable, readable = admin.describe_consumer_groups(["old"]).all()["old"].members
        assert (unreadable.assignment, unreadable.partition_count) == (None, None)
        assert (readable.member_id, readable.partition_count) == ("m-2", 3)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 32_767])
def test_an_assignment_is_read_in_the_version_of_its_bytes_and_an_unknown_one_as_the_newest(version: int) -> None:
    # Version 4 might have more fields at the end; Kafka's ConsumerProtocol reads it as version 3.
    assignment = version.to_bytes(2, "big") + ASSIGNMENT[2:] + (b"new field" if version > 3 else b"")
    groups = {"old": Group(members=[{**CLASSIC_MEMBER, "member_assignment": assignment}])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        (member,) = admin.describe_consumer_groups(["old"]).all()["old"].members
        assert member.assignment == (
            Assignment(topic="a", partitions=(0,)),
            Assignment(topic="b", partitions=(1, 3)),
        )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_an_assignment_that_kafka_wrote_has_the_partitions_that_kafka_wrote(version: int) -> None:
    golden = BY_NAME["ConsumerProtocol", "assignment", version, "full"]
    groups = {"old": Group(members=[{**CLASSIC_MEMBER, "member_assignment": golden.data}])}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        (member,) = admin.describe_consumer_groups(["old"]).all()["old"].members
        assert {each.topic: list(each.partitions) for each in member.assignment or ()} == {
            row["topic"]: sorted(row["partitions"]) for row in golden.values["assigned_partitions"]
        }
        assert member.assignment


def test_states_are_spelled_as_in_kafkas_tools_and_unknown_ones_stay_unchanged() -> None:
    groups = {"a": Group(state="PREPARINGREBALANCE"), "b": Group(state="Hibernating")}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        described = admin.describe_consumer_groups(["a", "b"]).all()
        assert [group.state for group in described.values()] == ["PreparingRebalance", "Hibernating"]


@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_request_to_a_coordinator_that_is_not_ready_is_retried(code: int) -> None:
    with ScriptedCluster(groups={"new": Group(type="Consumer")}) as cluster, cluster.admin() as admin:
        cluster.script("ConsumerGroupDescribe", changed(groups=[{"group_id": "new", "error_code": code}]))
        assert admin.describe_consumer_groups(["new"]).all()["new"].type == "Consumer"
        assert cluster.requests()["ConsumerGroupDescribe"] == 2


def test_a_group_whose_lookup_is_refused_fails_alone() -> None:
    def refuse_first(_request: ReceivedRequest, response: Struct) -> Struct:
        first, *rest = response["coordinators"]
        return {"coordinators": [{"key": first["key"], "error_code": 30}, *rest]}

    with ScriptedCluster(groups={"orders": Group(coordinator=2)}) as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", refuse_first)
        results = admin.describe_consumer_groups(["secret", "orders"])
        assert list(results.succeeded) == ["orders"]
        failure = results.failed["secret"]
        assert (failure.name, failure.broker, failure.group) == ("GROUP_AUTHORIZATION_FAILED", None, "secret")
        assert failure.message == "not allowed: this needs DESCRIBE on the group"


def test_a_throttled_response_is_returned() -> None:
    with ScriptedCluster(groups={"old": Group()}) as cluster, cluster.admin() as admin:
        cluster.script("DescribeGroups", throttled(1))
        assert list(admin.describe_consumer_groups(["old"]).all()) == ["old"]


def _with_message(message: str) -> Reaction:
    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        return {"groups": [{**row, "error_message": message} for row in response["groups"]]}

    return react
