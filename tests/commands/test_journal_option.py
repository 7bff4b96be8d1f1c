"""`--journal`: a journal in another place, which several users may share; and `undo --prune`, which removes records."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.commands.change_commands import DRY_RUN, EXECUTE, changes, committed, journal_files, last_line
from tests.commands.recorded_changes import add_group
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster, member, unreachable

RESET = ("reset", "a", "--topic", "t:0", "--to-offset", "20")
COMMANDS = pytest.mark.parametrize(
    "command",
    [
        RESET,
        ("delete", "a"),
        ("delete-offsets", "a", "--topic", "t"),
        ("remove-members", "--group", "busy", "--all"),
    ],
)


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add `a` with two commits, and `busy` with a member."""
    add_group(cluster)
    cluster.add("busy", state="Stable", members=[member("m")])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return the path of a journal that does not exist yet."""
    return tmp_path / "team" / "journal"


@pytest.fixture
def umask() -> Iterator[None]:
    """Let this process create files that the user's group may write."""
    before = os.umask(0o002)
    yield
    os.umask(before)


def records(directory: Path) -> list[str]:
    """Return the IDs of the runs in a journal, oldest first."""
    return sorted(path.stem for path in directory.glob("*.jsonl"))


def execute(directory: Path, *arguments: str) -> tuple[str, Outcome]:
    """Execute a change with a journal, and return the ID of its run."""
    known = set(records(directory))
    outcome = run(*arguments, *EXECUTE, "--journal", str(directory))
    (new,) = set(records(directory)) - known
    return new, outcome


@COMMANDS
def test_a_change_is_recorded_in_the_journal_that_is_named(directory: Path, command: tuple[str, ...]) -> None:
    run_id, outcome = execute(directory, *command)
    assert (outcome.exit_code, journal_files()) == (0, [])
    assert last_line(outcome).startswith(f"Recorded as {run_id} in {directory}; ")


@COMMANDS
def test_an_attempt_is_recorded_in_the_journal_that_is_named(
    cluster: FakeCluster, directory: Path, command: tuple[str, ...]
) -> None:
    cluster.listings.clear()
    cluster.descriptions.clear()
    cluster.offsets.clear()
    run_id, outcome = execute(directory, *command)
    assert (outcome.exit_code, changes(cluster), journal_files()) == (1, [], [])
    assert last_line(outcome) == f"Nothing was changed; the attempt is recorded as {run_id} in {directory}."


def test_without_execute_nothing_is_recorded(directory: Path) -> None:
    assert last_line(run(*RESET, "--journal", str(directory))) == DRY_RUN
    assert not directory.exists()


@pytest.mark.parametrize("name", ["journal", "two words", "it's"])
def test_the_last_line_is_a_command_that_takes_the_change_back(cluster: FakeCluster, tmp_path: Path, name: str) -> None:
    run_id, outcome = execute(tmp_path / name, *RESET)
    _, text, _ = last_line(outcome).split("`")
    program, *arguments = shlex.split(text)
    assert (program, arguments) == ("kafka-groups", ["undo", run_id, "--journal", str(tmp_path / name)])
    assert run(*arguments, *EXECUTE).exit_code == 0
    assert committed(cluster, "a")[("t", 0)] == 60
    assert len(records(tmp_path / name)) == 2


def test_the_environment_names_a_journal_and_the_last_line_does_not_repeat_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_JOURNAL", str(directory))
    outcome = run(*RESET, *EXECUTE)
    (run_id,) = records(directory)
    assert last_line(outcome) == f"Recorded as {run_id} in {directory}; `kafka-groups undo {run_id}` takes it back."
    assert run("undo", run_id, *EXECUTE).exit_code == 0


def test_a_relative_path_is_reported_as_an_absolute_one(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*RESET, *EXECUTE, "--journal", "team/journal")
    (run_id,) = records(directory)
    assert last_line(outcome).startswith(f"Recorded as {run_id} in {directory}; ")


