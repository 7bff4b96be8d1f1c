"""Old runs are removed on request, from the first one in the order of the journal."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kafka_groups.changes.retention import delete_runs, old_runs
from kafka_groups.errors import JournalError
from tests.changes.plans import NOON
from tests.changes.written_runs import BACK, Journal


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_runs_that_began_before_the_time_are_old(runs: Journal) -> None:
    ids = [runs.run() for _ in range(4)]
    old = old_runs(runs.location, before=NOON + timedelta(seconds=3))
    assert [run.id for run in old] == ids[:2]
    delete_runs(runs.location, old)
    assert sorted(runs.statuses()) == sorted(ids[2:])


def test_a_run_behind_a_newer_one_is_kept_whatever_its_clock_said(runs: Journal) -> None:
    recent = runs.run(step=timedelta(hours=1))
    late = runs.run(step=timedelta(hours=-1))
    assert old_runs(runs.location, before=NOON) == []
    assert set(runs.statuses()) == {recent, late}


def test_a_run_of_the_future_does_not_keep_the_runs_behind_it(runs: Journal) -> None:
    ahead = runs.run(step=timedelta(days=3000))
    old = [runs.run(step=timedelta(0)) for _ in range(2)]
    newest = runs.run(step=timedelta(days=1))
    found = old_runs(runs.location, before=NOON + timedelta(days=1))
    assert [run.id for run in found] == old
    delete_runs(runs.location, found)
    assert set(runs.statuses()) == {ahead, newest}


def test_a_run_and_its_undos_are_kept_together(runs: Journal) -> None:
    old = runs.run()
    first = runs.run()
    undo = runs.run(BACK, undoes=first)
    runs.run(undoes=undo, step=timedelta(days=1))
    assert [run.id for run in old_runs(runs.location, before=NOON + timedelta(days=1))] == [old]


def test_a_removed_run_and_its_removed_undo_leave_nothing_behind(runs: Journal) -> None:
    first = runs.run()
    runs.run(BACK, undoes=first)
    delete_runs(runs.location, old_runs(runs.location, before=NOON + timedelta(days=1)))
    assert runs.statuses() == {}


def test_the_next_run_is_still_the_newest(runs: Journal) -> None:
    runs.run()
    runs.run()
    delete_runs(runs.location, old_runs(runs.location, before=NOON + timedelta(seconds=2)))
    newest = runs.run()
    assert next(iter(runs.statuses())) == newest


def test_a_record_that_cannot_be_deleted_is_an_error_that_names_it(runs: Journal) -> None:
    run_id = runs.run()
    old = old_runs(runs.location, before=NOON + timedelta(days=1))
    runs.path(run_id).unlink()
    with pytest.raises(JournalError, match=f"cannot delete {runs.path(run_id)}: No such file"):
        delete_runs(runs.location, old)
