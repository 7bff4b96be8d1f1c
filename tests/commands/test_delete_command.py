"""`kafka-groups delete`: groups with their commits, of consumers unless --any-type is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.plan_file import format_plan, read_plan
from tests.changes.plans import plan
from tests.commands.change_commands import (
    DRY_RUN,
    EXECUTE,
    NOTHING,
    attempt,
    changes,
    journal_files,
    last_line,
    last_run,
)
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, NAMED, NAMED_TEXT, FakeCluster, failure, member, unreachable


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add `a` with two commits, `none` without any, `busy` with a member and `workers` of Connect."""
    cluster.end("t", 100, 50)
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    cluster.add("none")
    cluster.add("busy", state="Stable", members=[member("m")])
    cluster.add("workers", protocol_type="connect")


def test_the_plan_is_a_row_for_each_group(cluster: FakeCluster) -> None:
    outcome = run("delete", "none", "a")
    assert outcome == (0, "GROUP  STATUS\na      planned\nnone   planned\n", f"2 groups with 2 commits.\n{DRY_RUN}\n")
    assert (changes(cluster), journal_files()) == ([], [])


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("csv", "GROUP,STATUS\na,planned\n"),
        ("ndjson", NAMED_TEXT + '"group": "a", "note": null, "status": "planned"}\n'),
    ],
)
def test_formats_for_programs_have_the_same_rows(output: str, text: str) -> None:
    assert run("delete", "a", "--format", output, "--dry-run") == (0, text, f"1 group with 2 commits.\n{NOTHING}\n")


def test_json_has_the_commits_that_are_lost() -> None:
    (group,) = json.loads(run("delete", "a", "--format", "json").stdout)["groups"]
    commits = [{"topic": "t", "partition": at, "committed_offset": offset} for at, offset in enumerate((60, 7))]
    assert group == {**NAMED, "group": "a", "note": None, "status": "planned", "offsets": commits}


def test_execute_deletes_all_groups_with_one_call_and_records_their_commits(cluster: FakeCluster) -> None:
    outcome = run("delete", "a", "none", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  STATUS\na      done\nnone   done\n")
    assert [change.argument for change in cluster.changes] == [["a", "none"]]
    assert "a" not in cluster.descriptions
    recorded = last_run()
    assert recorded.command == "delete"
    assert [change.committed_offset for change in recorded.plan.changes] == [60, 7, None]
    assert last_line(outcome).endswith("takes it back.")


def test_a_run_without_commits_cannot_be_taken_back() -> None:
    outcome = run("delete", "none", *EXECUTE)
    (path,) = journal_files()
    assert last_line(outcome) == f"Recorded as {path.stem} in {path.parent}; it cannot be undone."


def test_commits_on_topics_that_do_not_exist_are_a_note_because_undo_cannot_restore_them(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 60, ("gone", 0): 7})
    outcome = run("delete", "a", *EXECUTE)
    note = "1 commit is on a topic that no longer exists; undo cannot restore what is deleted of it."
    assert (outcome.exit_code, outcome.stderr.splitlines()[0]) == (0, note)


def test_refused_groups_are_exit_3_and_the_others_are_deleted(cluster: FakeCluster) -> None:
    outcome = run("delete", "a", "busy", "absent", "workers", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (3, "GROUP  STATUS\na      done\n")
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("Error: ")]
    assert sorted(error.rpartition(" ")[2] for error in errors) == [
        "(GROUP_ID_NOT_FOUND)",
        "(NON_EMPTY_GROUP)",
        "(REFUSED)",
    ]
    assert any("--any-type deletes groups of every type" in error for error in errors)
    assert "workers" in cluster.listings


@pytest.mark.parametrize("group", ["busy", "absent", "workers"])
def test_a_group_that_is_refused_alone_is_exit_1(cluster: FakeCluster, group: str) -> None:
    outcome = run("delete", group, *EXECUTE)
    assert (outcome.exit_code, outcome.stdout, last_line(outcome)) == (1, "", attempt())
    assert (changes(cluster), last_run().other_groups) == ([], (group,))