@pytest.mark.parametrize("is_environment", [False, True])
def test_an_undo_needs_the_id_because_another_user_may_have_made_the_newest_run(
    cluster: FakeCluster, directory: Path, monkeypatch: pytest.MonkeyPatch, is_environment: bool
) -> None:
    execute(directory, *RESET)
    cluster.changes.clear()
    if is_environment:
        monkeypatch.setenv("KAFKA_GROUPS_JOURNAL", str(directory))
    outcome = run("undo", *EXECUTE, *(() if is_environment else ("--journal", str(directory))))
    assert (outcome.exit_code, outcome.stdout, changes(cluster)) == (2, "", [])
    assert "several users may share --journal: give the ID of a run; undo --list lists the IDs" in outcome.stderr


def test_an_id_is_of_the_journal_that_is_named(directory: Path) -> None:
    run_id, _ = execute(directory, *RESET)
    outcome = run("undo", run_id, *EXECUTE)
    assert outcome.exit_code == 1
    assert f"there is no run '{run_id}' in " in outcome.stderr


def test_the_list_of_a_shared_journal_has_users_and_hosts(directory: Path) -> None:
    run_id, _ = execute(directory, *RESET)
    header, line = run("undo", "--list", "--journal", str(directory), bootstrap=None).stdout.splitlines()
    columns = ["ID", "TIME", "COMMAND", "CLUSTER", "GROUPS", "USER", "HOST", "ROWS", "STATUS"]
    assert header.split() == columns
    user, host = getpass.getuser(), socket.gethostname()
    assert line.split()[0] == run_id
    assert line.split()[2:] == ["reset", "fake", "a", user, host, "1", "done", "done"]
    listed = run("undo", "--list", "--journal", str(directory), "--format", "csv", bootstrap=None)
    assert listed.stdout.splitlines()[0].split(",") == columns


@pytest.mark.parametrize("is_shared", [False, True])
def test_json_has_users_and_hosts_of_every_journal(directory: Path, is_shared: bool) -> None:
    options = ("--journal", str(directory)) if is_shared else ()
    run(*RESET, *EXECUTE, *options)
    (row,) = json.loads(run("undo", "--list", *options, "--format", "json", bootstrap=None).stdout)["runs"]
    assert (row["user"], row["host"]) == (getpass.getuser(), socket.gethostname())


def test_the_list_of_the_users_own_journal_has_neither_users_nor_hosts() -> None:
    run(*RESET, *EXECUTE)
    header = run("undo", "--list", bootstrap=None).stdout.splitlines()[0]
    assert header.split() == ["ID", "TIME", "COMMAND", "CLUSTER", "GROUPS", "ROWS", "STATUS"]


@pytest.mark.usefixtures("umask")
def test_the_umask_decides_who_may_use_a_shared_journal(directory: Path) -> None:
    run_id, _ = execute(directory, *RESET)
    assert stat.S_IMODE((directory / f"{run_id}.jsonl").stat().st_mode) == 0o664
    assert [stat.S_IMODE(each.stat().st_mode) for each in (directory, directory.parent)] == [0o775, 0o775]


