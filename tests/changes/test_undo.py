"""The way back: the commits before a run are restored, and what has moved since is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change, PlannedGroups, to_change
from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.changes.undo import plan_undo
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import CommittedOffset, TopicPartition
from tests.changes.executions import TOPICS, commit, id_of, offsets
from tests.changes.plans import plan
from tests.changes.recorded_runs import change, take_back, undo
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

DELETE = Action.DELETE_GROUP
TIMES, GROUPS, MEMBERS = (
    Note(NoteKind.UNDO, None, text)
    for text in (
        "Restored commits have the time of this undo, not their old commit times.",
        "A deleted group comes back with its commits only: as a classic group without members, whatever its type was.",
        "Removed members are not restored; their clients may join again.",
    )
)
UNCHANGED = Note(NoteKind.UNCHANGED, None, "1 commit is as before the run already.")
BEFORE = Commit(5, 3, "note")


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` with a commit that has an epoch and metadata."""
    groups = {"a": Group(state="Empty", commits={("t", 0): BEFORE})}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def back(planned: PlannedGroups) -> list[tuple[str, int | None, int | None, str]]:
    """Return the action, both offsets and the note of each change to make."""
    rows = [row for each in planned.rows.values() for row in each if row.refusal is None]
    return [(row.change.action.value, row.change.committed_offset, row.change.new_offset, row.note) for row in rows]


FIRST = TopicPartition("t", 0)
MOVED = to_change(
    Action.COMMIT, "a", FIRST, CommittedOffset(5, 3, "note"), CommittedOffset(1, None, ""), topic_id=id_of("t")
)
DELETED = to_change(Action.DELETE_OFFSETS, "a", FIRST, CommittedOffset(5, 3, "note"), topic_id=id_of("t"))
REMOVED = to_change(DELETE, "a", FIRST, CommittedOffset(5, 3, "note"), topic_id=id_of("t"))


@pytest.mark.parametrize(
    ("made", "now", "notes"),
    [(MOVED, 1, (TIMES,)), (DELETED, None, (TIMES,)), (REMOVED, None, (TIMES, GROUPS))],
    ids=lambda each: each.action.value if isinstance(each, Change) else None,
)
@pytest.mark.parametrize("is_killed", [False, True])
def test_the_commit_before_is_restored_with_its_epoch_and_metadata(
    cluster: ScriptedCluster,
    admin: GroupAdmin,
    tmp_path: Path,
    made: Change,
    now: int | None,
    notes: tuple[Note, ...],
    is_killed: bool,
) -> None:
    run_id = change(admin, tmp_path, made, is_killed=is_killed)
    planned = undo(admin, tmp_path, run_id)
    assert (back(planned), planned.notes) == ([("commit", now, 5, "")], notes)
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert cluster.groups["a"].commits == {("t", 0): BEFORE}


@pytest.mark.parametrize("group", ["a", "new"])
def test_a_commit_is_deleted_where_there_was_none(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, group: str
) -> None:
    run_id = change(admin, tmp_path, commit(group, None, 9, partition=1))
    planned = undo(admin, tmp_path, run_id)
    assert back(planned) == [("delete_offsets", 9, None, "deletes the commit: there was none before")]
    assert planned.notes == ()
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert ("t", 1) not in cluster.groups[group].commits


