"""Changes that a signal, a closed pipe or a full disk interrupts: outcomes are recorded, and errors are printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.changes.journal_location import open_journal
from kafka_groups.changes.runs import list_runs
from kafka_groups.protocol import Struct
from tests.commands.change_commands import EXECUTE, attempt, last_run, recorded_statuses
from tests.fakes.command_line import Outcome, run
from tests.fakes.reactions import Reaction, plain
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

# It starts processes, and sends them signals.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scripted() -> Iterator[ScriptedCluster]:
    """Groups `a` and `b` behind a real client."""
    groups = {name: Group(state="Empty", commits={("t", 0): Commit(60)}) for name in "ab"}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        yield cluster


def signals(*numbers: int) -> Reaction:
    """Return a reaction that sends signals to this process, and responds a little later."""

    def react(_request: object, response: Struct) -> Struct:
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.1)
        return response

    return react


def reset(scripted: ScriptedCluster, *flags: str) -> Outcome:
    """Reset groups of a scripted cluster."""
    arguments = ("reset", "--topic", "t", "--to-offset", "5", *EXECUTE, *flags)
    return run(*arguments, bootstrap=str(scripted.addresses[1]))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_signal_while_changes_are_made_lets_them_end_and_reports_them(
    scripted: ScriptedCluster, number: int, code: int
) -> None:
    scripted.script("OffsetCommit", signals(number))
    outcome = reset(scripted, "a", "b", "--format", "json")
    document = json.loads(outcome.stdout)
    assert [row["status"] for group in document["groups"] for row in group["offsets"]] == ["done", "done"]
    assert (outcome.exit_code, document["status"]) == (code, "complete")
    assert last_run().is_finished
    assert "takes it back." in outcome.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_first_change_is_sent_changes_nothing(
    scripted: ScriptedCluster, number: int, code: int
) -> None:
    scripted.script("OffsetFetch", plain, signals(number))
    outcome = reset(scripted, "a", "b", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["errors"][-1]["name"]) == (code, "INTERRUPTED")
    assert scripted.requests()["OffsetCommit"] == 0
    assert attempt() in outcome.stderr.splitlines()


def test_a_second_signal_ends_the_run_at_once_and_undo_finds_out(scripted: ScriptedCluster) -> None:
    # Two signals of one number may become one.
    scripted.script("OffsetCommit", signals(signal.SIGINT, signal.SIGTERM))
    assert reset(scripted, "a").exit_code == 143
    (found,) = list_runs(open_journal()).runs
    assert found.status == "unfinished"
    assert run("undo", *EXECUTE, bootstrap=str(scripted.addresses[1])).exit_code == 0
    assert scripted.groups["a"].commits == {("t", 0): Commit(60)}
    assert list_runs(open_journal()).runs[-1].status == "undone"


# A program for a process of its own, because only a real pipe can break.
PROGRAM = """
import sys
from kafka_groups.cli import main
from tests.fakes.fake_admin import FakeCluster, failure

cluster = FakeCluster(None)
cluster.end("t", 100, starts=(10,))
cluster.add("a", commits={("t", 0): 60})
cluster.add("b", commits={("t", 0): 60})
if "FAIL" in sys.argv:
    cluster.unchangeable["b"] = failure(group="b")
arguments = "reset a b --topic t --to-earliest --execute --yes -b b1:9092".split()
sys.argv[1:] = arguments + sys.argv[2:]
main()
"""


@pytest.mark.parametrize(("argument", "code"), [("OK", 0), ("FAIL", 3)])
def test_a_closed_pipe_loses_neither_outcomes_nor_errors(argument: str, code: int) -> None:
    command = [sys.executable, "-c", PROGRAM, argument]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        stderr = process.stderr.read()
        assert process.wait() == code
    assert ("Error: group 'b': refused (GROUP_AUTHORIZATION_FAILED)" in stderr) == (argument == "FAIL")
    assert stderr.splitlines()[-1].endswith("takes it back.")
    assert recorded_statuses() == ["done", "failed" if argument == "FAIL" else "done"]


def write_to_full_stdout(argument: str, *flags: str) -> tuple[int, list[str]]:
    """Run the program with a stdout that takes nothing; return its exit code and its messages."""
    command = ["sh", "-c", 'exec "$0" -c "$@" >/dev/full', sys.executable, PROGRAM, argument, *flags]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    return outcome.returncode, outcome.stderr.splitlines()


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_full_stdout_after_changes_is_exit_3_and_the_outcomes_are_recorded(output: str) -> None:
    code, messages = write_to_full_stdout("OK", "--format", output)
    assert (code, recorded_statuses(), last_run().is_finished) == (3, ["done", "done"], True)
    text = "cannot write the results to stdout: No space left on device; 2 changes were made"
    assert f"Error: {text}" in messages
    assert any(message.endswith("takes it back.") for message in messages)


def test_a_full_stdout_hides_no_failure_of_a_change() -> None:
    code, messages = write_to_full_stdout("FAIL")
    assert (code, recorded_statuses()) == (3, ["done", "failed"])
    text = "cannot write the results to stdout: No space left on device; 1 change was made"
    assert f"Error: {text}" in messages
    assert "Error: group 'b': refused (GROUP_AUTHORIZATION_FAILED)" in messages


def test_a_full_stdout_after_no_change_is_exit_1() -> None:
    code, messages = write_to_full_stdout("FAIL", "--exclude", "a")
    assert (code, recorded_statuses()) == (1, ["failed"])
    text = "cannot write the results to stdout: No space left on device; nothing was changed"
    assert f"Error: {text}" in messages
    assert attempt() in messages


def test_a_plan_that_cannot_be_printed_is_not_executed() -> None:
    code, messages = write_to_full_stdout("OK", "--export", "-")
    text = "Error: cannot write the plan to stdout: No space left on device; nothing was changed"
    assert (code, messages[-1], recorded_statuses()) == (1, text, [])
