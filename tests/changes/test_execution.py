"""Executing a plan: checked again, recorded first, one outcome for each change, and what goes wrong in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change, PlannedChange, Status
from kafka_groups.changes.current_groups import refuse
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import TopicPartition
from tests.admin.handlers.test_alter_consumer_group_offsets import with_codes
from tests.changes.executions import (
    FULL_DISK,
    RUN_ID,
    MemoryJournal,
    commit,
    deletion,
    execute,
    idle,
    names,
    offsets,
    rows,
    statuses,
)
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable
from tests.fakes.scripted_cluster import Group, ScriptedCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

CHANGING = ("OffsetCommit", "OffsetDelete", "DeleteGroups", "LeaveGroup")


@pytest.fixture
def fake(mocker: MockerFixture) -> FakeCluster:
    """Group `a` with commits on two partitions of `t`."""
    cluster = FakeCluster(mocker)
    cluster.end("t", 100, 100)
    cluster.add("a", commits={("t", 0): 5, ("t", 1): 6})
    return cluster


def sent(cluster: ScriptedCluster) -> dict[str, int]:
    """Return the number of requests that change something."""
    return {api: count for api, count in cluster.requests().items() if api in CHANGING}


def test_offsets_are_committed_with_one_request_for_each_group(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    journal = MemoryJournal()
    changes = [commit("a", 5, 1), commit("a", 6, 2, partition=1), commit("b", 7, 3)]
    execution = execute(admin, *changes, journal=journal)
    assert rows(execution) == [("a", 0, "done", ""), ("a", 1, "done", ""), ("b", 0, "done", "")]
    assert (execution.failures, execution.notes, execution.run_id) == ((), (), RUN_ID)
    assert offsets(scripted, "a") | offsets(scripted, "b") == {("t", 0): 3, ("t", 1): 2}
    assert sent(scripted) == {"OffsetCommit": 2}
    assert journal.changes == changes
    assert (journal.statuses, journal.is_finished) == (dict.fromkeys(range(3), Status.DONE), True)


def test_the_groups_are_read_again_in_one_round_for_each_coordinator(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    scripted.groups["c"] = idle(1)
    execute(admin, commit("a", 5, 1), commit("b", 7, 3), commit("c", 1, 0))
    assert scripted.requests()["OffsetFetch"] == 2
    assert scripted.requests()["DescribeGroups"] == 2
    assert scripted.requests()["ListOffsets"] == 0


def test_outcomes_that_cannot_be_recorded_are_reported_with_a_warning(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    execution = execute(admin, commit("a", 5, 1), journal=MemoryJournal(is_full=True))
    assert (statuses(execution), execution.run_id) == (["done"], RUN_ID)
    assert execution.notes == (Note(NoteKind.JOURNAL, None, f"Warning: {FULL_DISK}"),)
    assert offsets(scripted, "a")[("t", 0)] == 1


def test_a_plan_without_a_valid_change_is_recorded_as_an_attempt(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    scripted.groups["a"].commits = {("t", 0): 50}
    journal = MemoryJournal()
    execution = execute(admin, commit("a", 5, 1), journal=journal)
    assert (statuses(execution), execution.run_id, journal.changes) == (["refused"], RUN_ID, [])
    assert sent(scripted) == {}


def test_only_the_changes_that_are_still_valid_are_made(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    scripted.groups["a"].commits = {("t", 0): 50, ("t", 1): 6}
    journal = MemoryJournal()
    execution = execute(admin, commit("a", 5, 1), commit("a", 6, 2, partition=1), journal=journal)
    assert (statuses(execution), [each.partition for each in journal.changes]) == (["refused", "done"], [1])
    assert names(execution) == [("a", 0, "REFUSED")]
    assert offsets(scripted, "a") == {("t", 0): 50, ("t", 1): 2}


def test_a_commit_that_has_changed_is_overwritten_with_force(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    scripted.groups["a"].commits = {("t", 0): 50}
    assert statuses(execute(admin, commit("a", 5, 1), force=True)) == ["done"]


def test_a_row_that_the_plan_refuses_is_shown_and_not_sent(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    refused = PlannedChange(commit("a", 5, 1), "why", refuse("a", "why", TopicPartition("t", 0)))
    execution = execute(admin, refused, PlannedChange(commit("a", 6, 2, partition=1), "clamped"))
    assert rows(execution) == [("a", 0, "refused", "why"), ("a", 1, "done", "clamped")]
    assert offsets(scripted, "a") == {("t", 0): 5, ("t", 1): 2}


def test_a_partition_that_the_broker_refuses_is_failed_and_the_others_are_done(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    scripted.script("OffsetCommit", with_codes(0, 29), brokers=[1])
    execution = execute(admin, commit("a", 5, 1), commit("a", 6, 2, partition=1))
    assert statuses(execution) == ["done", "failed"]
    assert names(execution) == [("a", 1, "TOPIC_AUTHORIZATION_FAILED")]


def test_a_commit_on_a_partition_that_does_not_exist_any_more_is_refused(
    scripted: ScriptedCluster, admin: GroupAdmin
) -> None:
    scripted.topics["t"] = {0: 1}
    execution = execute(admin, commit("a", 5, 1), commit("a", 6, 2, partition=1))
    assert statuses(execution) == ["done", "refused"]
    assert names(execution) == [("a", 1, "UNKNOWN_TOPIC_OR_PARTITION")]


def test_a_group_that_fails_as_a_whole_is_one_failure(fake: FakeCluster) -> None:
    fake.unchangeable["a"] = failure(group="a")
    execution = execute(fake.admin, commit("a", 5, 1), commit("a", 6, 2, partition=1))
    assert (statuses(execution), names(execution)) == (
        ["failed", "failed"],
        [("a", None, "GROUP_AUTHORIZATION_FAILED")],
    )


def test_partitions_that_fail_for_one_reason_are_one_failure_if_they_are_all_of_the_group(fake: FakeCluster) -> None:
    for partition in (0, 1):
        key = TopicPartition("t", partition)
        fake.refused_items["a", key] = failure("TIMEOUT", code=None, group="a", topic="t", partition=partition)
    both = [commit("a", 5, 1), commit("a", 6, 2, partition=1)]
    assert names(execute(fake.admin, *both)) == [("a", None, "TIMEOUT")]
    del fake.refused_items["a", TopicPartition("t", 0)]
    assert names(execute(fake.admin, *both)) == [("a", 1, "TIMEOUT")]


def test_partitions_that_fail_for_several_reasons_are_several_failures(fake: FakeCluster) -> None:
    for partition, name in enumerate(("TIMEOUT", "CONNECTION_FAILED")):
        key = TopicPartition("t", partition)
        fake.refused_items["a", key] = failure(name, code=None, group="a", topic="t", partition=partition)
    execution = execute(fake.admin, commit("a", 5, 1), commit("a", 6, 2, partition=1))
    assert names(execution) == [("a", 0, "TIMEOUT"), ("a", 1, "CONNECTION_FAILED")]


def test_one_group_that_fails_does_not_stop_the_others(fake: FakeCluster) -> None:
    fake.add("b", commits={("t", 0): 7})
    fake.unchangeable["a"] = failure(group="a")
    assert statuses(execute(fake.admin, commit("a", 5, 1), commit("b", 7, 1))) == ["failed", "done"]


def test_commits_are_deleted_with_one_request_for_each_group(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    execution = execute(admin, deletion("a", 5), deletion("a", 6, partition=1), deletion("b", 7))
    assert (statuses(execution), sent(scripted)) == (["done"] * 3, {"OffsetDelete": 2})
    assert offsets(scripted, "a") == {}


def test_groups_are_deleted_with_one_request_for_each_coordinator(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    scripted.groups["c"] = idle()
    action = Action.DELETE_GROUP
    changes = [deletion("a", 5, action=action), deletion("a", 6, partition=1, action=action), Change(action, "c")]
    assert statuses(execute(admin, *changes)) == ["done"] * 3
    assert (list(scripted.groups), sent(scripted)) == (["b"], {"DeleteGroups": 1})


def test_members_are_removed_with_one_request_for_each_group(scripted: ScriptedCluster, admin: GroupAdmin) -> None:
    members = [{"member_id": f"m{at}", "group_instance_id": None} for at in range(2)]
    scripted.groups["a"] = Group(members=members)
    changes = [Change(Action.REMOVE_MEMBER, "a", member_id=name) for name in ("m0", "m1", "absent")]
    execution = execute(admin, *changes)
    assert (statuses(execution), sent(scripted)) == (["done", "done", "failed"], {"LeaveGroup": 1})
    assert names(execution) == [("a", None, "UNKNOWN_MEMBER_ID")]
    assert scripted.requests()["OffsetFetch"] == 0


@pytest.mark.parametrize(("kind", "protocol_type"), [("Share", "share"), ("Classic", "connect")])
def test_a_group_of_another_type_is_deleted(
    scripted: ScriptedCluster, admin: GroupAdmin, kind: str, protocol_type: str
) -> None:
    scripted.groups["other"] = Group(state="Empty", type=kind, protocol_type=protocol_type)
    execution = execute(admin, Change(Action.DELETE_GROUP, "other"))
    assert (statuses(execution), execution.failures, "other" in scripted.groups) == (["done"], (), False)


def test_an_error_of_one_kind_of_change_keeps_the_outcomes_of_the_others(fake: FakeCluster) -> None:
    fake.admin.delete_consumer_group_offsets.side_effect = unreachable()
    journal = MemoryJournal()
    execution = execute(fake.admin, commit("a", 5, 1), deletion("a", 6, partition=1), journal=journal)
    assert statuses(execution) == ["done", "failed"]
    assert names(execution) == [("a", None, "CONNECTION_FAILED")]
    assert (journal.statuses, journal.is_finished) == ({0: Status.DONE, 1: Status.FAILED}, True)


def test_members_that_joined_after_the_check_are_an_error_of_the_group(fake: FakeCluster) -> None:
    def join() -> None:
        fake.add("a", state="Stable", members=[member("m")], commits={("t", 0): 5})

    execution = execute(fake.admin, commit("a", 5, 1), journal=MemoryJournal(at_begin=join))
    assert (statuses(execution), names(execution)) == (["failed"], [("a", None, "UNKNOWN_MEMBER_ID")])
