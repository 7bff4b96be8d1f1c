"""`kafka-groups undo` without an ID takes the newest run, or reports why not, and never an older one in its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kafka_groups.model import CommittedOffset
from tests.commands.change_commands import EXECUTE, answer, attempt, changes, committed, journal_files, last_line
from tests.commands.recorded_changes import NO_RUN, add_group, change, reset, statuses
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster, failure, member, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

ONE = ("reset", "a", "--topic", "t:0")


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add `a` with two commits, `busy` with a member, and `none` without a commit."""
    add_group(cluster)
    cluster.add("busy", state="Stable", members=[member("m")])
    cluster.add("none")


def newest() -> str:
    """Return the ID of the newest run."""
    return next(iter(statuses()))


def refusal(cluster: FakeCluster, *arguments: str) -> str:
    """Return the error of an undo without an ID, which neither restores nor records anything."""
    cluster.changes.clear()
    known = journal_files()
    outcome = run("undo", *EXECUTE, *arguments)
    assert (outcome.exit_code, outcome.stdout, changes(cluster), journal_files()) == (1, "", [], known)
    return outcome.stderr


def test_runs_are_taken_back_one_after_the_other(cluster: FakeCluster) -> None:
    reset(20)
    reset(30)
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 20]
    assert [run("undo", *EXECUTE).exit_code, committed(cluster, "a")[("t", 0)]] == [0, 60]
    assert refusal(cluster) == NO_RUN


def fail(cluster: FakeCluster) -> Outcome:
    """Execute a change that the broker refuses."""
    cluster.unchangeable["a"] = failure(group="a")
    outcome = run(*ONE, "--to-latest", *EXECUTE)
    cluster.unchangeable.clear()
    return outcome


def repeat(_cluster: FakeCluster) -> Outcome:
    """Commit the offsets that are committed already."""
    return run("reset", "a", "--all-topics", "--to-current", *EXECUTE)


def shift_nothing(_cluster: FakeCluster) -> Outcome:
    """Plan rows that are all refused, because there is no commit to start from."""
    return run("reset", "none", "--topic", "t", "--shift-by", "1", *EXECUTE)


def name_no_topic(_cluster: FakeCluster) -> Outcome:
    """Name a topic that does not exist."""
    return run("reset", "a", "--topic", "typo", "--to-latest", *EXECUTE)


def select_nothing(_cluster: FakeCluster) -> Outcome:
    """Select groups by a pattern that matches none."""
    return run("reset", "--match", "x", "--all-topics", "--to-latest", *EXECUTE)


ATTEMPTS = [
    pytest.param(fail, 1, "failed", id="failed"),
    pytest.param(repeat, 0, "unchanged", id="unchanged"),
    pytest.param(shift_nothing, 1, "unchanged", id="refused"),
    pytest.param(name_no_topic, 1, "failed", id="absent topic"),
    pytest.param(select_nothing, 0, "unchanged", id="no group"),
]
Attempt = Callable[[FakeCluster], Outcome]


@pytest.mark.parametrize(("execute", "code", "status"), ATTEMPTS)
def test_a_newest_run_that_changed_nothing_is_reported_and_the_run_before_it_needs_its_id(
    cluster: FakeCluster, execute: Attempt, code: int, status: str
) -> None:
    before = reset()
    assert execute(cluster).exit_code == code
    text = refusal(cluster)
    assert text.startswith(f"Error: the newest run, {newest()} (reset, {status}, 2")
    assert f" UTC), changed nothing; the run before it that can be undone is {before} (reset, done, 2" in text
    assert text.endswith(" UTC); give the ID of a run to undo it\n")
    assert run("undo", before, *EXECUTE).exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 60


@pytest.mark.parametrize(
    "arguments", [("reset", "busy", "--topic", "t", "--to-latest"), ("delete", "busy"), ("delete", "absent")]
)
def test_a_newest_run_of_which_every_group_was_refused_is_reported(
    cluster: FakeCluster, arguments: tuple[str, ...]
) -> None:
    before = reset()
    assert last_line(run(*arguments, *EXECUTE)) == attempt()
    text = refusal(cluster)
    assert text.startswith(f"Error: the newest run, {newest()} ({arguments[0]}, ")
    assert f"changed nothing; the run before it that can be undone is {before} " in text


def test_a_run_that_was_declined_at_the_prompt_is_reported(cluster: FakeCluster, mocker: MockerFixture) -> None:
    before = reset()
    outcome = answer(mocker, "n\n", *ONE, "--to-latest", "--execute")
    assert (outcome.exit_code, outcome.stderr.endswith(f"{attempt()}\n")) == (1, True)
    assert refusal(cluster).startswith(f"Error: the newest run, {newest()} (reset, unchanged, ")
    assert f"Undoing {before}: reset" in run("undo", before).stderr


