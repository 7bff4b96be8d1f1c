"""Commands that are killed (SIGKILL) between the journal and the change, and between the change and its record."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.live.groups.changes import journal_of
from tests.live.groups.clients import command_environment, open_admin, read_offsets, run_command
from tests.live.groups.members import commit_from_outside, many_simple, simple
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")
_TIMEOUT_S: Final = 60
# The program itself, which kills itself when the journal is written, or when the first outcome is to be recorded.
KILLED: Final = """
import os, signal, sys
from kafka_groups.changes.journal import JournalWriter
from kafka_groups.commands import change_run
begin_run = change_run.begin_run
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def begin_and_die(*arguments, **options):
    begin_run(*arguments, **options)
    die()
if sys.argv[1] == "before":
    change_run.begin_run = begin_and_die
else:
    JournalWriter.record = die
del sys.argv[1]
from kafka_groups.__main__ import main
main()
"""
# Arguments of a change of the group's commits on the topic.
CHANGES: Final = {
    "reset": ("--topic", "{topic}", "--to-latest"),
    "delete": (),
    "delete-offsets": ("--topic", "{topic}"),
}


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=9)


def _kill(cluster: Cluster, moment: str, home: Path, command: str, *arguments: str) -> None:
    """Run a command until it kills itself."""
    line = [sys.executable, "-c", KILLED, moment, command, "-b", cluster.bootstrap, *arguments, *EXECUTE]
    environment = {**command_environment(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(line, capture_output=True, check=False, env=environment, timeout=_TIMEOUT_S, text=True)
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, ""), killed


def _runs(cluster: Cluster, home: Path) -> list[dict[str, Any]]:
    """Return the runs of `undo --list`, newest first."""
    runs: list[dict[str, Any]] = run_command(cluster.bootstrap, "undo", "--list", "--format", "json", home=home).json[
        "runs"
    ]
    return runs


def _arguments(command: str, topic: str) -> list[str]:
    return [word.format(topic=topic) for word in CHANGES[command]]


@pytest.mark.parametrize("command", CHANGES)
def test_a_run_that_was_killed_before_its_change_is_unfinished_and_undo_finds_nothing_to_restore(
    cluster: Cluster, topic: str, tmp_path: Path, command: str
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (topic, 1, 9)]) as name:
        _kill(cluster, "before", tmp_path, command, name, *_arguments(command, topic))
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 9}
        (unfinished,) = _runs(cluster, tmp_path)
        planned = run_command(cluster.bootstrap, "undo", home=tmp_path)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 9}
    assert (unfinished["status"], unfinished["groups"]) == ("unfinished", [name])
    assert [len(planned.rows), planned.code, len(undone.rows), undone.code] == [1, 0, 1, 0]
    assert f"{'1 commit is' if command == 'reset' else '2 commits are'} as before the run already." in planned.err
    assert "A broker may still make changes of this run" in undone.err
    assert [run["status"] for run in _runs(cluster, tmp_path)] == ["unchanged", "unfinished"]


@pytest.mark.parametrize("command", CHANGES)
def test_a_run_that_was_killed_after_its_change_is_unfinished_and_undo_restores_it(
    cluster: Cluster, topic: str, tmp_path: Path, command: str
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (topic, 1, 9)]) as name:
        _kill(cluster, "after", tmp_path, command, name, *_arguments(command, topic))
        changed = read_offsets(cluster.bootstrap, name)
        assert changed == ({(topic, 0): 9, (topic, 1): 9} if command == "reset" else {})
        (unfinished,) = _runs(cluster, tmp_path)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 9}
    assert (unfinished["status"], undone.code) == ("unfinished", 0)
    assert [run["status"] for run in _runs(cluster, tmp_path)] == ["done", "undone"]


def test_of_a_run_that_was_killed_halfway_only_what_it_did_is_restored(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    with many_simple(cluster.bootstrap, 3, commits=[(topic, 0, 3), (topic, 1, 4)]) as groups:
        _kill(cluster, "before", tmp_path, "reset", *groups, "--all-topics", "--to-latest")
        # What the run would have done for the second group, and half of it for the third one.
        commit_from_outside(cluster.bootstrap, [groups[1]], [(topic, 0, 9), (topic, 1, 9)])
        commit_from_outside(cluster.bootstrap, [groups[2]], [(topic, 1, 9)])
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, "--format", "csv", home=tmp_path)
        offsets = [read_offsets(cluster.bootstrap, name) for name in groups]
    assert offsets == [{(topic, 0): 3, (topic, 1): 4}] * 3
    rows = [line.split(",") for line in undone.out.splitlines()[1:]]
    assert sorted((row[0], row[2]) for row in rows) == sorted([(groups[1], "0"), (groups[1], "1"), (groups[2], "1")])
    assert ("3 commits are as before the run already." in undone.err, undone.code) == (True, 0)


def test_a_journal_that_ends_within_a_line_is_undone_from_the_cluster(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (topic, 1, 4)]) as name:
        run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", *EXECUTE, home=tmp_path)
        (file,) = journal_of(tmp_path).iterdir()
        lines = file.read_text().splitlines(keepends=True)
        assert json.loads(lines[-1]) == {"finished": True}
        file.write_text("".join(lines[:-2]) + lines[-2][:20])
        (unfinished,) = _runs(cluster, tmp_path)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 4}
    assert (unfinished["status"], undone.code) == ("unfinished", 0)


def test_a_journal_that_cannot_be_written_stops_the_change(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    journal_of(tmp_path).parent.parent.mkdir(parents=True)
    journal_of(tmp_path).parent.write_text("not a directory")
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        for command in CHANGES:
            result = run_command(cluster.bootstrap, command, name, *_arguments(command, topic), *EXECUTE, home=tmp_path)
            assert ("nothing was changed" in result.err, result.code) == (True, 1), result.err
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
        with open_admin(cluster.bootstrap) as admin:
            assert name in admin.list_groups().all()
