"""`kafka-groups undo`: the list of runs, and which run is taken back without an ID."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kafka_groups.model import CommittedOffset
from tests.commands.change_commands import (
    EXECUTE,
    NOTHING,
    changes,
    committed,
    journal_files,
    last_line,
)
from tests.fakes.fake_admin import FakeCluster, failure, member, run, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

from tests.commands.recorded_changes import NO_RUN, add_group, change, reset, statuses


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    add_group(cluster)


def test_runs_are_taken_back_one_after_the_other(cluster: FakeCluster) -> None:
    reset(20)
    reset(30)
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 20]
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 60]
    assert run("undo", *EXECUTE) == (1, "", NO_RUN)


def test_members_that_were_removed_are_passed_over(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.add("b", state="Stable", members=[member("m")])
    removal = change("remove-members", "-g", "b", "--all")
    assert f"Undoing {run_id}: reset" in run("undo").stderr
    outcome = run("undo", removal, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome)) == (0, NOTHING)
    assert "Removed members are not restored" in outcome.stderr
    assert statuses()[removal] == "done"


def test_the_list_needs_no_cluster(cluster: FakeCluster) -> None:
    first, second = reset(20), change("delete", "a")
    cluster.refuse(unreachable())
    lines = run("undo", "--list", bootstrap=None).stdout.splitlines()
    assert lines[0].split() == ["ID", "TIME", "COMMAND", "CLUSTER", "GROUPS", "STATUS"]
    rows = {line.split()[0]: line.split()[2:] for line in lines[1:]}
    assert rows == {second: ["delete", "fake", "a", "done"], first: ["reset", "fake", "a", "done"]}


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv"])
def test_an_empty_list_is_a_note(output: str) -> None:
    outcome = run("undo", "--list", "--format", output, bootstrap=None)
    assert (outcome.exit_code, outcome.stderr) == (0, "No change is recorded.\n")
    assert output != "json" or json.loads(outcome.stdout)["runs"] == []


def test_the_list_has_at_most_three_groups_in_a_line(cluster: FakeCluster) -> None:
    names = [f"g{at}" for at in range(5)]
    for name in names:
        cluster.add(name, commits={("t", 0): 60})
    change("delete", *names)
    assert (
        run("undo", "--list", "--format", "csv", bootstrap=None)
        .stdout.splitlines()[1]
        .endswith('"g0,g1,g2,… (5)",done')
    )
    (row,) = json.loads(run("undo", "--list", "--format", "json", bootstrap=None).stdout)["runs"]
    assert (row["groups"], row["changes"], row["undoes"]) == (names, 5, None)


@pytest.mark.parametrize("extra", [("20260101-000000-a",), EXECUTE, ("--dry-run",), ("--export", "-"), ("--force",)])
def test_the_list_contradicts_options_of_a_change(extra: tuple[str, ...]) -> None:
    outcome = run("undo", "--list", *extra)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "--list only lists" in outcome.stderr


def test_a_file_that_is_no_journal_is_a_note_of_the_list() -> None:
    reset()
    (journal_files()[0].parent / "notes.txt").touch()
    outcome = run("undo", "--list", bootstrap=None)
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (0, 2)
    assert "is not the journal of a run; it was skipped" in outcome.stderr


def test_a_run_that_changed_nothing_is_passed_over(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.unchangeable["a"] = failure(group="a")
    assert run("reset", "a", "--topic", "t:0", "--to-latest", *EXECUTE).exit_code == 1
    cluster.unchangeable.clear()
    assert f"Undoing {run_id}: reset" in run("undo").stderr
    change("reset", "a", "--all-topics", "--to-current")
    cluster.add("empty")
    change("delete", "empty")
    assert f"Undoing {run_id}: reset" in run("undo").stderr


def test_a_run_with_an_unknown_outcome_is_not_passed_over() -> None:
    reset()
    newest = reset(30)
    (path,) = (path for path in journal_files() if path.stem == newest)
    path.write_text(path.read_text().replace('"done"', '"unknown"'))
    assert f"Undoing {newest}: reset" in run("undo").stderr


@pytest.mark.parametrize(("late_min", "note", "status"), [(10, True, "unfinished"), (0, False, "undone")])
def test_a_broker_may_make_a_change_for_ten_minutes(
    cluster: FakeCluster, mocker: MockerFixture, *, late_min: int, note: bool, status: str
) -> None:
    mocker.patch("kafka_groups.commands.undo._LATE", timedelta(minutes=late_min))
    run_id = reset()
    (path,) = journal_files()
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if '"done"' not in line))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})
    outcome = run("undo", *EXECUTE)
    assert ("undo it again ten minutes after it began" in outcome.stderr) is note
    assert statuses()[run_id] == status


def test_a_damaged_record_that_may_be_the_newest_stops_an_undo_without_an_id(cluster: FakeCluster) -> None:
    older = reset()
    newest = reset(30)
    (path,) = (path for path in journal_files() if path.stem == newest)
    path.write_text("{}\n")
    cluster.changes.clear()
    outcome = run("undo", *EXECUTE)
    text = f"Error: the record of run {newest} cannot be read, and it may be the newest; give the ID of a run\n"
    assert (outcome.exit_code, outcome.stderr, changes(cluster)) == (1, text, [])
    assert f"Undoing {older}: reset" in run("undo", older).stderr


def test_a_damaged_record_of_an_older_run_is_no_obstacle() -> None:
    run_id = reset()
    (journal_files()[0].parent / "20200101-000000-a.jsonl").write_text("{}\n")
    assert f"Undoing {run_id}: reset" in run("undo").stderr


def test_a_change_that_failed_as_a_whole_needs_no_undo(cluster: FakeCluster) -> None:
    cluster.unchangeable["a"] = failure(group="a")
    assert run("reset", "a", "--topic", "t:0", "--to-latest", *EXECUTE).exit_code == 1
    outcome = run("undo", journal_files()[0].stem)
    assert (outcome.exit_code, last_line(outcome)) == (0, NOTHING)
    assert run("undo") == (1, "", NO_RUN)