def test_an_error_of_the_planning_is_recorded_and_reported(cluster: FakeCluster) -> None:
    before = reset()
    cluster.admin.list_offsets.side_effect = unreachable()
    outcome = run(*ONE, "--to-latest", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "Error: no broker responded at b1:9092; is it running?" in outcome.stderr.splitlines()
    assert statuses() == {newest(): "failed", before: "done"}
    assert refusal(cluster).startswith(f"Error: the newest run, {newest()} (reset, failed, ")


def test_a_run_that_changed_nothing_and_has_none_before_it_is_reported_alone(cluster: FakeCluster) -> None:
    fail(cluster)
    text = refusal(cluster)
    assert text.endswith(" UTC), changed nothing; give the ID of a run to undo it\n")
    outcome = run("undo", newest())
    assert (outcome.exit_code, last_line(outcome)) == (0, "Nothing was changed.")


def test_a_plan_that_was_not_executed_is_no_run() -> None:
    before = reset()
    run(*ONE, "--to-latest")
    run(*ONE, "--to-latest", "--dry-run")
    assert [path.stem for path in journal_files()] == [before]
    assert f"Undoing {before}: reset" in run("undo").stderr


def test_a_removal_of_members_is_reported_and_the_run_before_it_needs_its_id(cluster: FakeCluster) -> None:
    before = reset()
    removal = change("remove-members", "-g", "busy", "--all")
    text = refusal(cluster)
    assert text.startswith(f"Error: the newest run, {removal} (remove-members, done, ")
    assert "removed members, which cannot be undone" in text
    assert f"; the run before it that can be undone is {before} (reset, done, " in text
    outcome = run("undo", removal, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome)) == (0, attempt())
    assert "Removed members are not restored" in outcome.stderr
    assert statuses()[removal] == "done"


def test_a_deletion_of_a_group_without_commits_is_reported(cluster: FakeCluster) -> None:
    before = reset()
    deletion = change("delete", "none")
    text = refusal(cluster)
    assert text.startswith(f"Error: the newest run, {deletion} (delete, done, ")
    assert "changed no commit, so nothing can be restored" in text
    assert f"the run before it that can be undone is {before} " in text


def test_a_run_that_is_partly_undone_is_reported_and_its_id_undoes_the_rest(cluster: FakeCluster) -> None:
    before = reset()
    partly = change("reset", "a", "--topic", "t", "--to-latest")
    cluster.add("a", commits={("t", 0): 99, ("t", 1): 50})
    assert run("undo", *EXECUTE).exit_code == 3
    text = refusal(cluster)
    assert text.startswith(f"Error: the newest run, {partly} (reset, partly undone, ")
    assert f" UTC), is partly undone; the run before it that can be undone is {before} " in text
    assert run("undo", partly, "--force", *EXECUTE).exit_code == 0
    assert (committed(cluster, "a"), statuses()[partly]) == ({("t", 0): 20, ("t", 1): 7}, "undone")
    assert f"Undoing {before}: reset" in run("undo").stderr


def test_a_run_with_an_unknown_outcome_is_taken() -> None:
    reset()
    run_id = reset(30)
    (path,) = (path for path in journal_files() if path.stem == run_id)
    path.write_text(path.read_text().replace('"done"', '"unknown"'))
    assert f"Undoing {run_id}: reset" in run("undo").stderr


def test_a_run_through_other_servers_needs_its_id(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.admin.bootstrap_servers = ("staging:9092",)
    assert refusal(cluster) == (
        f"Error: run {run_id} changed a cluster with this id through b1:9092, and this is staging:9092; "
        "if it is the same cluster, give the ID of the run\n"
    )
    assert run("undo", run_id, *EXECUTE).exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 60


def test_one_server_of_the_run_is_enough(cluster: FakeCluster) -> None:
    run_id = reset()
    cluster.admin.bootstrap_servers = ("staging:9092", "B1:9092")
    assert f"Undoing {run_id}: reset" in run("undo").stderr


def test_a_run_of_an_earlier_version_needs_its_id(cluster: FakeCluster) -> None:
    run_id = reset()
    (path,) = journal_files()
    head = {"id": run_id, "command": "reset", "cluster_id": "fake", "created_at": "2026-01-02T03:04:05Z"}
    old = [
        {"schema": "kafka-groups/journal/1", **head, "undoes": None, "changes": 1},
        {"action": "commit", "group": "a", "topic": "t", "rows": [[0, 60, 3, "note", 20, None, "", None, None]]},
        {"changes": [0, 0], "status": "done"},
        {"finished": True},
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in old))
    text = f"Error: run {run_id} was recorded without an order, by an earlier version; give its ID to undo it\n"
    assert refusal(cluster) == text
    outcome = run("undo", run_id, *EXECUTE)
    assert (outcome.exit_code, statuses()[run_id]) == (0, "undone")
    assert cluster.offsets["a"][("t", 0)] == CommittedOffset(60, 3, "note")


def test_a_damaged_record_that_may_be_the_newest_stops_an_undo_without_an_id(cluster: FakeCluster) -> None:
    older, damaged = reset(), reset(30)
    (path,) = (path for path in journal_files() if path.stem == damaged)
    path.write_text("{}\n")
    assert refusal(cluster) == (
        f"Error: the record of run {damaged} cannot be read, and it may be the newest; give the ID of a run\n"
    )
    assert f"Undoing {older}: reset" in run("undo", older).stderr


def test_a_damaged_record_of_an_older_run_is_no_obstacle() -> None:
    run_id = reset()
    (journal_files()[0].parent / "20200101-000000-a.jsonl").write_text("{}\n")
    assert f"Undoing {run_id}: reset" in run("undo").stderr


def test_a_refusal_to_choose_is_an_error_of_the_document(cluster: FakeCluster) -> None:
    fail(cluster)
    outcome = run("undo", *EXECUTE, "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (1, "failed")
    assert [error["name"] for error in document["errors"]] == ["REFUSED"]
    assert document["errors"][0]["message"].startswith(f"the newest run, {newest()} (reset, failed, ")
