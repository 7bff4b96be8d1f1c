"""Offsets of groups whose type is not known: committed offsets, or the start offsets of a share group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = {
    "orders": Group(coordinator=1, commits={("t", 0): 5}),
    "idle": Group(coordinator=1),
    "shared": Group(coordinator=2, type="Share", protocol_type="share", commits={("t", 0): 7}, lags={("t", 0): 3}),
}


@pytest.fixture
def cluster() -> ScriptedCluster:
    """Return two brokers with a consumer group, one without commits, and a share group."""
    return ScriptedCluster(brokers=2, groups=GROUPS, topics={"t": {0: 1}})


def test_a_share_group_of_unknown_type_has_its_start_offsets_and_lags(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        offsets = admin.list_group_offsets({"shared": None}).all()["shared"]
        assert [(key, commit and commit.offset) for key, commit in offsets.rows()] == [(("t", 0), 7)]
        assert offsets.lags == {("t", 0): 3}


def test_a_group_without_commits_is_no_share_group(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        offsets = admin.list_group_offsets({"idle": None, "absent": None}).all()
        assert [(len(each), each.lags) for each in offsets.values()] == [(0, None), (0, None)]


def test_a_group_without_commits_on_named_partitions_is_no_share_group(cluster: ScriptedCluster) -> None:
    named = {group: [("t", 0)] for group in ("idle", "absent")}
    with cluster, cluster.admin() as admin:
        offsets = admin.list_group_offsets(named).all()
        assert [(dict(each.rows()), each.lags) for each in offsets.values()] == [({("t", 0): None}, None)] * 2


def test_only_groups_without_commits_are_requested_as_share_groups(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        admin.list_group_offsets(dict.fromkeys(GROUPS))
        requests = cluster.requests_of("DescribeShareGroupOffsets")
        groups = sorted(row["group_id"] for request in requests for row in request.body["groups"])
        assert (groups, len(cluster.requests_of("OffsetFetch"))) == (["idle", "shared"], 2)


def test_listed_groups_cost_one_request_a_coordinator(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        admin.list_group_offsets(dict.fromkeys(admin.list_groups().succeeded.keys() - {"idle"}))
        assert (len(cluster.requests_of("OffsetFetch")), len(cluster.requests_of("DescribeShareGroupOffsets"))) == (
            1,
            1,
        )


def test_a_broker_without_the_api_of_share_groups_has_consumer_groups_only() -> None:
    groups = {"idle": Group(coordinator=1)}
    versions = {"DescribeShareGroupOffsets": (0, -1)}
    with ScriptedCluster(brokers=1, groups=groups, versions=versions) as cluster, cluster.admin() as admin:
        assert len(admin.list_group_offsets({"idle": None}).all()["idle"]) == 0


def test_a_share_group_whose_start_offsets_fail_is_not_without_offsets(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        cluster.script("DescribeShareGroupOffsets", _deny, brokers=[2])
        _, offsets = admin.describe_with_offsets(["shared"], {"shared": None})
        assert offsets.failed["shared"].name == "GROUP_AUTHORIZATION_FAILED"


def _deny(request: ReceivedRequest, _response: Struct) -> Struct:
    rows = request.body["groups"]
    return {"groups": [{"group_id": row["group_id"], "topics": [], "error_code": 30} for row in rows]}


def test_a_group_whose_start_offsets_fail_is_not_known_to_be_without_offsets(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        cluster.script("DescribeShareGroupOffsets", *[delayed(60.0)] * 3, brokers=[2])
        results = admin.list_group_offsets({"shared": None, "orders": None}, timeout=5)
        assert list(results.succeeded) == ["orders"]
        assert results.failed["shared"].name == "TIMEOUT"


def test_a_cluster_without_share_groups_has_consumer_groups_only(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset({"Share"})
        assert [len(each) for each in admin.list_group_offsets({"idle": None, "absent": None}).all().values()] == [0, 0]


def test_a_group_known_as_a_share_group_is_not_fetched(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        admin.list_groups()
        assert len(admin.list_group_offsets({"shared": None}).all()["shared"]) == 1
        assert cluster.requests_of("OffsetFetch") == []


def test_listed_groups_without_commits_cost_another_request_a_coordinator(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        admin.list_group_offsets(dict.fromkeys(admin.list_groups().succeeded))
        requested = [
            [row["group_id"] for row in each.body["groups"]]
            for each in cluster.requests_of("DescribeShareGroupOffsets")
        ]
        assert (sorted(requested), len(cluster.requests_of("OffsetFetch"))) == ([["idle"], ["shared"]], 1)


@pytest.mark.parametrize("describes", [True, False])
def test_a_share_group_that_was_recreated_as_a_consumer_group_has_its_commits(*, describes: bool) -> None:
    groups = dict(GROUPS)
    with ScriptedCluster(brokers=2, groups=groups, topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.groups["shared"] = Group(coordinator=2, commits={("t", 0): 9})
        if describes:
            _, results = admin.describe_with_offsets(["shared"], {"shared": None})
        else:
            results = admin.list_group_offsets({"shared": None})
        offsets = results.all()["shared"]
        assert (offsets.lags, [commit and commit.offset for _, commit in offsets.rows()]) == (None, [9])


@pytest.mark.parametrize("describes", [True, False])
def test_a_consumer_group_that_was_recreated_as_a_share_group_has_its_start_offsets(*, describes: bool) -> None:
    with ScriptedCluster(brokers=2, groups=dict(GROUPS), topics={"t": {0: 1}}) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.groups["idle"] = replace(GROUPS["shared"], coordinator=1)
        if describes:
            described, results = admin.describe_with_offsets(["idle"], {"idle": None})
            assert described.all()["idle"].type == "Share"
        else:
            results = admin.list_group_offsets({"idle": None})
        assert results.all()["idle"].lags == {("t", 0): 3}


def test_a_topic_that_is_refused_does_not_hide_the_start_offsets_on_others(cluster: ScriptedCluster) -> None:
    named = [("t", 0), ("hidden", 0)]
    with cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _deny_hidden_topic, brokers=[2])
        offsets = admin.list_group_offsets({"shared": named}).all()["shared"]
        assert [(key, start and start.offset) for key, start in offsets.rows()] == [(("t", 0), 7)]
        assert {key: why.name for key, why in offsets.failed.items()} == {("hidden", 0): "TOPIC_AUTHORIZATION_FAILED"}


def _deny_hidden_topic(_request: ReceivedRequest, response: Struct) -> Struct:
    for group in response["groups"]:
        for topic in group["topics"]:
            for row in topic["partitions"]:
                row["error_code"] = 29 if topic["name"] == "hidden" else 0
    return response


def test_a_named_partition_that_does_not_exist_is_unknown_and_is_not_requested(cluster: ScriptedCluster) -> None:
    with cluster, cluster.admin() as admin:
        offsets = admin.list_group_offsets({"shared": [("t", 0), ("t", 77)]}).all()["shared"]
        assert [(key.partition, commit and commit.offset) for key, commit in offsets.rows()] == [(0, 7), (77, None)]
        (request,) = cluster.requests_of("DescribeShareGroupOffsets")
        assert [row["topics"] for row in request.body["groups"]] == [None]
