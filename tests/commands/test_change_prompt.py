"""The question before a change on a terminal: what it shows, its answers, and how a run is interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands.change_commands import (
    DRY_RUN,
    NOTHING,
    answer,
    attempt,
    changes,
    committed,
    journal_files,
    last_line,
)
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

ROOT = Path(__file__).parents[2]
RESET = ("reset", "a", "--topic", "t", "--to-earliest", "--execute")
QUESTION = "Make these changes? [y/N] "


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add `a` with a commit on `t`, whose log is 10 to 100, and `busy` with a member."""
    cluster.end("t", 100, starts=(10,))
    cluster.add("a", commits={("t", 0): 60})
    cluster.add("busy", state="Stable", members=[member("m")])


@pytest.mark.parametrize("text", ["y\n", "Y\n", "yes\n", " YES \n", "y"])
def test_yes_executes_the_plan(mocker: MockerFixture, cluster: FakeCluster, text: str) -> None:
    outcome = answer(mocker, text, *RESET)
    assert (outcome.exit_code, committed(cluster, "a")) == (0, {("t", 0): 10})
    assert last_line(outcome).endswith("takes it back.")


@pytest.mark.parametrize("text", ["n\n", "\n", "no\n", "yess\n", "", "j\n"])
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_any_other_answer_changes_nothing(mocker: MockerFixture, cluster: FakeCluster, text: str, output: str) -> None:
    outcome = answer(mocker, text, *RESET, "--format", output)
    assert (outcome.exit_code, outcome.stderr.endswith(f"{attempt()}\n")) == (1, True)
    assert (changes(cluster), len(journal_files())) == ([], 1)
    assert output != "json" or json.loads(outcome.stdout)["status"] == "failed"


def test_the_question_is_on_stderr_below_the_plan_and_what_is_refused(mocker: MockerFixture) -> None:
    arguments = ("reset", "a", "busy", "--topic", "t", "--to-earliest", "--execute", "--format", "csv")
    outcome = answer(mocker, "y\n", *arguments)
    before, _, after = outcome.stderr.partition(QUESTION)
    assert before.splitlines()[0].split() == [
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "NEW-OFFSET",
        "DELTA",
        "NOTE",
    ]
    assert before.splitlines()[1].split() == ["a", "t", "0", "60", "10", "-50", "-"]
    assert "1 group, 1 partition, 50 records to read again" in before
    assert "group 'busy': it is Stable" in before
    assert "group 'busy'" not in after
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (3, ["a,t,0,60,10,-50,,done"])


def test_a_long_plan_is_shortened_in_the_question(mocker: MockerFixture, cluster: FakeCluster) -> None:
    cluster.end("t", *[100] * 60, starts=[10] * 60)
    outcome = answer(mocker, "n\n", *RESET)
    assert "… and 10 more rows" in outcome.stderr


def test_the_end_of_input_ends_the_line_of_the_question(mocker: MockerFixture) -> None:
    outcome = answer(mocker, "", *RESET)
    assert outcome.stderr.endswith(f"{QUESTION}\n{attempt()}\n")


@pytest.mark.parametrize("output", ["table", "json"])
def test_ctrl_c_at_the_question_is_exit_130_and_changes_nothing(
    mocker: MockerFixture, cluster: FakeCluster, output: str
) -> None:
    outcome = answer(mocker, "", *RESET, "--format", output, interrupts=True)
    assert (outcome.exit_code, changes(cluster)) == (130, [])
    assert attempt() in outcome.stderr.splitlines()
    if output == "json":
        document = json.loads(outcome.stdout)
        assert (document["status"], document["errors"][-1]["name"]) == ("failed", "INTERRUPTED")


def test_yes_does_not_ask() -> None:
    assert QUESTION not in run(*RESET, "--yes").stderr


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_a_plan_without_execute_does_not_ask(mocker: MockerFixture, flags: tuple[str, ...]) -> None:
    outcome = answer(mocker, "", *RESET[:-1], *flags)
    assert (outcome.exit_code, last_line(outcome)) == (0, NOTHING if flags else DRY_RUN)


def test_a_plan_with_nothing_to_change_does_not_ask(mocker: MockerFixture) -> None:
    outcome = answer(mocker, "", "reset", "busy", "--topic", "t", "--to-earliest", "--execute")
    assert (outcome.exit_code, QUESTION in outcome.stderr, last_line(outcome)) == (1, False, attempt())


@pytest.mark.parametrize(
    "arguments", [("delete", "a"), ("delete-offsets", "a", "--topic", "t"), ("remove-members", "-g", "busy", "--all")]
)
def test_every_command_asks(mocker: MockerFixture, cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    outcome = answer(mocker, "n\n", *arguments, "--execute")
    assert (outcome.exit_code, QUESTION in outcome.stderr, changes(cluster)) == (1, True, [])
