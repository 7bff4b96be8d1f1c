"""Changes of the start offsets of share groups: planned, checked, and made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.file_rows import from_rows
from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToOffset
from kafka_groups.changes.specifications.other_group import ToGroup
from kafka_groups.changes.specifications.own_commits import ShiftBy, ToCurrent
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.groups.notes import NoteKind
from kafka_groups.groups.selection import Selectors
from tests.changes.executions import MemoryJournal, execute_groups, statuses
from tests.changes.share_groups import (
    MEMBER,
    STARTS,
    delete_offsets,
    execute,
    reasons,
    reset,
    rows,
    share_cluster,
    start,
)
from tests.fakes.scripted_cluster import ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with share_cluster() as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def test_a_reset_alters_the_start_offsets_of_all_topics(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    planned = reset(admin, ToEarliest())
    assert rows(planned) == [("t-0", 5, 10, ""), ("t-1", 60, 10, ""), ("u-0", 7, 10, "")]
    assert {(each.action, each.metadata, each.new_metadata) for each in planned.changes()} == {
        (Action.SHARE_OFFSET, None, None)
    }
    assert execute(admin, planned) == ["done"] * 3
    assert cluster.groups["s"].commits == {("t", 0): 10, ("t", 1): 10, ("u", 0): 10}
    assert cluster.requests()["OffsetCommit"] == 0


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (ToOffset(5), (5, 10, "clamped from 5 to the log start offset")),
        (ToOffset(500), (5, 100, "clamped from 500 to the log end offset")),
        (ToCurrent(), (5, 10, "clamped from 5 to the log start offset")),
        (ShiftBy(30), (5, 35, "")),
        (ToGroup("c"), (5, 42, "")),
        (ToGroup("s2"), (5, 10, "clamped from 5 to the log start offset")),
    ],
    ids=repr,
)
def test_a_new_start_offset_is_inside_the_log(
    admin: GroupAdmin, specification: Specification, expected: tuple[int, int, str]
) -> None:
    assert rows(reset(admin, specification, topics={"t": (0,)})) == [("t-0", *expected)]


def test_a_start_offset_of_a_share_group_may_be_that_of_a_consumer_group(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    planned = reset(admin, ToGroup("s"), "c", topics={"t": (1,)})
    assert (rows(planned), execute(admin, planned)) == ([("t-1", None, 60, "no commit before")], ["done"])
    assert cluster.requests()["AlterShareGroupOffsets"] == 0


def test_a_partition_without_a_start_offset_cannot_be_shifted(admin: GroupAdmin) -> None:
    planned = reset(admin, ShiftBy(1), topics={"t": (2,)})
    assert reasons(planned) == ["there is no known start offset that could be shifted"]


def test_the_reset_of_groups_costs_one_request_each_and_one_reading_a_coordinator(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    planned = plan_reset(
        admin, Selectors(all_groups=True, types=("Share",)), ResetRequest(ToOffset(20), topics={"t": ()})
    )
    before = cluster.requests()
    assert (before["DescribeShareGroupOffsets"], before["ShareGroupDescribe"], before["OffsetFetch"]) == (2, 2, 0)
    assert execute(admin, planned) == ["done"] * 6
    made = cluster.requests() - before
    assert (made["AlterShareGroupOffsets"], made["DescribeShareGroupOffsets"], made["ShareGroupDescribe"]) == (2, 2, 2)


def test_a_share_group_with_members_is_refused(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.groups["s"].state = "Stable"
    cluster.groups["s"].members = [MEMBER]
    for planned in (
        reset(admin, ToEarliest()),
        delete_offsets(admin, "t"),
        plan_group_deletion(admin, Selectors(named=("s",)), DeletionRequest()),
    ):
        assert (planned.changes(), [why.name for why in planned.failures]) == ([], ["NON_EMPTY_GROUP"])


@pytest.mark.parametrize("action", [Action.SHARE_OFFSET, Action.DELETE_OFFSETS, Action.DELETE_GROUP])
def test_members_that_join_after_the_plan_stop_the_change(
    cluster: ScriptedCluster, admin: GroupAdmin, action: Action
) -> None:
    planned = {
        Action.SHARE_OFFSET: lambda: reset(admin, ToEarliest()),
        Action.DELETE_OFFSETS: lambda: delete_offsets(admin, "u"),
        Action.DELETE_GROUP: lambda: plan_group_deletion(admin, Selectors(named=("s",)), DeletionRequest()),
    }[action]()
    cluster.groups["s"].state = "Stable"
    cluster.groups["s"].members = [MEMBER]
    assert set(execute(admin, planned, force=True)) == {"refused"}
    sent = cluster.requests()
    assert (sent["AlterShareGroupOffsets"], sent["DeleteShareGroupOffsets"], sent["DeleteGroups"]) == (0, 0, 0)


def test_a_start_offset_that_moved_since_the_plan_is_refused_and_the_others_are_altered(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    planned = reset(admin, ToOffset(20), topics={"t": (0, 1)})
    cluster.groups["s"].commits = {**STARTS, ("t", 1): 61}
    execution = execute_groups(admin, planned, MemoryJournal().begin)
    assert statuses(execution) == ["done", "refused"]
    assert [why.message for why in execution.failures] == ["its start offset has changed since the plan, from 60 to 61"]


@pytest.mark.parametrize(("is_applied", "status"), [(True, "done"), (False, "unknown")])
def test_an_alteration_whose_response_is_lost_is_read_back_and_not_sent_again(
    cluster: ScriptedCluster, admin: GroupAdmin, mocker: MockerFixture, *, is_applied: bool, status: str
) -> None:
    planned = reset(admin, ToOffset(20), topics={"t": (0,)})
    if not is_applied:
        mocker.patch.object(cluster, "_respond_AlterShareGroupOffsets", return_value={"error_code": 0, "responses": []})
    cluster.script("AlterShareGroupOffsets", lambda _request, _response: None)
    assert execute(admin, planned) == [status]
    assert cluster.requests()["AlterShareGroupOffsets"] == 1


def test_each_partition_has_its_own_outcome(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    planned = reset(admin, ToOffset(20), topics={"t": (0, 1)})
    cluster.topics["t"] = {0: 1}
    assert execute(admin, planned) == ["done", "refused"]


def test_a_whole_topic_loses_its_start_offsets(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    planned = delete_offsets(admin, "t")
    assert rows(planned) == [("t-0", 5, None, ""), ("t-1", 60, None, "")]
    assert execute(admin, planned) == ["done", "done"]
    assert cluster.groups["s"].commits == {("u", 0): 7}
    assert [request.body["topics"] for request in cluster.requests_of("DeleteShareGroupOffsets")] == [
        [{"topic_name": "t"}]
    ]
    assert cluster.requests()["OffsetDelete"] == 0


def test_a_part_of_a_topic_keeps_its_start_offsets(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    planned = delete_offsets(admin, "t", 0)
    assert (planned.changes(), cluster.requests()["DeleteShareGroupOffsets"]) == ([], 0)
    text = "Kafka deletes start offsets of whole topics only, and the group reads t-1, too; name the topic without"
    assert reasons(planned) == [f"{text} partitions"]


def test_a_partition_that_is_read_since_the_plan_protects_its_topic(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    planned = delete_offsets(admin, "u")
    cluster.topics["u"] = {0: 1, 1: 1}
    cluster.groups["s"].commits = {**STARTS, ("u", 1): 8}
    assert execute(admin, planned) == ["refused"]
    assert cluster.requests()["DeleteShareGroupOffsets"] == 0


def test_a_plan_of_start_offsets_creates_an_absent_share_group(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    del cluster.groups["s"]
    file = from_rows(PlanRows("f", (start(0, None, 20),), cluster_id="c"))
    assert [why.name for why in reset(admin, file).failures] == ["GROUP_ID_NOT_FOUND"]
    planned = reset(admin, file, create=True)
    assert execute(admin, planned) == ["done"]
    assert (cluster.groups["s"].type, cluster.groups["s"].commits) == ("Share", {("t", 0): 20})


@pytest.mark.parametrize("force", [False, True])
def test_rows_of_a_plan_for_another_kind_of_offset_are_refused(admin: GroupAdmin, *, force: bool) -> None:
    row = start(0, 42, 20)._replace(group="c")
    planned = reset(admin, from_rows(PlanRows("f", (row,), cluster_id="c"), force=force), "c")
    assert reasons(planned) == ["the change is one of a start offset, and the group has commits: its type is Classic"]


def test_a_row_of_a_plan_that_sets_no_start_offset_is_refused(admin: GroupAdmin) -> None:
    planned = reset(admin, from_rows(PlanRows("f", (start(0, 5, None),), cluster_id="c")))
    assert reasons(planned) == ["the plan sets no start offset here; delete-offsets deletes those of a topic"]


def test_a_plan_names_the_groups_whose_delivery_state_is_lost(admin: GroupAdmin) -> None:
    (note,) = (each for each in reset(admin, ToEarliest(), "s", "s2").notes if each.kind is NoteKind.UNRESTORABLE)
    assert note.text.startswith("This discards the delivery state of 2 share groups, and undo cannot restore it")
    assert NoteKind.UNRESTORABLE not in {each.kind for each in reset(admin, ToEarliest(), "c").notes}


def test_brokers_without_share_groups_fail_that_group_alone(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    type(cluster).switched_off = frozenset({"Share"})
    try:
        planned = reset(admin, ToOffset(20), "s", "c", topics={"t": (0,)})
    finally:
        del type(cluster).switched_off
    assert ([each.group for each in planned.changes()], [why.group for why in planned.failures]) == (["c"], ["s"])