def test_any_type_deletes_a_group_of_connect_workers(cluster: FakeCluster) -> None:
    outcome = run("delete", "workers", "--any-type", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP    STATUS\nworkers  done\n")
    assert "workers" not in cluster.listings


def test_a_group_that_the_broker_refuses_is_failed_with_its_message(cluster: FakeCluster) -> None:
    cluster.unchangeable["a"] = failure("NON_EMPTY_GROUP", code=68, group="a")
    outcome = run("delete", "a", "none", *EXECUTE, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (3, "GROUP,STATUS\na,failed\nnone,done\n")
    assert "Error: group 'a': refused (NON_EMPTY_GROUP)\n" in outcome.stderr


@pytest.mark.parametrize(
    ("narrowing", "names"),
    [
        (("--all-groups", "--state", "Empty"), ["a", "none"]),
        (("--match", "a|busy", "--state", "empty"), ["a"]),
        (("--all-groups", "--type", "Classic", "--exclude", "n.*|busy"), ["a"]),
    ],
)
def test_states_types_and_patterns_narrow_the_groups(narrowing: tuple[str, ...], names: list[str]) -> None:
    outcome = run("delete", *narrowing, "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()[1:]] == names
    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "no group is selected"),
        (("a", "--all-groups"), "--all-groups contradicts named groups"),
        (("a", "--from-file", "/nonexistent"), "cannot read /nonexistent: No such file or directory"),
        (("a", "--execute"), "--execute needs --yes here"),
    ],
)
def test_usage_errors(cluster: FakeCluster, arguments: tuple[str, ...], text: str) -> None:
    outcome = run("delete", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert text in outcome.stderr
    assert changes(cluster) == []


def test_a_plan_is_exported_and_executed_later(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan"
    outcome = run("delete", "a", "--export", str(file))
    assert f"The plan was written to {file}." in outcome.stderr
    assert {change.action for change in read_plan(file.read_text(), name="f").changes} == {Action.DELETE_GROUP}
    assert run("delete", "--from-file", str(file), *EXECUTE).exit_code == 0
    assert "a" not in cluster.listings


def test_a_dash_prints_the_plan_in_place_of_the_table() -> None:
    assert len(read_plan(run("delete", "a", "--export", "-").stdout, name="f").changes) == 2


def test_a_group_of_a_plan_that_has_new_commits_is_refused_unless_forced(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan"
    run("delete", "a", "--export", str(file))
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7, ("t", 2): 1})
    outcome = run("delete", "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])
    assert outcome.stderr.count("its commits have changed since the plan") == 1
    assert run("delete", "--from-file", str(file), "--force", *EXECUTE).exit_code == 0


@pytest.mark.parametrize("extra", [(), ("--all-groups",), ("--state", "Empty")])
@pytest.mark.parametrize("rows", [(), (Change(Action.COMMIT, "a", "t", 0, 60, new_offset=1),)])
def test_a_plan_without_a_row_for_the_command_means_no_group(
    cluster: FakeCluster, tmp_path: Path, extra: tuple[str, ...], rows: tuple[Change, ...]
) -> None:
    file = tmp_path / "plan"
    file.write_text(format_plan(plan(*rows, cluster_id=CLUSTER_ID)))
    outcome = run("delete", "--from-file", str(file), *extra, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, attempt(), [])


def test_a_plan_of_another_cluster_is_refused(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan"
    file.write_text(format_plan(plan(Change(Action.DELETE_GROUP, "a"), cluster_id="other")))
    outcome = run("delete", "--from-file", str(file), *EXECUTE, "--format", "json")
    assert (outcome.exit_code, changes(cluster)) == (2, [])
    document = json.loads(outcome.stdout)
    assert (document["status"], [error["name"] for error in document["errors"]]) == ("failed", ["REFUSED"])
    assert "is a plan of cluster other, and this is fake; nothing was changed" in outcome.stderr


def test_an_unreachable_cluster_is_one_error(cluster: FakeCluster) -> None:
    cluster.refuse(unreachable())
    outcome = run("delete", "a", *EXECUTE, "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["errors"][0]["name"]) == (1, "CONNECTION_FAILED")
