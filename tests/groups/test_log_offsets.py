"""Log offsets of described groups: which partitions are requested, and which of them do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.groups.descriptions import DescribedGroups, describe_groups
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.selection import Selectors, select_groups
from kafka_groups.kinds import Operation
from tests.fakes.cluster_of_kinds import kinds_cluster
from tests.fakes.kind_members import streams_member, topology
from tests.fakes.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return the cluster with a group of each kind; topic `rates` has one partition."""
    with kinds_cluster() as running:
        running.topics = {**running.topics, "rates": {0: 1}}
        yield running


def describe(admin: GroupAdmin, names: Sequence[str], details: Details) -> DescribedGroups:
    selection = select_groups(admin, Selectors(named=tuple(names)), operation=Operation.DESCRIBE)
    return describe_groups(admin, selection, details=details)


def requested(cluster: ScriptedCluster, *, timestamp: int) -> list[tuple[str, int]]:
    """Return the partitions whose log offsets were requested, -1 for the end and -2 for the start of the log."""
    return sorted(
        (topic["name"], row["partition_index"])
        for request in cluster.requests_of("ListOffsets")
        for topic in request.body["topics"]
        for row in topic["partitions"]
        if row["timestamp"] == timestamp
    )


@pytest.mark.parametrize("share_log_ends", [False, True])
def test_log_ends_of_share_groups_are_read_if_the_caller_wants_them(
    cluster: ScriptedCluster, share_log_ends: bool
) -> None:
    with cluster.admin() as admin:
        found = describe(admin, ["clicks-sampler", "orders"], Details(offsets=True, share_log_ends=share_log_ends))
    clicks = [("clicks", 0), ("clicks", 1)] if share_log_ends else []
    assert requested(cluster, timestamp=-1) == [*clicks, ("orders", 0)]
    assert ("clicks" in found.log_end_offsets) == share_log_ends
    assert found.failures == ()


def test_log_starts_of_streams_groups_are_those_of_partitions_without_a_commit(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        found = describe(admin, ["app", "orders"], Details(offsets=True, streams_log_starts=True))
    assert requested(cluster, timestamp=-2) == [("lines", 1)]
    assert found.log_start_offsets == {"lines": {1: 0}}


def test_members_of_a_streams_group_have_no_partition_that_does_not_exist(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].topology = topology({"0": ("lines", "rates")})
    cluster.groups["app"].members = [
        streams_member("s-1", active={"0": (0,)}),
        streams_member("s-2", active={"0": (1,)}),
    ]
    with cluster.admin() as admin:
        found = describe(admin, ["app"], Details(offsets=True))
    assert found.failures == ()
    assert {
        member.member_id: [(each.topic, each.partitions) for each in member.assignment or ()]
        for member in found.descriptions["app"].members
    } == {"s-1": [("lines", (0,)), ("rates", (0,))], "s-2": [("lines", (1,))]}


def test_a_topic_without_any_known_partition_is_a_failure(cluster: ScriptedCluster) -> None:
    cluster.groups["app"].topology = topology({"0": ("deleted",)})
    cluster.groups["app"].members = [streams_member("s-1", active={"0": (0, 1)})]
    with cluster.admin() as admin:
        found = describe(admin, ["app"], Details(offsets=True))
    assert {(failure.topic, failure.partition, failure.name) for failure in found.failures} == {
        ("deleted", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("deleted", 1, "UNKNOWN_TOPIC_OR_PARTITION"),
    }


def test_a_partition_without_a_leader_is_a_failure_and_not_absent(cluster: ScriptedCluster) -> None:
    cluster.topics = {**cluster.topics, "lines": {0: 1, 1: -1}}
    with cluster.admin() as admin:
        found = describe(admin, ["app"], Details(offsets=True))
    assert [(failure.topic, failure.partition, failure.name) for failure in found.failures] == [
        ("lines", 1, "LEADER_NOT_AVAILABLE")
    ]
    owned = [each for member in found.descriptions["app"].members for each in member.assignment or ()]
    assert sum(len(each.partitions) for each in owned if each.topic == "lines") == 2
