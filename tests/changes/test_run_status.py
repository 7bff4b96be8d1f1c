"""Whether a recorded run was undone, and whether it can be."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kafka_groups.changes.change import Action, Change, Status
from kafka_groups.changes.runs import list_runs
from tests.changes.written_runs import BACK, DONE, FAILED, RESETS, UNKNOWN, Journal


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


@pytest.mark.parametrize(
    ("change", "status", "is_undoable"),
    [
        (RESETS[0], DONE, True),
        (RESETS[0], UNKNOWN, True),
        (RESETS[0], FAILED, False),
        (RESETS[0]._replace(new_offset=5), DONE, False),
        (Change(Action.DELETE_GROUP, "a", "t", 0, 5), DONE, True),
        (Change(Action.DELETE_GROUP, "a"), DONE, False),
        (Change(Action.DELETE_OFFSETS, "a", "t", 0), DONE, False),
        (Change(Action.REMOVE_MEMBER, "a", member_id="m"), DONE, False),
    ],
)
def test_a_run_can_be_undone_if_it_may_have_changed_a_commit(
    runs: Journal, change: Change, status: Status, is_undoable: bool
) -> None:
    runs.run([change], status)
    assert [run.is_undoable for run in list_runs(runs.directory).runs] == [is_undoable]


def test_a_run_is_undone_by_a_run_that_restored_each_of_its_commits(runs: Journal) -> None:
    first, other = runs.run(), runs.run()
    undo = runs.run(BACK, undoes=first)
    assert runs.statuses() == {undo: "done", other: "done", first: "undone"}


@pytest.mark.parametrize("status", [FAILED, UNKNOWN, Status.REFUSED])
def test_a_run_is_not_undone_by_a_run_that_failed_in_part(runs: Journal, status: Status) -> None:
    first = runs.run()
    runs.run(BACK, DONE, DONE, status, undoes=first)
    assert runs.status(first) == "done"


def test_a_run_is_not_undone_by_a_run_that_did_not_finish(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK, DONE, DONE, DONE, undoes=first, finish=False)
    assert runs.status(first) == "done"


def test_a_run_is_not_undone_by_a_run_that_restored_only_some_commits(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK[:2], undoes=first)
    assert runs.status(first) == "done"


def test_a_second_undo_may_restore_the_rest(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK, DONE, FAILED, DONE, undoes=first)
    assert runs.status(first) == "done"
    runs.run(BACK[1:2], undoes=first)
    assert runs.status(first) == "undone"


def test_only_commits_that_were_changed_have_to_be_restored(runs: Journal) -> None:
    unchanged = Change(Action.COMMIT, "a", "t", 7, 5, new_offset=5)
    absent = Change(Action.DELETE_OFFSETS, "a", "t", 8)
    first = runs.run([*RESETS, unchanged, absent, Change(Action.DELETE_GROUP, "empty")], DONE, FAILED)
    runs.run([BACK[0], BACK[2]], undoes=first)
    assert runs.status(first) == "undone"


def test_a_run_that_never_finished_can_be_undone(runs: Journal) -> None:
    first = runs.run(RESETS, finish=False)
    assert runs.status(first) == "unfinished"
    failed = runs.run(BACK[:1], FAILED, undoes=first)
    assert runs.status(first) == "unfinished"
    runs.run(BACK[:1], undoes=first)
    assert (runs.status(first), runs.status(failed)) == ("undone", "done")


def test_an_undo_that_is_undone_itself_restores_nothing(runs: Journal) -> None:
    first = runs.run()
    undo = runs.run(BACK, undoes=first)
    redo = runs.run(RESETS, undoes=undo)
    assert runs.statuses() == {redo: "done", undo: "undone", first: "done"}
    again = runs.run(BACK, undoes=redo)
    assert runs.statuses() == {again: "done", redo: "undone", undo: "done", first: "undone"}


def test_a_run_whose_undo_was_taken_back_in_part_is_not_undone(runs: Journal) -> None:
    first = runs.run(RESETS)
    second = runs.run(BACK, undoes=first)
    assert runs.status(first) == "undone"
    runs.run(RESETS[:1], undoes=second)
    assert (runs.status(first), runs.status(second)) == ("done", "done")


def test_an_undo_of_the_same_second_counts(runs: Journal) -> None:
    first = runs.run(step=timedelta(milliseconds=1))
    runs.run(BACK, undoes=first, step=timedelta(milliseconds=1))
    assert runs.status(first) == "undone"


def test_an_undo_of_a_run_whose_file_is_missing_is_listed(runs: Journal) -> None:
    undo = runs.run(BACK, undoes="20200101-000000-a")
    assert runs.statuses() == {undo: "done"}
