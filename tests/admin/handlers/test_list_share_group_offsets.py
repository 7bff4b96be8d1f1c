"""Start offsets and lags of share groups are listed by DescribeShareGroupOffsets."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.admin.handlers import list_share_group_offsets
from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest, changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

STARTS = {("t", 1): 20, ("t", 0): 10, ("u", 0): 5}
LAGS = {("t", 0): 3, ("t", 1): 0}
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def shared(**values: Any) -> Group:
    return Group(**{"type": "Share", "commits": STARTS, "lags": LAGS, **values})


def test_start_offsets_and_lags_of_all_partitions_are_those_of_the_coordinator() -> None:
    with ScriptedCluster(groups={"clicks": shared(coordinator=2)}) as cluster, cluster.admin() as admin:
        offsets = admin.list_share_group_offsets({"clicks": None}).all()["clicks"]
        (request,) = cluster.requests_of("DescribeShareGroupOffsets")
    assert dict(offsets) == {
        T0: CommittedOffset(10, 0, ""),
        T1: CommittedOffset(20, 0, ""),
        U0: CommittedOffset(5, 0, ""),
    }
    assert (offsets.lags, offsets.failed) == ({T0: 3, T1: 0}, {})
    assert (request.broker, request.version, request.body) == (
        2,
        1,
        {"groups": [{"group_id": "clicks", "topics": None}]},
    )


def test_all_offsets_are_requested_and_only_the_named_ones_returned() -> None:
    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        offsets = admin.list_share_group_offsets({"clicks": [("t", 0), ("t", 9)]}).all()["clicks"]
        (request,) = cluster.requests_of("DescribeShareGroupOffsets")
    assert dict(offsets) == {T0: CommittedOffset(10, 0, ""), TopicPartition("t", 9): None}
    assert offsets.lags == {T0: 3}
    # A broker does not respond if a named partition does not exist.
    assert request.body["groups"][0]["topics"] is None


def test_a_lag_without_a_start_offset_is_unknown() -> None:
    group = shared(commits={("t", 0): -1}, lags={("t", 0): 8})
    with ScriptedCluster(groups={"clicks": group}) as cluster, cluster.admin() as admin:
        offsets = admin.list_share_group_offsets({"clicks": None}).all()["clicks"]
    assert (dict(offsets), offsets.lags) == ({T0: None}, {})


def test_brokers_before_4_2_return_no_lags() -> None:
    versions = {"DescribeShareGroupOffsets": (0, 0)}
    with ScriptedCluster(groups={"clicks": shared()}, versions=versions) as cluster, cluster.admin() as admin:
        offsets = admin.list_share_group_offsets({"clicks": None}).all()["clicks"]
    assert (len(offsets), offsets.lags) == (3, {})


def test_a_group_that_is_absent_or_of_another_kind_has_no_start_offsets() -> None:
    with ScriptedCluster(groups={"old": Group(commits=STARTS)}) as cluster, cluster.admin() as admin:
        results = admin.list_share_group_offsets({"absent": None, "old": None}).all()
    assert {group: dict(offsets) for group, offsets in results.items()} == {"absent": {}, "old": {}}


def test_a_partition_with_an_error_fails_alone() -> None:
    def deny(_request: ReceivedRequest, response: Struct) -> Struct:
        response["groups"][0]["topics"][0]["partitions"][0] |= {"error_code": 29, "start_offset": -1, "lag": -1}
        return response

    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        cluster.script("DescribeShareGroupOffsets", deny, brokers=[1])
        offsets = admin.list_share_group_offsets({"clicks": None}).all()["clicks"]
    assert sorted(offsets) == [T0, U0]
    failure = offsets.failed[T1]
    assert (failure.name, failure.group, failure.topic, failure.partition) == (
        "TOPIC_AUTHORIZATION_FAILED",
        "clicks",
        "t",
        1,
    )


@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (15, 2), (16, 2)])
def test_start_offsets_of_a_coordinator_that_is_not_ready_are_requested_again(code: int, lookups: int) -> None:
    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        row = {"group_id": "clicks", "topics": [], "error_code": code}
        cluster.script("DescribeShareGroupOffsets", changed(groups=[row]), brokers=[1])
        assert len(admin.list_share_group_offsets({"clicks": None}).all()["clicks"]) == 3
        assert cluster.requests() == {"FindCoordinator": lookups, "DescribeShareGroupOffsets": 2}


@pytest.mark.parametrize("code", [30, 69, 42, -1])
def test_the_error_of_a_group_hides_no_other(code: int) -> None:
    groups = {"secret": shared(error=code), "clicks": shared()}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        results = admin.list_share_group_offsets(dict.fromkeys(groups))
    assert (list(results.succeeded), results.failed["secret"].code) == (["clicks"], code)


def test_share_groups_are_not_enabled_without_the_feature() -> None:
    with ScriptedCluster(groups={"clicks": shared()}) as cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset({"Share"})
        failure = admin.list_share_group_offsets({"clicks": None}).failed["clicks"]
    assert failure.message == "share groups are not enabled on this cluster (feature share.version)"


def test_more_share_groups_than_the_maximum_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_share_group_offsets, "MAX_GROUPS", 2)
    groups = {f"g{number}": shared() for number in range(5)}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        assert list(admin.list_share_group_offsets(dict.fromkeys(groups)).all()) == [*groups]
        sizes = [len(request.body["groups"]) for request in cluster.requests_of("DescribeShareGroupOffsets")]
    assert sizes == [2, 2, 1]
