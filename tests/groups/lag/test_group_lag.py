"""The lag of groups for users of the library: rows, totals, and failures that belong to one group."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups import GroupAdmin, list_lag
from kafka_groups.errors import AdminError, ConnectionFailedError
from tests.fakes.raw_port import refusing
from tests.fakes.reactions import silent
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

_NOT_AUTHORIZED = 30
_TOPIC_NOT_AUTHORIZED = 29


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three groups of two topics; partition 1 of `t` is behind, and the commit on partition 0 of `u` is beyond it."""
    groups = {
        "a": Group(coordinator=1, state="Empty", commits={("t", 0): 100, ("t", 1): 40}),
        "b": Group(coordinator=2, state="Empty", commits={("u", 0): 120, ("t", 1): 90}),
        "denied": Group(coordinator=1, error=_NOT_AUTHORIZED),
    }
    with ScriptedCluster(brokers=2, groups=groups, topics={"t": {0: 1, 1: 2}, "u": {0: 1}}) as cluster:
        yield cluster


def test_each_row_has_the_committed_offset_the_log_end_offset_and_the_lag(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        lag = list_lag(admin, ["a"]).all()["a"]
    assert [(row.topic, row.partition, row.committed_offset, row.log_end_offset, row.lag) for row in lag.rows] == [
        ("t", 0, 100, 100, 0),
        ("t", 1, 40, 100, 60),
    ]
    assert (lag.description.state, lag.total, lag.failures) == ("Empty", 60, ())
    assert {row.log_start_offset for row in lag.rows} == {None}


def test_log_start_offsets_are_listed_on_request(cluster: ScriptedCluster) -> None:
    cluster.starts["t", 1] = 7
    with cluster.admin() as admin:
        rows = list_lag(admin, ["a"], log_start_offsets=True).all()["a"].rows
    assert [row.log_start_offset for row in rows] == [0, 7]


def test_a_negative_lag_hides_no_other_lag_in_the_total(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        lag = list_lag(admin, ["b"]).all()["b"]
    assert [(row.topic, row.lag) for row in lag.rows] == [("t", 10), ("u", -20)]
    assert lag.total == 10


@pytest.mark.parametrize("newest", [0, 4, 5, 6])
@pytest.mark.parametrize("named", [True, False])
def test_a_group_that_its_broker_calls_dead_has_its_commits(newest: int, named: bool) -> None:
    groups = {
        "dead": Group(state="Dead", commits={("t", 0): 40}),
        "deleted": Group(state="Dead"),
        "streams": Group(type="Streams", protocol_type="streams", state="Empty", commits={("t", 0): 40}),
    }
    versions = {"DescribeGroups": (0, newest)}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}, versions=versions) as cluster,
        cluster.admin() as admin,
    ):
        found = list_lag(admin, ["dead", "deleted", "streams"] if named else None)
        requests = cluster.requests()
    lag = found.succeeded["dead"]
    assert [*found.succeeded] == ["dead", "streams"]
    assert (lag.description.group, lag.description.state, lag.description.members, lag.total) == (
        "dead",
        "Dead",
        (),
        60,
    )
    assert {group: failure.name for group, failure in found.failed.items()} == (
        {"deleted": "GROUP_ID_NOT_FOUND"} if named else {}
    )
    assert requests["ListGroups"] == 1


def test_a_partition_of_two_members_is_one_row() -> None:
    member = {"client_id": "c", "client_host": "/h", "member_metadata": b""}
    packed = bytes.fromhex("0000 00000001 0001 74 00000002 00000000 00000001 ffffffff")
    members = [{**member, "member_id": name, "member_assignment": packed} for name in ("a", "b")]
    groups = {"g": Group(members=members, commits={("t", 0): 40, ("t", 1): 90})}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1, 1: 1}}) as cluster, cluster.admin() as admin:
        lag = list_lag(admin, ["g"]).all()["g"]
    assert [(row.partition, row.member_id) for row in lag.rows] == [(0, "a"), (1, "a")]
    assert (lag.total, len(lag.description.members)) == (70, 2)


def test_the_total_of_a_group_without_commits_is_unknown(cluster: ScriptedCluster) -> None:
    cluster.groups["none"] = Group(state="Empty")
    with cluster.admin() as admin:
        lag = list_lag(admin, ["none"]).all()["none"]
    assert (lag.rows, lag.total) == ((), None)


