"""`kafka-groups undo`: what is restored, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.changes.plan_file import read_plan
from kafka_groups.model import CommittedOffset
from tests.commands.change_commands import (
    DRY_RUN,
    EXECUTE,
    attempt,
    changes,
    committed,
    last_line,
)
from tests.commands.recorded_changes import add_group, change, reset, statuses
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member, unreachable


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    add_group(cluster)


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


def test_an_undo_is_taken_back_by_its_id(cluster: FakeCluster) -> None:
    reset()
    undo_id = change("undo")
    assert run("undo", undo_id, *EXECUTE).exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 20


def test_a_second_undo_of_one_run_changes_nothing(cluster: FakeCluster) -> None:
    run_id = reset()
    run("undo", run_id, *EXECUTE)
    cluster.changes.clear()
    outcome = run("undo", run_id, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, attempt(), [])


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
    assert (
        "Error: group 'a', partition t-0: it has moved since: the run left 100, and it is 99 now (REFUSED)"
        in outcome.stderr
    )
    assert [line.rpartition(",")[2] for line in outcome.stdout.splitlines()[1:]] == ["refused", "done"]
    assert statuses()[run_id] == "partly undone"


def test_a_group_with_members_is_refused(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.add("a", state="Stable", members=[member("m")], commits={("t", 0): 20, ("t", 1): 7})
    outcome = run("undo", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout, last_line(outcome)) == (1, "", attempt())
    assert (committed(cluster, "a")[("t", 0)], statuses()[run_id]) == (20, "done")
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
