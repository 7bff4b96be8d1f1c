"""The number of requests of each change, counted by the brokers that received them.

N groups on K coordinators, with commits on a topic of L leaders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Change, Plan, PlannedGroups, Status
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.run_record import RecordedOutcome, Run
from kafka_groups.changes.specifications.log_offsets import ToLatest, ToTime
from kafka_groups.changes.undo import plan_undo
from kafka_groups.groups.selection import Selectors
from tests.changes.executions import MemoryJournal, execute_groups
from tests.changes.plans import NOON
from tests.fakes.scripted_cluster import Group, ScriptedCluster

N, K, L = 60, 3, 2
GROUPS = tuple(f"g{number:02}" for number in range(N))
ALL = Selectors(all_groups=True)
TOPICS = {"t": {partition: 1 + partition % L for partition in range(4)}}
# A command that reads groups to change them also reads the ids of the topics of their commits.
READING = {"DescribeGroups": K, "OffsetFetch": K}
CHECKING = {**READING, "Metadata": 1}
LISTING = {"ListGroups": K}
OF_UNKNOWN_TYPE = {**READING, "ConsumerGroupDescribe": K}


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """All groups, with a commit on each partition."""
    commits = {("t", partition): 5 for partition in TOPICS["t"]}
    groups = {
        group: Group(coordinator=1 + at % K, state="Empty", commits={**commits}) for at, group in enumerate(GROUPS)
    }
    with ScriptedCluster(brokers=K, groups=groups, topics=TOPICS) as cluster:
        yield cluster


def requests(cluster: ScriptedCluster, call: Callable[[], object]) -> Counter[str]:
    """Return the requests of a call, without the set-up of connections."""
    before = cluster.requests()
    call()
    return cluster.requests() - before


def execute(admin: GroupAdmin, planned: PlannedGroups) -> list[Change]:
    """Execute a plan, all of which is done, and return its changes."""
    execution = execute_groups(admin, planned, MemoryJournal().begin)
    assert {each.status for each in execution.all_outcomes()} == {Status.DONE}
    assert len(execution.all_outcomes()) == len(planned.changes())
    return planned.changes()


def undo_run(changes: list[Change]) -> Run:
    """Return the record of these changes, which are all done."""
    done = {at: RecordedOutcome(Status.DONE, "", "") for at in range(len(changes))}
    return Run("id", "reset", NOON, Plan("scripted", NOON, tuple(changes)), outcomes=done, is_finished=True)


def requests_by_broker(cluster: ScriptedCluster) -> Counter[tuple[str, int]]:
    """Return the requests that each broker received, without the set-up of connections."""
    apis = cluster.requests()
    return Counter((api, each.broker) for api in apis for each in cluster.requests_of(api) if api != "Metadata")


def test_a_plan_of_a_reset_sends_each_broker_one_request_of_a_kind(cluster: ScriptedCluster) -> None:
    request = ResetRequest(ToLatest(), topics={"t": ()})
    with cluster.admin() as admin:
        planned = plan_reset(admin, ALL, request)
        assert len(planned.changes()) == N * len(TOPICS["t"])
        # The leaders are those of the Metadata response that named the partitions.
        assert cluster.requests() == {**LISTING, **READING, "Metadata": 1, "ListOffsets": 2 * L}
        # Log ends and log starts are two kinds of offset.
        assert {count for (api, _), count in requests_by_broker(cluster).items() if api != "ListOffsets"} == {1}
        assert {count for (api, _), count in requests_by_broker(cluster).items() if api == "ListOffsets"} == {2}


def test_the_execution_of_a_reset_reads_once_more_and_commits_once_a_group(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        planned = plan_reset(admin, ALL, ResetRequest(ToLatest(), topics={"t": ()}))
        assert requests(cluster, lambda: execute(admin, planned)) == {**CHECKING, "OffsetCommit": N}


def test_a_time_is_looked_up_once_a_leader_for_all_groups(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        plan_reset(admin, ALL, ResetRequest(ToTime(1), topics={"t": ()}))
        assert cluster.requests()["ListOffsets"] == 3 * L


def test_the_scope_of_all_topics_needs_one_metadata_for_the_leaders(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        plan_reset(admin, ALL, ResetRequest(ToLatest()))
        assert cluster.requests() == {**LISTING, **READING, "Metadata": 1, "ListOffsets": 2 * L}


def test_named_groups_are_looked_up_together_and_their_type_is_kept(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        planned = plan_reset(admin, Selectors(named=GROUPS), ResetRequest(ToLatest(), topics={"t": ()}))
        assert cluster.requests() == {"FindCoordinator": 1, **OF_UNKNOWN_TYPE, "Metadata": 1, "ListOffsets": 2 * L}
        assert requests(cluster, lambda: execute(admin, planned)) == {**CHECKING, "OffsetCommit": N}


def test_a_deletion_of_groups_is_one_request_a_coordinator(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        planned = plan_group_deletion(admin, ALL, DeletionRequest())
        assert cluster.requests() == {**LISTING, **CHECKING}
        assert requests(cluster, lambda: execute(admin, planned)) == {**CHECKING, "DeleteGroups": K}
        assert {each.broker for each in cluster.requests_of("DeleteGroups")} == {1, 2, 3}
        assert cluster.groups == {}


def test_a_deletion_of_commits_is_one_request_a_group(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        planned = plan_offset_deletion(admin, ALL, DeletionRequest(topics={"t": ()}))
        assert cluster.requests() == {**LISTING, **READING, "Metadata": 1}
        assert requests(cluster, lambda: execute(admin, planned)) == {**CHECKING, "OffsetDelete": N}


def test_an_undo_of_a_reset_reads_twice_and_commits_once_a_group(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        run = undo_run(execute(admin, plan_reset(admin, ALL, ResetRequest(ToLatest(), topics={"t": ()}))))
    before = cluster.requests()
    with cluster.admin() as admin:
        planned = plan_undo(admin, run)
        logs = {"Metadata": 1, "ListOffsets": 2}
        assert cluster.requests() - before == {"FindCoordinator": 1, **OF_UNKNOWN_TYPE, **logs}
        assert requests(cluster, lambda: execute(admin, planned)) == {**CHECKING, "OffsetCommit": N}


def test_an_undo_of_a_deletion_reads_absent_groups_twice_and_commits_once_a_group(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        run = undo_run(execute(admin, plan_group_deletion(admin, ALL, DeletionRequest())))
    before = cluster.requests()
    with cluster.admin() as admin:
        planned = plan_undo(admin, run)
        # The scripted cluster names broker 1 as the coordinator of each absent group.
        describes = ("DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe")
        one = {**dict.fromkeys(describes, 1), "OffsetFetch": 1, "DescribeShareGroupOffsets": 1}
        assert cluster.requests() - before == {"FindCoordinator": 1, "Metadata": 1, "ListOffsets": 2, **one}
        assert requests(cluster, lambda: execute(admin, planned)) == {**one, "Metadata": 1, "OffsetCommit": N}
    assert {group: len(cluster.groups[group].commits) for group in GROUPS} == dict.fromkeys(GROUPS, len(TOPICS["t"]))
