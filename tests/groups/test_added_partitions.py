"""Partitions that were added to a topic: they have no commit, and nobody may own them yet, but they can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.groups.descriptions import describe_groups
from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.measurement import read_lag
from kafka_groups.groups.lag.rows import offset_rows
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.selection import Selectors, select_groups
from kafka_groups.kinds import Operation
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

    from kafka_groups.admin import GroupAdmin

THREE = {0: 1, 1: 2, 2: 3}
ALL_GROUPS = Selectors(all_groups=True)


def group_with(*partitions: int) -> Group:
    """Return an empty group that has read each of these partitions of `t` to its end."""
    return Group(type="Classic", state="Empty", commits={("t", partition): 20 for partition in partitions})


def cluster_of(groups: dict[str, Group], leaders: dict[int, int] = THREE) -> ScriptedCluster:
    """Return a cluster whose topic `t` has 20 records in partition 0 and 30 in each other one."""
    return ScriptedCluster(groups=groups, topics={"t": leaders}, ends={("t", 0): 20, ("t", 1): 30, ("t", 2): 30})


def rows_of(admin: GroupAdmin, by: LagKey = LagKey.GROUP) -> list[LagRow]:
    """Return the totals of groups, or the rows of their parts."""
    groups = read_lag(admin, ALL_GROUPS, by=by).groups
    return [row for group in groups for row in (group.rows or (group.total,))]


def test_partitions_without_a_commit_of_a_topic_with_commits_are_uncommitted() -> None:
    with cluster_of({"g": group_with(0)}) as cluster, cluster.admin() as admin:
        (total,) = rows_of(admin)
        parts = rows_of(admin, LagKey.PARTITION)
    assert (total.lag, total.uncommitted_partitions, total.note) == (0, 2, ())
    assert [(each.partition, each.committed_offset, each.log_end_offset, each.lag) for each in parts] == [
        (0, 20, 20, 0),
        (1, None, 30, None),
        (2, None, 30, None),
    ]


def test_each_group_has_its_own_partitions_without_a_commit() -> None:
    groups = {"one": group_with(0), "two": group_with(0, 2), "none": Group(type="Classic", state="Empty")}
    with cluster_of(groups) as cluster, cluster.admin() as admin:
        found = {each.group: each.uncommitted_partitions for each in rows_of(admin)}
    assert found == {"one": 2, "two": 1, "none": 0}


def test_groups_with_a_commit_on_every_partition_cost_the_same_requests_as_before() -> None:
    with cluster_of({"g": group_with(0, 1, 2)}) as cluster, cluster.admin() as admin:
        rows_of(admin)
        assert cluster.requests() == {"ListGroups": 3, "OffsetFetch": 1, "Metadata": 1, "ListOffsets": 6}
        rows_of(admin)
        assert cluster.requests() == {"ListGroups": 6, "OffsetFetch": 2, "Metadata": 1, "ListOffsets": 12}


def test_partitions_without_a_commit_cost_a_request_for_each_of_their_leaders_and_no_lookup() -> None:
    with cluster_of({"g": group_with(0)}) as cluster, cluster.admin() as admin:
        rows_of(admin)
        assert cluster.requests() == {"ListGroups": 3, "OffsetFetch": 1, "Metadata": 1, "ListOffsets": 1 + 2 + 3}


def test_a_later_poll_sees_partitions_that_were_added_meanwhile() -> None:
    now = [0.0]
    with cluster_of({"g": group_with(0)}, {0: 1}) as cluster:
        from kafka_groups.admin import GroupAdmin

        with GroupAdmin(cluster.settings(), clock=lambda: now[0]) as admin:
            assert rows_of(admin)[0].uncommitted_partitions == 0
            cluster.topics["t"] = THREE
            now[0] = 11.0
            assert rows_of(admin)[0].uncommitted_partitions == 2


def test_a_leader_that_does_not_respond_is_looked_up_again() -> None:
    with cluster_of({"g": group_with(0, 1, 2)}, {0: 1, 1: 1, 2: 3}) as cluster, cluster.admin() as admin:
        rows_of(admin)
        cluster.stop(3)
        rows_of(admin)
        cluster.topics["t"] = {0: 1, 1: 1, 2: 2}
        assert rows_of(admin)[0].note == ()


def test_a_deleted_topic_costs_one_lookup_and_has_only_its_commits() -> None:
    groups = {"g": Group(type="Classic", state="Empty", commits={("t", 0): 20, ("deleted", 0): 5})}
    with cluster_of(groups) as cluster, cluster.admin() as admin:
        reading = read_lag(admin, ALL_GROUPS)
        assert cluster.requests()["Metadata"] == 1
    assert [(each.topic, each.name) for each in reading.failures] == [("deleted", "UNKNOWN_TOPIC_OR_PARTITION")]
    assert reading.groups[0].total.uncommitted_partitions == 2


def test_describe_shows_only_commits_and_assignments() -> None:
    with cluster_of({"g": group_with(0)}) as cluster, cluster.admin() as admin:
        selection = select_groups(admin, ALL_GROUPS, operation=Operation.DESCRIBE)
        described = describe_groups(admin, selection, details=Details(offsets=True))
    assert [row.partition for row in offset_rows(described, "g")] == [0]


def test_partitions_that_no_member_owns_yet_are_uncommitted(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.end("t", 20, 30, 30, starts=(0, 0, 0))
    cluster.add("g", state="Stable", members=[member("m", {"t": (0, 1)})], commits={("t", 0): 20})
    groups = read_lag(cluster.admin, Selectors(named=("g",)), by=LagKey.MEMBER).groups
    assert groups[0].total.uncommitted_partitions == 2
    assert {row.member_id: row.uncommitted_partitions for row in groups[0].rows} == {"m": 1, None: 1}


def test_a_commit_that_the_broker_refuses_is_not_counted_as_absent(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.end("t", 20, 30, 30, starts=(0, 0, 0))
    cluster.add("g", commits={("t", 0): 20}, refused={("t", 1): 88})
    assert read_lag(cluster.admin, Selectors(named=("g",))).groups[0].total.uncommitted_partitions == 1


def test_wait_ends_only_when_added_partitions_are_read(mocker: MockerFixture) -> None:
    cluster = FakeCluster(mocker)
    cluster.end("t", 20, 30, 30, starts=(0, 0, 0))
    cluster.add("g", commits={("t", 0): 20})
    mocker.patch("kafka_groups.commands.wait.pause")
    arguments = ("wait", "g", "--until", "lag<=0 and uncommitted_partitions==0", "--for", "0s")
    assert run(*arguments).exit_code == 4
    cluster.add("g", commits={("t", 0): 20, ("t", 1): 30, ("t", 2): 30})
    assert run(*arguments).exit_code == 0
