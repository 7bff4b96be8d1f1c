"""Describing groups: results of single groups when others fail, and the failures that are known at an early end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin.api import TimePlan
from kafka_groups.groups.descriptions import describe_groups, description_steps
from kafka_groups.groups.lag.rows import offset_rows
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.selection import Selectors, listing_steps, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.model import Broker
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


def test_a_group_whose_type_changed_is_described_although_another_group_is_stuck() -> None:
    groups = {
        "upgraded": Group(coordinator=1, type="Classic", commits={("t", 0): 5}),
        "stuck": Group(coordinator=2, commits={("t", 0): 5}),
    }
    with ScriptedCluster(groups=groups, topics={"t": {0: 1}}) as cluster, cluster.admin(timeout_s=2.0) as admin:
        details, selectors = Details(offsets=True), Selectors(all_groups=True)
        plan = TimePlan(admin.deadline(), (*listing_steps(selectors), *description_steps(details)))
        selection = select_groups(admin, selectors, operation=Operation.DESCRIBE, plan=plan)
        cluster.groups["upgraded"].type = "Consumer"
        stuck = changed(groups=[{"group_id": "stuck", "topics": [], "error_code": 14}])
        cluster.script("OffsetFetch", *[stuck] * 50, brokers=[2])
        described = describe_groups(admin, selection, details=details, plan=plan)
    assert [row.group for row in offset_rows(described, "upgraded")] == ["upgraded"]
    assert [(each.group, each.name) for each in described.failures] == [("stuck", "TIMEOUT")]
    assert described.notes == ()


@pytest.mark.parametrize("listed_state", ["Empty", "Stable"])
def test_a_group_that_two_brokers_list_is_described(listed_state: str) -> None:
    assignment = {"topic_partitions": [{"topic_id": topic_id("t"), "topic_name": "t", "partitions": [0]}]}
    member = {
        "member_id": "m",
        "member_epoch": 1,
        "client_id": "c",
        "client_host": "/h",
        "subscribed_topic_names": ["t"],
        "assignment": assignment,
        "target_assignment": assignment,
    }
    moving = Group(coordinator=1, type="Consumer", state=listed_state, commits={("t", 0): 5}, members=[member])
    stale = {"group_id": "g", "protocol_type": "consumer", "group_state": "Empty", "group_type": "Consumer"}
    with ScriptedCluster(groups={"g": moving}, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(groups=[stale]), brokers=[3])
        selection = select_groups(admin, Selectors(all_groups=True), operation=Operation.DESCRIBE)
        described = describe_groups(admin, selection, details=Details(offsets=True, members=False, offsets_only=True))
    assert [row.member_id for row in offset_rows(described, "g")] == ["m"]
    assert described.descriptions["g"].coordinator == Broker(id=1, host="127.0.0.1", port=cluster.addresses[1].port)
    assert described.failures == ()


def test_a_group_without_commits_among_others_has_no_rows_and_no_failure() -> None:
    groups = {
        "first": Group(coordinator=1, type="Classic", state="Empty", commits={("t", 0): 5}),
        "none-classic": Group(coordinator=1, type="Classic", state="Empty"),
        "none-consumer": Group(coordinator=2, type="Consumer", state="Stable"),
        "last": Group(coordinator=1, type="Consumer", state="Empty", commits={("t", 0): 6}),
    }
    with ScriptedCluster(groups=groups, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        selection = select_groups(admin, Selectors(all_groups=True), operation=Operation.DESCRIBE)
        described = describe_groups(admin, selection, details=Details(offsets=True, members=False, offsets_only=True))
    assert {
        group: [row.committed_offset for row in offset_rows(described, group)] for group in described.descriptions
    } == {
        "first": [5],
        "last": [6],
        "none-classic": [],
        "none-consumer": [],
    }
    assert (described.failures, described.notes) == ((), ())


@pytest.mark.parametrize("output", ["table", "kafka", "csv", "ndjson"])
def test_a_group_without_commits_among_others_is_a_note(mocker: MockerFixture, output: str) -> None:
    cluster = FakeCluster(mocker)
    cluster.add("first", state="Stable", commits={("t", 0): 1})
    cluster.add("none", state="Stable")
    cluster.add("zlast", state="Stable", commits={("t", 0): 1})
    cluster.end("t", 1)
    outcome = run("describe", "--all-groups", "--format", output)
    assert outcome.exit_code == 0
    assert [group for group in ("first", "none", "zlast") if group in outcome.stdout] == ["first", "zlast"]
    assert outcome.stderr == "Consumer group 'none' has no committed offsets and no assigned partitions.\n"


def test_a_group_without_commits_among_others_is_in_json_with_no_offsets(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.add("first", state="Stable", commits={("t", 0): 1})
    cluster.add("none", state="Stable")
    cluster.end("t", 1)
    document = json.loads(run("describe", "--all-groups", "--format", "json").stdout)
    assert {group["group"]: len(group["offsets"]) for group in document["groups"]} == {"first": 1, "none": 0}
    assert document["status"] == "complete"


def test_an_absent_group_beside_groups_that_cannot_be_described_is_exit_1(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.add("queue", state="Stable", kind="Queue", protocol_type="queue")
    outcome = run("describe", "--match", "qu.*", "-g", "absent", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (1, "")


def test_after_ctrl_c_the_document_has_the_failures_that_are_known(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.unlistable[3] = failure("CLUSTER_AUTHORIZATION_FAILED", code=31, broker=3)
    cluster.add("g", state="Stable")
    cluster.admin.describe_with_offsets.side_effect = KeyboardInterrupt
    outcome = run("describe", "--all-groups", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (130, "failed")
    assert [(error["broker"], error["name"]) for error in document["errors"]] == [
        (3, "CLUSTER_AUTHORIZATION_FAILED"),
        (None, "INTERRUPTED"),
    ]


def test_each_listing_of_a_selection_leaves_time_to_the_steps_after_it(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.add("g", state="Empty")
    run("describe", "g", "absent", "--in-state", "Empty")
    shares = [call.kwargs["timeout"].timeout_s for call in cluster.admin.list_groups.call_args_list]
    # The weights are 3 (listing), 1 (unfiltered listing), 4, 1 and 3; half of 30 seconds is reserved by them.
    assert [round(share) for share in shares] == [19, 20]


@pytest.mark.parametrize(
    ("group_type", "members", "described"),
    [("Classic", True, 0), ("Classic", False, 0), ("Consumer", True, 1), ("Consumer", False, 0)],
)
def test_an_empty_group_is_described_only_for_what_its_listing_lacks(
    group_type: str,
    members: bool,
    described: int,
) -> None:
    groups = {"g": Group(type=group_type, state="Empty", commits={("t", 0): 5})}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        selection = select_groups(admin, Selectors(all_groups=True), operation=Operation.DESCRIBE)
        found = describe_groups(admin, selection, details=Details(offsets=True, members=members))
        assert [row.lag for row in offset_rows(found, "g")] == [95]
        assert cluster.requests()["ConsumerGroupDescribe"] + cluster.requests()["DescribeGroups"] == described