def test_members_are_not_brought_back(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    cluster.groups["a"].members = [{"member_id": "m", "group_instance_id": None}]
    run_id = change(admin, tmp_path, Change(Action.REMOVE_MEMBER, "a", member_id="m"))
    cluster.brokers[1].received.clear()
    planned = undo(admin, tmp_path, run_id)
    assert (planned.rows, planned.failures, planned.notes) == ({}, (), (MEMBERS,))


def test_a_group_without_commits_is_not_brought_back(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.groups["empty"] = Group(state="Empty")
    run_id = change(admin, tmp_path, Change(DELETE, "empty"))
    assert undo(admin, tmp_path, run_id) == PlannedGroups(notes=(GROUPS,))


def test_a_run_that_was_killed_before_it_changed_anything_needs_no_undo(admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = begin_run(LocalJournal(tmp_path), RunHead("reset", plan(MOVED))).id
    planned = undo(admin, tmp_path, run_id)
    assert (planned.rows, planned.failures) == ({}, ())
    assert planned.notes == (UNCHANGED,)


def test_a_run_that_was_killed_in_between_is_undone_as_far_as_it_came(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    other = commit("b", 7, 1)
    cluster.groups |= {
        "a": Group(state="Empty", commits={("t", 0): 1}),
        "b": Group(state="Empty", commits={("t", 0): 7}),
    }
    run_id = begin_run(LocalJournal(tmp_path), RunHead("reset", plan(MOVED, other))).id
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert (cluster.groups["a"].commits, offsets(cluster, "b")) == ({("t", 0): BEFORE}, {("t", 0): 7})


def test_a_change_that_failed_needs_no_undo(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    cluster.topics["u"] = {}
    run_id = change(admin, tmp_path, MOVED, commit("a", None, 4, topic="u"))
    cluster.groups["a"].commits = {**cluster.groups["a"].commits, ("u", 0): 4}
    assert back(undo(admin, tmp_path, run_id)) == [("commit", 1, 5, "")]


@pytest.mark.parametrize(
    ("made", "now", "text"),
    [
        (MOVED, 8, "it has moved since: the run left 1, and it is 8 now"),
        (MOVED, None, "it has moved since: the run left 1, and there is none now"),
        (DELETED, 8, "it has moved since: the run left no commit, and it is 8 now"),
        (REMOVED, 8, "it has moved since: the run left no commit, and it is 8 now"),
    ],
)
def test_a_commit_that_has_moved_since_is_refused(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, made: Change, now: int | None, text: str
) -> None:
    run_id = change(admin, tmp_path, made)
    cluster.groups["a"] = Group(state="Empty", commits={} if now is None else {("t", 0): now})
    planned = undo(admin, tmp_path, run_id)
    assert [(row.note, row.refusal and row.refusal.name) for row in planned.rows["a"]] == [(text, "REFUSED")]
    assert planned.changes() == []


def test_a_commit_with_other_metadata_has_moved(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.groups["a"].commits = {("t", 0): Commit(1, -1, "someone else")}
    (refusal,) = undo(admin, tmp_path, run_id).refusals()
    text = "it has changed since: the run left 1 with another leader epoch or other metadata"
    assert refusal.message == text


def test_a_group_with_members_is_refused_and_the_others_are_restored(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.groups["b"] = Group(state="Empty", commits={("t", 0): 7})
    run_id = change(admin, tmp_path, MOVED, commit("b", 7, 1))
    cluster.groups["a"].state = "Stable"
    planned = undo(admin, tmp_path, run_id)
    assert [(why.group, why.name) for why in planned.failures] == [("a", "NON_EMPTY_GROUP")]
    assert list(planned.rows) == ["b"]


def test_a_group_with_members_whose_commits_need_nothing_is_no_error(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = begin_run(LocalJournal(tmp_path), RunHead("reset", plan(MOVED))).id
    cluster.groups["a"].state = "Stable"
    assert undo(admin, tmp_path, run_id).failures == ()


def test_a_commit_that_cannot_be_read_is_refused(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.groups["a"].commits = {("t", 0): Commit(1, error=29)}
    assert [why.name for why in undo(admin, tmp_path, run_id).refusals()] == ["TOPIC_AUTHORIZATION_FAILED"]


def test_a_group_that_cannot_be_read_is_an_error(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.groups["a"].error = 30
    planned = undo(admin, tmp_path, run_id)
    assert (planned.rows, [why.name for why in planned.failures]) == ({}, ["GROUP_AUTHORIZATION_FAILED"])


def test_a_second_undo_changes_nothing(admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert undo(admin, tmp_path, run_id) == PlannedGroups(notes=(UNCHANGED,))
    listed = list_runs(LocalJournal(tmp_path)).runs
    assert {each.run.id: each.status.value for each in listed}[run_id] == "undone"


def test_an_undo_can_be_undone(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    take_back(admin, tmp_path, run_id)
    (newest, *_) = [each.run.id for each in list_runs(LocalJournal(tmp_path)).runs if each.run.command == "undo"]
    assert take_back(admin, tmp_path, newest) == ["done"]
    assert cluster.groups["a"].commits == {("t", 0): Commit(1, -1, "")}


def test_all_groups_of_a_run_are_read_in_one_round(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    changes = []
    for at in range(20):
        cluster.groups[f"g{at}"] = Group(coordinator=1 + at % 2, state="Empty", commits={("t", 0): 5, ("t", 1): 5})
        changes += [commit(f"g{at}", 5, 1, partition=partition) for partition in (0, 1)]
    run_id = change(admin, tmp_path, *changes)
    before = cluster.requests()
    assert len(undo(admin, tmp_path, run_id).changes()) == 40
    groups = {"OffsetFetch": 2, "DescribeGroups": 2, "ConsumerGroupDescribe": 2}
    assert cluster.requests() - before == {**groups, "Metadata": 1, "ListOffsets": 2}


def test_a_commit_that_the_run_repeated_as_it_was_is_not_looked_at(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    same = to_change(Action.COMMIT, "a", FIRST, CommittedOffset(5, 3, "note"), CommittedOffset(5, 3, "note"))
    run_id = change(admin, tmp_path, same)
    cluster.groups["a"].commits = {("t", 0): 9}
    planned = undo(admin, tmp_path, run_id)
    assert (planned.rows, planned.failures) == ({}, ())


def test_a_commit_beyond_the_log_end_is_restored_with_a_note(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.groups["a"].commits = {("t", 0): 10**6}
    run_id = change(admin, tmp_path, commit("a", 10**6, 1))
    ((_, _, restored, note),) = back(undo(admin, tmp_path, run_id))
    assert restored == 10**6
    assert note.startswith("beyond the log end offset ")


def test_force_restores_a_commit_that_has_moved(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.groups["a"].commits = {("t", 0): 9}
    planned = plan_undo(admin, read_run(LocalJournal(tmp_path), run_id), force=True)
    assert back(planned) == [("commit", 9, 5, "it has moved since: the run left 1, and it is 9 now")]