def test_a_journal_that_cannot_be_written_stops_the_change(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no directory")
    outcome = run(*RESET, *EXECUTE, "--journal", str(file))
    assert (outcome.exit_code, changes(cluster)) == (1, [])
    assert f"cannot write the journal in {file}: " in outcome.stderr
    assert "; nothing was changed; " in outcome.stderr


@COMMANDS
def test_a_journal_without_a_name_is_a_usage_error(cluster: FakeCluster, command: tuple[str, ...]) -> None:
    outcome = run(*command, *EXECUTE, "--journal", "")
    assert (outcome.exit_code, outcome.stdout, changes(cluster)) == (2, "", [])
    assert "--journal needs the name of a directory" in outcome.stderr


@pytest.mark.parametrize("address", ["nonsense://bucket/journal", "s3:/bucket/x", "nonsense:/x", "s3:x"])
def test_an_address_of_no_store_is_a_usage_error_before_anything_is_changed(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run(*RESET, *EXECUTE, "--journal", address)
    assert (outcome.exit_code, changes(cluster)) == (2, [])
    assert "Error: --journal: " in outcome.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--list",), ("--prune", "90d")])
def test_a_named_journal_that_does_not_exist_is_an_error_for_commands_that_read_it(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    outcome = run("undo", *arguments, "--journal", str(tmp_path / "typo"))
    assert outcome.exit_code == 1
    assert f"--journal: {tmp_path}/typo does not exist; check the path" in outcome.stderr


def aged(directory: Path, days: float, *arguments: str) -> str:
    """Execute a change that a journal shows as some days old, and return the ID of its run."""
    run_id, _ = execute(directory, *arguments)
    path = directory / f"{run_id}.jsonl"
    head, *lines = path.read_text().splitlines(keepends=True)
    document = json.loads(head)
    document["created_at"] = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.write_text(f"{json.dumps(document)}\n{''.join(lines)}")
    return run_id


def prune(directory: Path, *arguments: str) -> Outcome:
    """Remove old records of a journal, without a cluster."""
    return run("undo", "--prune", *arguments, "--journal", str(directory), bootstrap=None)


def test_records_that_are_older_are_removed_and_the_others_stay(cluster: FakeCluster, directory: Path) -> None:
    aged(directory, 100, *RESET)
    aged(directory, 91, "reset", "a", "--topic", "t:0", "--to-offset", "30")
    kept = aged(directory, 89, "reset", "a", "--topic", "t:0", "--to-offset", "40")
    cluster.refuse(unreachable())
    assert prune(directory, "90d") == (0, "", f"2 records in {directory} were removed.\n")
    assert records(directory) == [kept]
    assert prune(directory, "90d").stderr == f"0 records in {directory} were removed.\n"
    assert prune(directory, "1h").stderr == f"1 record in {directory} was removed.\n"
    assert records(directory) == []


def test_a_dry_run_only_counts_the_records(directory: Path) -> None:
    run_id = aged(directory, 100, *RESET)
    assert prune(directory, "90d", "--dry-run") == (0, "", f"1 record in {directory} would be removed.\n")
    assert prune(directory, "101d", "--dry-run").stderr == f"0 records in {directory} would be removed.\n"
    assert records(directory) == [run_id]


def test_an_undo_stays_as_long_as_the_run_that_it_undid(directory: Path) -> None:
    undone = aged(directory, 1, *RESET)
    undo_id = aged(directory, 100, "undo", undone)
    assert prune(directory, "90d").stderr == f"0 records in {directory} were removed.\n"
    assert set(records(directory)) == {undone, undo_id}


def test_records_of_the_users_own_journal_are_removed_without_an_option() -> None:
    run(*RESET, *EXECUTE)
    (path,) = journal_files()
    outcome = run("undo", "--prune", "1d", bootstrap=None)
    assert outcome == (0, "", f"0 records in {path.parent} were removed.\n")
    outcome = run("undo", "--prune", "0s", bootstrap=None)
    assert (outcome.exit_code, outcome.stderr, journal_files()) == (0, f"1 record in {path.parent} was removed.\n", [])


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (("20260101-000000-a",), "--prune only removes records; an ID, --execute, --export and --force contradict it"),
        (EXECUTE, "--prune only removes records"),
        (("--export", "-"), "--prune only removes records"),
        (("--force",), "--prune only removes records"),
        (("--list",), "--list contradicts --prune: give one or the other"),
    ],
)
def test_prune_contradicts_options_of_a_change(directory: Path, extra: tuple[str, ...], text: str) -> None:
    run_id = aged(directory, 100, *RESET)
    outcome = prune(directory, "90d", *extra)
    assert (outcome.exit_code, outcome.stdout, records(directory)) == (2, "", [run_id])
    assert text in outcome.stderr


@pytest.mark.parametrize("age", ["", "90", "old", "-1d", "101y", "99999d"])
def test_an_age_that_is_no_duration_is_a_usage_error(directory: Path, age: str) -> None:
    run_id = aged(directory, 100, *RESET)
    outcome = prune(directory, age)
    assert (outcome.exit_code, outcome.stdout, records(directory)) == (2, "", [run_id])
    assert "Error: --prune: " in outcome.stderr
