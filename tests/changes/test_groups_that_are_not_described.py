"""Groups that no broker describes as consumer groups: their commits are read, compared and kept all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.log_offsets import ToOffset
from kafka_groups.groups.selection import Selectors
from kafka_groups.protocol import Struct
from tests.changes.executions import MemoryJournal, execute_groups, statuses
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

TOPICS = {"t": {0: 1, 1: 1}, "u": {0: 1}}
COMMITS = {("t", 0): Commit(60), ("t", 1): Commit(7), ("u", 0): Commit(5)}


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with ScriptedCluster(brokers=1, topics=TOPICS) as cluster:
        yield cluster


def add_streams(cluster: ScriptedCluster) -> None:
    cluster.groups["s"] = Group(type="Streams", state="Empty", protocol_type="streams", commits=dict(COMMITS))


def plan_deletion(admin: GroupAdmin, group: str, *, force: bool = False) -> PlannedGroups:
    return plan_group_deletion(admin, Selectors(named=(group,)), DeletionRequest(any_type=True, force=force))


def execute(admin: GroupAdmin, planned: PlannedGroups, *, force: bool = False) -> tuple[list[str], MemoryJournal]:
    """Execute a plan, and return the statuses of its rows and what was recorded."""
    journal = MemoryJournal()
    execution = execute_groups(admin, planned, journal.begin, force=force)
    return statuses(execution), journal


def refuse_group(_request: object, response: Struct) -> Struct:
    """Refuse to return the commits of the groups of an OffsetFetch response."""
    return {**response, "groups": [{**group, "error_code": 30, "topics": []} for group in response["groups"]]}


@pytest.mark.parametrize("force", [False, True])
def test_a_streams_group_whose_commits_cannot_be_read_is_not_deleted(cluster: ScriptedCluster, *, force: bool) -> None:
    add_streams(cluster)
    cluster.script("OffsetFetch", refuse_group)
    with cluster.admin() as admin:
        planned = plan_deletion(admin, "s", force=force)
    assert (planned.changes(), [why.name for why in planned.failures]) == ([], ["GROUP_AUTHORIZATION_FAILED"])


@pytest.mark.parametrize("force", [False, True])
def test_a_streams_group_whose_commits_cannot_be_read_again_is_not_deleted(
    cluster: ScriptedCluster, *, force: bool
) -> None:
    add_streams(cluster)
    with cluster.admin() as admin:
        planned = plan_deletion(admin, "s", force=force)
        cluster.script("OffsetFetch", refuse_group)
        assert execute(admin, planned, force=force)[0] == ["refused"] * 3
    assert cluster.requests()["DeleteGroups"] == 0


def test_a_streams_group_is_not_deleted_with_a_commit_that_has_changed(cluster: ScriptedCluster) -> None:
    add_streams(cluster)
    with cluster.admin() as admin:
        planned = plan_deletion(admin, "s")
        cluster.groups["s"].commits = {**COMMITS, ("t", 0): Commit(999)}
        assert execute(admin, planned)[0] == ["refused"] * 3
        assert "s" in cluster.groups
        made, journal = execute(admin, planned, force=True)
    assert made == ["done"] * 3
    assert [change.committed_offset for change in journal.changes] == [999, 7, 5]


def test_a_streams_group_with_a_commit_of_an_open_transaction_is_not_deleted(cluster: ScriptedCluster) -> None:
    add_streams(cluster)
    cluster.groups["s"].commits = {**COMMITS, ("t", 0): Commit(60, error=88)}
    with cluster.admin() as admin:
        planned = plan_deletion(admin, "s", force=True)
    assert planned.changes() == []
    assert {why.name for why in planned.refusals()} == {"UNSTABLE_OFFSET_COMMIT"}


def test_a_streams_group_as_it_was_planned_is_deleted(cluster: ScriptedCluster) -> None:
    add_streams(cluster)
    with cluster.admin() as admin:
        assert execute(admin, plan_deletion(admin, "s"))[0] == ["done"] * 3
    assert "s" not in cluster.groups


def test_an_error_of_the_broker_for_a_small_group_leaves_its_commits(
    cluster: ScriptedCluster, mocker: MockerFixture
) -> None:
    cluster.groups["a"] = Group(state="Empty", commits=dict(COMMITS))
    mocker.patch.object(cluster, "_delete", return_value=-1)
    with cluster.admin() as admin:
        assert execute(admin, plan_deletion(admin, "a"))[0] == ["failed"] * 3
    assert cluster.groups["a"].commits == COMMITS
    assert cluster.requests()["OffsetDelete"] == 0


@pytest.mark.parametrize("others", [{}, {("t", 1): Commit(7)}])
@pytest.mark.parametrize("create", [False, True])
def test_a_commit_of_an_open_transaction_makes_a_dead_group_exist(
    cluster: ScriptedCluster, others: dict[tuple[str, int], Commit], *, create: bool
) -> None:
    cluster.groups["d"] = Group(state="Dead", protocol_type="", commits={("t", 0): Commit(0, error=88), **others})
    request = ResetRequest(ToOffset(5), topics={"t": (0,)}, create=create)
    with cluster.admin() as admin:
        planned = plan_reset(admin, Selectors(named=("d",)), request)
    assert planned.changes() == []
    assert [why.name for why in planned.refusals()] == ["UNSTABLE_OFFSET_COMMIT"]
