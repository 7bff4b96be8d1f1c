"""Changes of the start offsets of share groups: planned, checked, made once, recorded, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change, PlannedGroups
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.file_rows import from_rows
from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToOffset
from kafka_groups.changes.specifications.other_group import ToGroup
from kafka_groups.changes.specifications.own_commits import ShiftBy, ToCurrent
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.groups.notes import NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.protocol import Struct
from tests.changes.executions import MemoryJournal, execute_groups, id_of, statuses
from tests.changes.recorded_runs import change, take_back, undo
from tests.fakes.scripted_broker import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

TOPICS = {"t": {0: 1, 1: 2, 2: 1}, "u": {0: 1}}
STARTS = {("t", 0): 5, ("t", 1): 60, ("u", 0): 7}
MEMBER: dict[str, Any] = {
    "member_id": "m",
    "client_id": "c",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["t"],
}


def share(coordinator: int = 1, **fields: Any) -> Group:
    """Return a share group without members."""
    values = {"state": "Empty", "commits": dict(STARTS), **fields}
    return Group(coordinator=coordinator, type="Share", protocol_type="share", **values)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Share groups `s` and `s2` on two brokers, and the consumer group `c`; logs reach from 10 to 100."""
    groups = {"s": share(), "s2": share(2), "c": Group(state="Empty", commits={("t", 0): 42})}
    starts = {(topic, at): 10 for topic, partitions in TOPICS.items() for at in partitions}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS, starts=starts) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def reset(admin: GroupAdmin, specification: Specification, *groups: str, **request: Any) -> PlannedGroups:
    """Plan a reset of `s`, or of these groups."""
    return plan_reset(admin, Selectors(named=groups or ("s",)), ResetRequest(specification, **request))


def delete_offsets(admin: GroupAdmin, topic: str, *partitions: int, file: PlanRows | None = None) -> PlannedGroups:
    """Plan the deletion of start offsets of `s`."""
    request = DeletionRequest(topics={topic: partitions}) if file is None else DeletionRequest(file=file)
    return plan_offset_deletion(admin, Selectors(named=("s",)), request)


def execute(admin: GroupAdmin, planned: PlannedGroups, **options: Any) -> list[str]:
    """Execute a plan, and return the statuses of its rows."""
    return statuses(execute_groups(admin, planned, MemoryJournal().begin, **options))


def rows(planned: PlannedGroups) -> list[tuple[str, int | None, int | None, str]]:
    """Return partition, start offsets before and after, and note of each row."""
    return [
        (f"{row.change.topic}-{row.change.partition}", row.change.committed_offset, row.change.new_offset, row.note)
        for of_group in planned.rows.values()
        for row in of_group
    ]


def reasons(planned: PlannedGroups) -> list[str]:
    """Return the messages of the failures and refusals."""
    return [failure.message for failure in planned.all_failures()]


def start(partition: int, before: int | None, after: int | None) -> Change:
    """Return a change of a start offset of `s` on a partition of `t`."""
    action = Action.SHARE_OFFSET
    return Change(action, "s", "t", partition, before, new_offset=after, topic_id=id_of("t"), group_type="Share")


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


@pytest.mark.parametrize("is_killed", [False, True])
def test_undo_restores_start_offsets_and_says_what_is_lost(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, *, is_killed: bool
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20), start(2, None, 30), is_killed=is_killed)
    assert cluster.groups["s"].commits == {**STARTS, ("t", 0): 20, ("t", 2): 30}
    cluster.starts = {}
    planned = undo(admin, tmp_path, run_id)
    assert rows(planned) == [
        ("t-0", 20, 5, ""),
        ("t-2", 30, None, "removes the start offset: there was none before"),
    ]
    assert [note.kind for note in planned.notes] == [NoteKind.UNDO]
    assert "acknowledged records beyond the start offset are delivered again" in planned.notes[0].text
    assert take_back(admin, tmp_path, run_id) == ["done", "done"]
    assert cluster.groups["s"].commits == {**STARTS, ("t", 2): -1}
    assert cluster.requests()["DeleteShareGroupOffsets"] == 0


def test_undo_clamps_a_start_offset_that_is_below_the_log_now(admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    assert rows(undo(admin, tmp_path, run_id)) == [("t-0", 20, 10, "clamped from 5 to the log start offset")]
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert undo(admin, tmp_path, run_id).rows == {}


def test_undo_recreates_a_deleted_share_group_with_its_start_offsets(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    planned = plan_group_deletion(admin, Selectors(named=("s",)), DeletionRequest())
    run_id = change(admin, tmp_path, *planned.changes())
    assert "s" not in cluster.groups
    cluster.starts = {}
    assert take_back(admin, tmp_path, run_id) == ["done"] * 3
    assert (cluster.groups["s"].type, cluster.groups["s"].commits) == ("Share", STARTS)


def test_undo_of_a_deletion_restores_all_start_offsets_of_the_topic(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.starts = {}
    run_id = change(admin, tmp_path, *delete_offsets(admin, "t").changes())
    assert take_back(admin, tmp_path, run_id) == ["done", "done"]
    assert cluster.groups["s"].commits == STARTS


def test_undo_refuses_a_group_that_has_commits_now(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, *delete_offsets(admin, "u").changes())
    cluster.groups["s"] = Group(state="Empty")
    planned = undo(admin, tmp_path, run_id)
    assert planned.changes() == []
    assert reasons(planned) == ["the change is one of a start offset, and the group has commits: its type is Classic"]


def test_undo_refuses_a_start_offset_whose_log_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    cluster.topics["t"] = {0: -1, 1: 2, 2: 1}
    planned = undo(admin, tmp_path, run_id)
    assert reasons(planned) == ["its log offsets are unknown, so the start offset may be outside of the log"]


def test_undo_says_why_the_log_of_a_start_offset_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    cluster.script("Metadata", _deny_topics)
    (failure,) = undo(admin, tmp_path, run_id).refusals()
    assert (failure.name, failure.group, failure.topic) == ("TOPIC_AUTHORIZATION_FAILED", "s", "t")


def _deny_topics(_request: ReceivedRequest, response: Struct) -> Struct:
    denied = [{**topic, "error_code": 29, "partitions": []} for topic in response["topics"]]
    return {**response, "topics": denied}


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
