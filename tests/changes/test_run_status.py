"""The status of a recorded run: what it changed, and what of that was undone."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.changes.change import Action, Change, Status
from kafka_groups.changes.runs import read_run
from tests.changes.written_runs import BACK, DONE, FAILED, RESETS, UNKNOWN, Journal

UNCHANGED = Change(Action.COMMIT, "a", "t", 7, 5, new_offset=5)
EMPTY_GROUP = Change(Action.DELETE_GROUP, "empty")


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
    assert bool(read_run(runs.location, runs.run([change], status)).changed()) is is_undoable


@pytest.mark.parametrize(
    ("changes", "statuses", "head", "expected"),
    [
        (RESETS, (DONE, DONE, DONE), {}, "done"),
        (RESETS, (DONE, FAILED, DONE), {}, "partly done"),
        (RESETS, (DONE, DONE, DONE), {"refused": 1}, "partly done"),
        (RESETS, (DONE, DONE, DONE), {"failures": 1}, "partly done"),
        (RESETS, (DONE, UNKNOWN, DONE), {}, "partly done"),
        (RESETS, (UNKNOWN, UNKNOWN, UNKNOWN), {}, "partly done"),
        (RESETS, (FAILED, UNKNOWN, FAILED), {}, "partly done"),
        (RESETS, (FAILED, FAILED, FAILED), {}, "failed"),
        (RESETS, (FAILED, FAILED, FAILED), {"refused": 3}, "failed"),
        ([UNCHANGED, RESETS[0]], (DONE, FAILED), {}, "failed"),
        ([], (), {"failures": 1}, "failed"),
        ([], (), {"refused": 2}, "unchanged"),
        ([], (), {}, "unchanged"),
        ([UNCHANGED], (DONE,), {}, "unchanged"),
        ([UNCHANGED], (DONE,), {"refused": 1}, "unchanged"),
        ([Change(Action.DELETE_OFFSETS, "a", "t", 0)], (DONE,), {}, "unchanged"),
        ([UNCHANGED, RESETS[0]], (DONE, DONE), {}, "done"),
        ([EMPTY_GROUP], (DONE,), {}, "done"),
        ([EMPTY_GROUP], (FAILED,), {}, "failed"),
        ([Change(Action.REMOVE_MEMBER, "a", member_id="m")], (DONE,), {}, "done"),
    ],
)
def test_the_status_says_what_a_run_changed(
    runs: Journal, changes: list[Change], statuses: tuple[Status, ...], head: dict[str, Any], expected: str
) -> None:
    assert runs.status(runs.run(changes, *statuses, **head)) == expected


@pytest.mark.parametrize("statuses", [(), (DONE,), (DONE, DONE, DONE), (FAILED, FAILED, FAILED)])
def test_a_run_without_its_last_line_is_unfinished(runs: Journal, statuses: tuple[Status, ...]) -> None:
    assert runs.status(runs.run(RESETS, *statuses, finish=False)) == "unfinished"


def test_a_run_is_undone_by_a_run_that_restored_each_of_its_commits(runs: Journal) -> None:
    first, other = runs.run(), runs.run()
    undo = runs.run(BACK, undoes=first)
    assert runs.statuses() == {undo: "done", other: "done", first: "undone"}


@pytest.mark.parametrize("status", [FAILED, UNKNOWN, Status.REFUSED])
def test_a_run_is_partly_undone_by_a_run_that_failed_in_part(runs: Journal, status: Status) -> None:
    first = runs.run()
    runs.run(BACK, DONE, DONE, status, undoes=first)
    assert runs.status(first) == "partly undone"


@pytest.mark.parametrize("head", [{"refused": 1}, {"failures": 1}])
def test_a_run_is_partly_undone_while_some_of_it_is_refused(runs: Journal, head: dict[str, Any]) -> None:
    first = runs.run()
    runs.run(BACK[:2], undoes=first, **head)
    assert runs.status(first) == "partly undone"


def test_an_undo_of_which_nothing_was_made_leaves_the_status_as_it_is(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK, FAILED, FAILED, FAILED, undoes=first)
    runs.run([], undoes=first, refused=3)
    assert runs.status(first) == "done"


def test_an_undo_that_did_not_finish_counts_with_its_known_outcomes(runs: Journal) -> None:
    first, second = runs.run(), runs.run()
    runs.run(BACK, DONE, DONE, undoes=first, finish=False)
    runs.run(BACK, undoes=second, finish=False)
    assert (runs.status(first), runs.status(second)) == ("partly undone", "done")


def test_commits_that_are_as_before_already_need_no_undo(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK[:2], undoes=first)
    assert runs.status(first) == "undone"


def test_a_second_undo_may_restore_the_rest(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK, DONE, FAILED, DONE, undoes=first)
    assert runs.status(first) == "partly undone"
    runs.run(BACK[1:2], undoes=first)
    assert runs.status(first) == "undone"


def test_only_commits_that_were_changed_have_to_be_restored(runs: Journal) -> None:
    absent = Change(Action.DELETE_OFFSETS, "a", "t", 8)
    first = runs.run([*RESETS, UNCHANGED, absent, EMPTY_GROUP], DONE, FAILED)
    runs.run([BACK[0], BACK[2]], undoes=first)
    assert runs.status(first) == "undone"


def test_a_run_that_never_finished_can_be_undone(runs: Journal) -> None:
    first = runs.run(RESETS, finish=False)
    failed = runs.run(BACK[:1], FAILED, undoes=first)
    assert runs.status(first) == "unfinished"
    runs.run(BACK, undoes=first)
    assert (runs.status(first), runs.status(failed)) == ("undone", "failed")


def test_a_change_that_may_still_arrive_is_not_undone(runs: Journal) -> None:
    first = runs.run(RESETS, finish=False)
    early = runs.run(BACK[:1], undoes=first)
    assert runs.statuses() == {early: "done", first: "partly undone"}
    late = runs.run(BACK[1:2], undoes=first, step=timedelta(minutes=11))
    assert runs.statuses() == {late: "done", early: "done", first: "undone"}


def test_an_undo_without_a_plan_settles_nothing(runs: Journal) -> None:
    first = runs.run()
    failed = runs.run([], undoes=first, settles=True, failures=1)
    assert runs.statuses() == {failed: "failed", first: "done"}


def test_an_undo_that_found_nothing_left_counts_until_a_later_run_brings_it_back(runs: Journal) -> None:
    first = runs.run()
    undo = runs.run(BACK, undoes=first)
    settled = runs.run([], undoes=first, settles=True)
    redo = runs.run(RESETS, undoes=undo)
    assert (runs.status(first), runs.status(undo)) == ("done", "undone")
    runs.run(BACK, undoes=redo)
    assert (runs.status(first), runs.status(settled)) == ("undone", "unchanged")


def test_the_statuses_of_a_long_chain_of_undos_are_found_in_linear_time(runs: Journal) -> None:
    last = first = runs.run()
    for number in range(199):
        last = runs.run(BACK if number % 2 == 0 else RESETS, undoes=last)
    begin = time.process_time()
    statuses = runs.statuses()
    assert time.process_time() - begin < 5
    assert (statuses[first], statuses[last]) == ("undone", "done")


def test_runs_that_undo_each_other_have_statuses(runs: Journal) -> None:
    first = runs.run()
    second = runs.run(BACK, undoes=first)
    head, *rest = runs.path(first).read_text().splitlines(keepends=True)
    runs.path(first).write_text("".join([json.dumps({**json.loads(head), "undoes": second}) + "\n", *rest]))
    assert set(runs.statuses()) == {first, second}


def test_an_undo_that_found_nothing_left_settles_its_run(runs: Journal) -> None:
    first, second = runs.run(RESETS, finish=False), runs.run(RESETS, finish=False)
    runs.run([], undoes=first, settles=True)
    runs.run([], undoes=second)
    assert (runs.status(first), runs.status(second)) == ("undone", "unfinished")


def test_an_undo_that_is_undone_itself_restores_nothing(runs: Journal) -> None:
    first = runs.run()
    undo = runs.run(BACK, undoes=first)
    redo = runs.run(RESETS, undoes=undo)
    assert runs.statuses() == {redo: "done", undo: "undone", first: "done"}
    again = runs.run(BACK, undoes=redo)
    assert runs.statuses() == {again: "done", redo: "undone", undo: "done", first: "undone"}


def test_a_run_whose_undo_was_taken_back_in_part_is_partly_undone(runs: Journal) -> None:
    first = runs.run(RESETS)
    second = runs.run(BACK, undoes=first)
    assert runs.status(first) == "undone"
    runs.run(RESETS[:1], undoes=second, refused=2)
    assert (runs.status(first), runs.status(second)) == ("partly undone", "partly undone")


@pytest.mark.parametrize("step", [timedelta(milliseconds=1), timedelta(hours=-1)], ids=["one second", "clock set back"])
def test_an_undo_names_its_run_whatever_the_clock_says(runs: Journal, step: timedelta) -> None:
    first = runs.run(step=step)
    runs.run(BACK, undoes=first, step=step)
    assert runs.status(first) == "undone"


def test_an_undo_of_a_run_whose_file_is_missing_is_listed(runs: Journal) -> None:
    undo = runs.run(BACK, undoes="20200101-000000-a")
    assert runs.statuses() == {undo: "done"}
