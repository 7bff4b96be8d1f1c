"""`kafka-groups undo`: which run is taken back, what is printed, and the list of runs."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.plan_file import read_plan
from kafka_groups.model import CommittedOffset
from tests.commands.change_commands import (
    DRY_RUN,
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

NO_RUN = "Error: no recorded change of cluster fake can be undone; see kafka-groups undo --list\n"


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    """Add `a` with two commits on `t`, whose logs are 10 to 100 and 0 to 50."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})


def change(*arguments: str) -> str:
    """Execute a change, and return the ID of its run."""
    known = {path.stem for path in journal_files()}
    outcome = run(*arguments, *EXECUTE)
    assert outcome.exit_code == 0, outcome.stderr
    (new,) = {path.stem for path in journal_files()} - known
    return new


def reset(to: int = 20) -> str:
    """Reset partition 0, and return the ID of the run."""
    return change("reset", "a", "--topic", "t:0", "--to-offset", str(to))


def statuses() -> dict[str, str]:
    """Return the status of each run."""
    lines = run("undo", "--list", "--format", "ndjson", bootstrap=None).stdout.splitlines()
    return {row["id"]: row["status"] for row in map(json.loads, lines)}


def test_the_plan_says_which_run_it_takes_back(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.changes.clear()
    outcome = run("undo", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (0, ["a,t,0,20,60,40,,planned"])
    lines = outcome.stderr.splitlines()
    assert lines[0].startswith(f"Undoing {run_id}: reset, 2")
    assert lines[0].endswith(" UTC.")
    assert lines[1:] == [
        "Restored commits have the time of this undo, not their old commit times.",
        "1 group, 1 partition, 0 records to read again, 40 records to skip.",
        DRY_RUN,
    ]
    assert (changes(cluster), statuses()) == ([], {run_id: "done"})


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv"])
def test_execute_restores_offset_epoch_and_metadata(cluster: FakeCluster, output: str) -> None:
    run_id = reset()
    outcome = run("undo", *EXECUTE, "--format", output)
    assert outcome.exit_code == 0
    assert "done" in outcome.stdout
    assert cluster.offsets["a"][("t", 0)] == CommittedOffset(60, 3, "note")
    assert statuses()[run_id] == "undone"
    assert last_line(outcome).endswith("takes it back.")


@pytest.mark.parametrize(
    "arguments",
    [("delete", "a"), ("delete-offsets", "a", "--topic", "t"), ("reset", "a", "--all-topics", "--to-latest")],
)
def test_each_command_is_taken_back(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    run_id = change(*arguments)
    assert run("undo", run_id, *EXECUTE).exit_code == 0
    assert committed(cluster, "a") == {("t", 0): 60, ("t", 1): 7}


def test_a_created_commit_is_deleted(cluster: FakeCluster) -> None:
    change("reset", "new", "--topic", "t:0", "--to-latest", "--create")
    outcome = run("undo", *EXECUTE, "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["new,t,0,100,,,deletes the commit: there was none before,done"]
    assert "1 commit to delete" in outcome.stderr
    assert committed(cluster, "new") == {}


def test_the_start_of_an_id_is_enough() -> None:
    run_id = reset()
    assert run("undo", run_id[:-2]).exit_code == 0


def test_runs_are_taken_back_one_after_the_other(cluster: FakeCluster) -> None:
    reset(20)
    reset(30)
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 20]
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 60]
    assert run("undo", *EXECUTE) == (1, "", NO_RUN)


def test_an_undo_is_taken_back_by_its_id(cluster: FakeCluster) -> None:
    reset()
    undo_id = change("undo")
    assert run("undo", undo_id, *EXECUTE).exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 20


def test_members_that_were_removed_are_passed_over(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.add("b", state="Stable", members=[member("m")])
    removal = change("remove-members", "-g", "b", "--all")
    assert f"Undoing {run_id}: reset" in run("undo").stderr
    outcome = run("undo", removal, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome)) == (0, NOTHING)
    assert "Removed members are not restored" in outcome.stderr
    assert statuses()[removal] == "done"


def test_a_second_undo_of_one_run_changes_nothing(cluster: FakeCluster) -> None:
    run_id = reset()
    run("undo", run_id, *EXECUTE)
    cluster.changes.clear()
    outcome = run("undo", run_id, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, NOTHING, [])


def test_a_commit_that_was_restored_by_hand_marks_the_run_as_undone(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})
    assert run("undo").exit_code == 0
    assert statuses()[run_id] == "done"
    assert run("undo", *EXECUTE).exit_code == 0
    assert statuses()[run_id] == "undone"


def test_a_commit_that_has_moved_is_refused_and_the_others_are_restored(cluster: FakeCluster) -> None:
    run_id = change("reset", "a", "--topic", "t", "--to-latest")
    cluster.add("a", commits={("t", 0): 99, ("t", 1): 50})
    outcome = run("undo", *EXECUTE, "--format", "csv")
    assert (outcome.exit_code, committed(cluster, "a")) == (3, {("t", 0): 99, ("t", 1): 7})
    assert "Error: group 'a', partition t-0: it has moved since: the run left 100 (REFUSED)" in outcome.stderr
    assert [line.rpartition(",")[2] for line in outcome.stdout.splitlines()[1:]] == ["refused", "done"]
    assert statuses()[run_id] == "done"


def test_a_group_with_members_is_refused(cluster: FakeCluster) -> None:
    reset()
    cluster.add("a", state="Stable", members=[member("m")], commits={("t", 0): 20, ("t", 1): 7})
    outcome = run("undo", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout, last_line(outcome), len(journal_files())) == (1, "", NOTHING, 1)
    assert "it is Stable with 1 member on 10.0.0.1; stop its consumers first (NON_EMPTY_GROUP)" in outcome.stderr


@pytest.mark.parametrize(
    ("run_id", "text"),
    [
        ("", "'' is not the id of a run; `kafka-groups undo --list` lists the ids"),
        ("../x", "'../x' is not the id of a run"),
        ("2020", "there is no run '2020' in "),
        ("2", "2 runs have ids that start with '2'"),
    ],
)
@pytest.mark.parametrize("output", ["table", "json"])
def test_an_id_that_names_no_run_is_exit_1(cluster: FakeCluster, run_id: str, text: str, output: str) -> None:
    reset(20)
    reset(30)
    cluster.changes.clear()
    outcome = run("undo", run_id, *EXECUTE, "--format", output)
    assert (outcome.exit_code, changes(cluster)) == (1, [])
    assert text in outcome.stderr
    assert outcome.stdout == "" or json.loads(outcome.stdout)["status"] == "failed"


def test_a_run_of_another_cluster_is_an_error(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.admin.cluster_id.side_effect = lambda **_: "other"
    outcome = run("undo", run_id, *EXECUTE)
    text = f"Error: {run_id} changed cluster fake, and this is other; name its brokers with -b\n"
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", text)
    assert run("undo").exit_code == 1


def test_an_unreachable_cluster_is_one_error(cluster: FakeCluster) -> None:
    reset()
    cluster.refuse(unreachable())
    outcome = run("undo", *EXECUTE, "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["errors"][0]["name"]) == (1, "CONNECTION_FAILED")


def test_the_plan_is_exported(tmp_path: Path) -> None:
    reset()
    run("undo", "--export", str(tmp_path / "plan"))
    (exported,) = read_plan((tmp_path / "plan").read_text(), name="f").changes
    assert (exported.before, exported.after) == (CommittedOffset(20, None, ""), CommittedOffset(60, 3, "note"))


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