def test_groups_are_in_the_given_order_and_each_one_only_once(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        assert list(list_lag(admin, ["b", "a", "b"]).all()) == ["b", "a"]
        assert cluster.requests()["FindCoordinator"] == 1


def test_a_denied_group_and_an_absent_one_fail_and_the_others_succeed(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        results = list_lag(admin, ["a", "denied", "absent"])
    assert list(results.succeeded) == ["a"]
    assert {group: failure.name for group, failure in results.failed.items()} == {
        "denied": "GROUP_AUTHORIZATION_FAILED",
        "absent": "GROUP_ID_NOT_FOUND",
    }


def test_without_ids_all_groups_with_offsets_are_listed(cluster: ScriptedCluster) -> None:
    cluster.groups["connect"] = Group(protocol_type="connect")
    cluster.groups["share"] = Group(type="Share", protocol_type="share", commits={("t", 0): 5}, lags={("t", 0): 3})
    with cluster.admin() as admin:
        results = list_lag(admin)
        assert cluster.requests()["FindCoordinator"] == 0
    assert (list(results.succeeded), list(results.failed)) == (["a", "b", "share"], ["denied"])
    assert results.succeeded["share"].total == 3


def test_a_broker_that_cannot_list_its_groups_fails_by_its_id(cluster: ScriptedCluster) -> None:
    cluster.script("ListGroups", silent, brokers=[2])
    with cluster.admin() as admin:
        results = list_lag(admin, timeout=1.0)
    assert list(results.succeeded) == ["a"]
    assert {key: failure.name for key, failure in results.failed.items()} == {
        "denied": "GROUP_AUTHORIZATION_FAILED",
        2: "TIMEOUT",
    }


def test_no_ids_are_no_groups(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        assert list_lag(admin, []) == ({}, {})


def test_a_partition_without_a_leader_is_a_failure_of_each_group_that_has_it(cluster: ScriptedCluster) -> None:
    cluster.topics["t"] = {0: 1, 1: -1}
    with cluster.admin() as admin:
        results = list_lag(admin, ["a", "b"])
    assert results.failed == {}
    for group, other in (("a", 0), ("b", None)):
        lag = results.succeeded[group]
        assert [(failure.topic, failure.partition, failure.name) for failure in lag.failures] == [
            ("t", 1, "LEADER_NOT_AVAILABLE")
        ]
        assert [row.lag for row in lag.rows if row.partition == 1] == [None]
        assert lag.total == (0 if other is None else other)


def test_a_partition_that_may_not_be_read_is_a_failure_of_its_group_alone(cluster: ScriptedCluster) -> None:
    cluster.groups["c"] = Group(
        state="Empty", commits={("t", 0): 1, ("u", 0): Commit(offset=1, error=_TOPIC_NOT_AUTHORIZED)}
    )
    with cluster.admin() as admin:
        lags = list_lag(admin, ["a", "c"]).all()
    assert [failure.name for failure in lags["c"].failures] == ["TOPIC_AUTHORIZATION_FAILED"]
    assert lags["a"].failures == ()
    assert lags["c"].total == 99


def test_many_failures_of_many_groups_are_assigned_in_linear_time(cluster: ScriptedCluster) -> None:
    cluster.topics["t"] = dict.fromkeys(range(3_000), -1)
    cluster.groups = {f"g{at}": Group(state="Empty", commits={("t", at): 1}) for at in range(3_000)}
    with cluster.admin() as admin:
        started = cluster.clock()
        lags = list_lag(admin).all()
        assert cluster.clock() - started < 5.0
    assert {len(lag.failures) for lag in lags.values()} == {1}


def test_a_timeout_is_for_all_requests_of_the_call(cluster: ScriptedCluster) -> None:
    cluster.script("ListOffsets", silent, brokers=[2])
    with cluster.admin() as admin:
        lag = list_lag(admin, ["a"], timeout=0.5).all()["a"]
    assert [(row.partition, row.lag) for row in lag.rows] == [(0, 0), (1, None)]
    assert [failure.name for failure in lag.failures] == ["TIMEOUT"]


def test_a_cluster_that_cannot_be_reached_is_an_error_of_the_call() -> None:
    with refusing() as dead, GroupAdmin({"bootstrap.servers": str(dead)}) as admin:
        with pytest.raises(ConnectionFailedError) as caught:
            list_lag(admin, ["a"], timeout=0.3)
        assert isinstance(caught.value, AdminError)


def test_one_id_in_place_of_a_list_is_refused(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin, pytest.raises(TypeError, match=r"pass a list of names, not one str: \['a'\]"):
        list_lag(admin, "a")
