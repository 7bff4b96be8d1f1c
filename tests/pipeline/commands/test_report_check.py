"""`pipeline report --fail-if`: which groups are judged, and the exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.report.example_histories import group, history

STOPPED = group("billing", verdict="STOP", rule="stopped", lag=7_000, time_lag_ms=7_200_000, time_lag_quality="exact")
CALM = group("audit", verdict="OK", rule="no_lag", lag=0)
HISTORY = replace(history(CALM, made_ms=3, from_ms=1, to_ms=2, clusters=("c",)), selected=(STOPPED, CALM))


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    """Let the fake report return a history whose table omits the group that has stopped."""
    fakes.report.return_value = HISTORY


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [
        ("verdict==STOP", 4),
        ("verdict==STALL or rule==stopped", 4),
        ("time_lag>1h and lag>1000", 4),
        ("group==billing and lag_quality==exact", 4),
        ("verdict==STALL", 0),
        ("time_lag>3h", 0),
        ("members>0", 0),
    ],
)
def test_a_condition_that_holds_for_a_selected_group_is_exit_code_4(
    data_dir: str, condition: str, exit_code: int
) -> None:
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--fail-if", condition)
    assert outcome.exit_code == exit_code
    assert "audit" in outcome.stdout
    assert ("the condition of --fail-if holds for 'billing'" in outcome.stderr) == (exit_code == 4)


def test_a_condition_holds_also_if_other_groups_are_unknown(fakes: FakePipeline, data_dir: str) -> None:
    fakes.report.return_value = replace(HISTORY, unknown=("nosuch",))
    arguments = ("pipeline", "report", "--data-dir", data_dir, "nosuch", "audit")
    assert run(*arguments, "--fail-if", "verdict==STOP").exit_code == 4
    assert run(*arguments, "--fail-if", "verdict==STALL").exit_code == 3


def test_a_deleted_group_is_not_judged_and_no_group_is_no_check(fakes: FakePipeline, data_dir: str) -> None:
    fakes.report.return_value = replace(HISTORY, selected=(replace(STOPPED, deleted_ms=2),))
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--fail-if", "verdict==STOP")
    assert outcome.exit_code == 1
    assert "The condition of --fail-if was not checked." in outcome.stderr


@pytest.mark.parametrize("condition", ["verdict!=OK", "verdict==UNKNOWN", "rule==lag_unknown", "verdict!=STOP"])
def test_a_group_without_a_verdict_is_unknown_as_in_lag(fakes: FakePipeline, data_dir: str, condition: str) -> None:
    fakes.report.return_value = replace(HISTORY, selected=(group("silent", verdict=None, rule=None, lag=None),))
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--fail-if", condition)
    assert outcome.exit_code == 4
    assert "holds for 'silent'" in outcome.stderr


@pytest.mark.parametrize(
    ("condition", "exit_code"),
    [("verdict==STOP", 1), ("lag>1000 or time_lag>1h", 1), ("members>100", 0), ("verdict==STOP or members>100", 0)],
)
def test_lags_of_groups_without_a_lag_are_not_checked(
    fakes: FakePipeline, data_dir: str, condition: str, exit_code: int
) -> None:
    silent = group("silent", verdict=None, rule=None, lag=None, member_count=1)
    fakes.report.return_value = replace(HISTORY, selected=(silent, silent))
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--fail-if", condition)
    assert outcome.exit_code == exit_code
    assert ("The condition of --fail-if was not checked." in outcome.stderr) == (exit_code == 1)
    fakes.report.return_value = replace(HISTORY, selected=(silent, CALM))
    assert run("pipeline", "report", "--data-dir", data_dir, "--fail-if", condition).exit_code == 0


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("verdict==STOPPED", "did you mean 'STOP'?"),
        ("topic==t", "there is no field 'topic'"),
        ("lag>", "expected a value"),
    ],
)
def test_a_text_that_is_no_condition_is_a_usage_error(data_dir: str, condition: str, problem: str) -> None:
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--fail-if", condition)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: --fail-if: ")
    assert problem in outcome.stderr
