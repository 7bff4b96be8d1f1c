"""Planning a reset: the rows of each group, what is refused, and what is never planned at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.changes.change import Action, Change, PlannedGroups
from kafka_groups.changes.plan_rows import PlanRows
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.file_rows import from_rows
from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToLatest, ToOffset
from kafka_groups.changes.specifications.other_group import ToGroup
from kafka_groups.changes.specifications.own_commits import ShiftBy, ToCurrent
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.fakes.fake_admin import FakeCluster, failure, member
from tests.note_texts import subjects_of

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def cluster(mocker: MockerFixture) -> FakeCluster:
    """A topic `t` of two partitions, with the logs 10 to 100 and 0 to 50."""
    cluster = FakeCluster(mocker)
    cluster.end("t", 100, 50, starts=(10, 0))
    return cluster


def plan(cluster: FakeCluster, *groups: str, request: ResetRequest, **selectors: Any) -> PlannedGroups:
    """Plan the reset of these groups."""
    return plan_reset(cluster.admin, Selectors(named=groups, **selectors), request)


def offsets(planned: PlannedGroups) -> dict[tuple[str, str, int], tuple[int | None, int | None, str]]:
    """Return the committed offset, the new one and the note of each row."""
    return {
        (group, row.change.topic or "", row.change.partition or 0): (
            row.change.committed_offset,
            row.change.new_offset,
            row.note,
        )
        for group, rows in planned.rows.items()
        for row in rows
    }


def test_every_partition_of_a_named_topic_is_planned_for_every_group(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    cluster.add("b", commits={("t", 0): 10, ("t", 1): 50})
    planned = plan(cluster, "b", "a", request=ResetRequest(ToLatest(), topics={"t": ()}))
    assert offsets(planned) == {
        ("a", "t", 0): (60, 100, ""),
        ("a", "t", 1): (None, 50, "no commit before"),
        ("b", "t", 0): (10, 100, ""),
        ("b", "t", 1): (50, 50, "unchanged"),
    }
    assert list(planned.rows) == ["a", "b"]
    assert planned.failures == ()


def test_all_topics_are_the_partitions_with_a_commit(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7})
    planned = plan(cluster, "a", request=ResetRequest(ToEarliest()))
    assert offsets(planned) == {("a", "t", 1): (7, 0, "")}
    text = "Group 'a' has no commit on 1 partition of 't': it stays as it is (reset with --topic)."
    assert planned.notes == (Note(NoteKind.LEFT_PARTITIONS, "a", text),)


def test_partitions_that_nobody_asked_for_get_no_note(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 1): 7})
    assert plan(cluster, "a", request=ResetRequest(ToEarliest(), topics={"t": (1,)})).notes == ()
    cluster.add("b", commits={("t", 0): 60, ("t", 1): 7})
    assert plan(cluster, "b", request=ResetRequest(ToEarliest())).notes == ()


def test_many_groups_without_commits_share_a_note(cluster: FakeCluster) -> None:
    for number in range(7):
        cluster.add(f"g{number}", commits={("t", 1): 7})
    notes = plan(cluster, *(f"g{number}" for number in range(7)), request=ResetRequest(ToEarliest())).notes
    assert subjects_of(notes) == [
        (NoteKind.LEFT_PARTITIONS, subject) for subject in ("g0", "g1", "g2", "g3", "g4", None)
    ]
    assert notes[-1].text == "2 more groups have partitions without a commit, which stay as they are."


def test_a_named_partition_is_planned_alone(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    planned = plan(cluster, "a", request=ResetRequest(ToEarliest(), topics={"t": (0,)}))
    assert offsets(planned) == {("a", "t", 0): (60, 10, "")}


def test_logs_are_read_once_for_all_groups(cluster: FakeCluster) -> None:
    for group in "abc":
        cluster.add(group, commits={("t", 0): 60, ("t", 1): 7})
    plan(cluster, "a", "b", "c", request=ResetRequest(ToEarliest()))
    assert cluster.admin.list_offsets.call_count == 2
    assert cluster.admin.describe_with_offsets.call_count == 1


def test_a_group_with_members_is_refused_with_its_state_and_hosts_and_the_others_go_on(cluster: FakeCluster) -> None:
    cluster.add("busy", state="Stable", members=[member("m1"), member("m2", host="/10.0.0.2")])
    cluster.add("idle", commits={("t", 0): 60})
    planned = plan(cluster, "busy", "idle", request=ResetRequest(ToEarliest()))
    assert list(planned.rows) == ["idle"]
    (refused,) = planned.failures
    assert (refused.group, refused.code, refused.name) == ("busy", 68, "NON_EMPTY_GROUP")
    assert refused.message == "it is Stable with 2 members on 10.0.0.1, 10.0.0.2; stop its consumers first"


def test_a_group_without_a_description_but_with_commits_is_planned(cluster: FakeCluster) -> None:
    cluster.add("managed", commits={("t", 0): 60})
    del cluster.descriptions["managed"]
    planned = plan(cluster, "managed", request=ResetRequest(ToEarliest()))
    assert offsets(planned) == {("managed", "t", 0): (60, 10, "")}


def test_an_absent_group_is_an_error_without_create(cluster: FakeCluster) -> None:
    planned = plan(cluster, "new", request=ResetRequest(ToEarliest(), topics={"t": (0,)}))
    assert (planned.rows, [why.name for why in planned.failures]) == ({}, ["GROUP_ID_NOT_FOUND"])
    assert "--create creates it" in planned.failures[0].message


def test_an_absent_group_is_planned_with_create(cluster: FakeCluster) -> None:
    planned = plan(cluster, "new", request=ResetRequest(ToEarliest(), topics={"t": (0,)}, create=True))
    assert offsets(planned) == {("new", "t", 0): (None, 10, "no commit before")}
    assert planned.failures == ()


def test_a_group_of_another_type_is_not_created(cluster: FakeCluster) -> None:
    cluster.add("shared", kind="Share", protocol_type="share")
    cluster.undescribable["shared"] = failure("GROUP_ID_NOT_FOUND", code=69, group="shared")
    for create in (True, False):
        request = ResetRequest(ToEarliest(), topics={"t": (0,)}, create=create)
        planned = plan(cluster, "shared", request=request)
        assert (planned.rows, [why.name for why in planned.failures]) == ({}, ["GROUP_ID_NOT_FOUND"])
        assert "--create" not in planned.failures[0].message


@pytest.mark.parametrize("topics", [{"typo": (), "t": ()}, {"t": (0, 2)}])
def test_nothing_is_planned_if_a_named_topic_or_partition_does_not_exist(
    cluster: FakeCluster, topics: dict[str, tuple[int, ...]]
) -> None:
    cluster.add("a", commits={("t", 0): 60})
    planned = plan(cluster, "a", request=ResetRequest(ToEarliest(), topics=topics))
    assert (planned.rows, [why.name for why in planned.failures]) == ({}, ["UNKNOWN_TOPIC_OR_PARTITION"])


def test_a_partition_without_a_leader_is_refused_and_the_others_go_on(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    key = TopicPartition("t", 1)
    cluster.leaderless[key] = failure("LEADER_NOT_AVAILABLE", code=5, topic="t", partition=1)
    planned = plan(cluster, "a", request=ResetRequest(ToEarliest()))
    assert [change.partition for change in planned.changes()] == [0]
    assert [(why.group, why.partition, why.name) for why in planned.refusals()] == [("a", 1, "LEADER_NOT_AVAILABLE")]


def test_a_shift_without_a_commit_is_refused(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    planned = plan(cluster, "a", request=ResetRequest(ShiftBy(-5), topics={"t": ()}))
    assert [(change.partition, change.new_offset) for change in planned.changes()] == [(0, 55)]
    assert [(why.partition, why.name) for why in planned.refusals()] == [(1, "REFUSED")]


def test_a_reset_commits_no_leader_epoch_and_empty_metadata(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 4, "note")})
    (change,) = plan(cluster, "a", request=ResetRequest(ToOffset(20))).changes()
    assert (change.before, change.after) == (CommittedOffset(60, 4, "note"), CommittedOffset(20, None, ""))


def test_an_unchanged_commit_keeps_its_leader_epoch_and_metadata(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 4, "note")})
    (change,) = plan(cluster, "a", request=ResetRequest(ToCurrent())).changes()
    assert change.after == change.before


def test_the_position_of_another_group_is_copied(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    cluster.add("other", state="Stable", members=[member("m")], commits={("t", 0): 70, ("t", 1): 20})
    planned = plan(cluster, "a", request=ResetRequest(ToGroup("other")))
    assert offsets(planned) == {("a", "t", 0): (60, 70, ""), ("a", "t", 1): (None, 20, "no commit before")}


def test_an_absent_group_to_copy_from_is_an_error_and_nothing_is_planned(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    planned = plan(cluster, "a", request=ResetRequest(ToGroup("absent")))
    assert (planned.rows, [why.group for why in planned.failures]) == ({}, ["absent"])


def row(offset: int, committed: int | None, *, partition: int = 0, **fields: Any) -> Change:
    """Return a change of group `a` on topic `t` in a file."""
    change = Change(Action.COMMIT, "a", "t", partition, committed, metadata="", new_offset=offset, new_metadata="")
    return change._replace(**fields)


def test_the_rows_of_a_csv_are_clamped_to_the_log(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    file = PlanRows("f", (row(500, None), row(20, None, partition=1)))
    planned = plan(cluster, "a", request=ResetRequest(from_rows(file)))
    assert offsets(planned) == {
        ("a", "t", 0): (60, 100, "clamped from 500 to the log end offset"),
        ("a", "t", 1): (None, 20, "no commit before"),
    }


def test_a_row_of_a_plan_is_refused_if_the_commit_has_changed(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    file = PlanRows("f", (row(20, 55), row(20, 7, partition=1)), cluster_id="c")
    planned = plan(cluster, "a", request=ResetRequest(from_rows(file)))
    assert [change.partition for change in planned.changes()] == [1]
    (refusal,) = planned.refusals()
    assert (refusal.name, refusal.partition) == ("REFUSED", 0)
    assert refusal.message == "its commit has changed since the plan, from 55 to 60"


def test_force_resets_a_commit_that_has_changed(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    file = PlanRows("f", (row(20, 55),), cluster_id="c")
    planned = plan(cluster, "a", request=ResetRequest(from_rows(file, force=True), force=True))
    assert offsets(planned) == {("a", "t", 0): (60, 20, "")}


def test_a_plan_commits_its_leader_epoch_and_metadata(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    file = PlanRows("f", (row(20, 60, new_leader_epoch=4, new_metadata="note"),), cluster_id="c")
    (change,) = plan(cluster, "a", request=ResetRequest(from_rows(file))).changes()
    assert change.after == CommittedOffset(20, 4, "note")


def test_a_file_without_a_row_for_the_command_resets_nothing(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60})
    note = Note(NoteKind.SKIPPED_ROWS, None, "skipped")
    request = ResetRequest(from_rows(PlanRows("f", (), cluster_id="c", notes=(note,))))
    planned = plan(cluster, request=request, states=("Empty",))
    assert (planned.rows, planned.failures, planned.notes) == ({}, (), (note,))
    assert cluster.admin.method_calls == []


def test_a_group_without_commits_in_scope_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("a")
    planned = plan(cluster, "a", request=ResetRequest(ToEarliest()))
    assert (planned.rows, planned.failures) == ({}, ())
    assert planned.notes == (Note(NoteKind.NO_OFFSETS, "a", "Group 'a' has no committed offsets in scope."),)


def test_a_row_of_a_csv_with_the_current_offset_keeps_leader_epoch_and_metadata(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 4, "note")})
    (change,) = plan(cluster, "a", request=ResetRequest(from_rows(PlanRows("f", (row(60, None),))))).changes()
    assert change.after == change.before


def test_a_commit_of_the_other_group_that_cannot_be_read_is_a_failure(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    cluster.add("other", commits={("t", 0): 70}, refused={("t", 1): 29})
    planned = plan(cluster, "a", request=ResetRequest(ToGroup("other"), topics={"t": ()}))
    assert [change.partition for change in planned.changes()] == [0]
    assert [(why.group, why.partition, why.name) for why in planned.failures] == [
        ("other", 1, "TOPIC_AUTHORIZATION_FAILED")
    ]
