"""What `--execute` tried is recorded where it changed nothing, and such a record takes nothing back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands.change_commands import EXECUTE, answer, attempt, changes, committed
from tests.commands.recorded_changes import add_group, reset, statuses
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

OTHER = ("reset", "a", "--topic", "t:1", "--to-offset", "3")


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    add_group(cluster)


def fail_reading(cluster: FakeCluster, *, at: int) -> None:
    """Let no broker respond to one reading of the groups."""
    read = cluster.admin.describe_with_offsets.side_effect
    count = iter(range(1, 100))

    def describe(*arguments: object, **options: object) -> object:
        if next(count) == at:
            raise unreachable()
        return read(*arguments, **options)

    cluster.admin.describe_with_offsets.side_effect = describe


def expect_failed_attempt(outcome: Outcome, *, runs: int) -> None:
    assert outcome.exit_code == 1
    assert attempt() in outcome.stderr.splitlines()
    assert (len(statuses()), next(iter(statuses().values()))) == (runs, "failed")


def test_a_declined_undo_does_not_count_as_one(cluster: FakeCluster, mocker: MockerFixture) -> None:
    older, newer = reset(20), reset(30)
    assert answer(mocker, "n\n", "undo", "--execute").exit_code == 1
    assert statuses()[newer] == "done"
    assert run("undo", *EXECUTE).exit_code == 0
    assert (statuses()[newer], statuses()[older], committed(cluster, "a")[("t", 0)]) == ("undone", "done", 20)


def test_an_undo_that_cannot_be_planned_does_not_count_as_one(cluster: FakeCluster) -> None:
    run_id = reset()
    fail_reading(cluster, at=1)
    expect_failed_attempt(run("undo", *EXECUTE), runs=2)
    assert statuses()[run_id] == "done"


@pytest.mark.parametrize("reading", [1, 2])
def test_a_command_that_cannot_read_the_groups_is_recorded(cluster: FakeCluster, reading: int) -> None:
    reset()
    fail_reading(cluster, at=reading)
    expect_failed_attempt(run(*OTHER, *EXECUTE), runs=2)
    assert run("undo", *EXECUTE).exit_code == 1
    assert len(changes(cluster)) == 1


def test_a_plan_that_cannot_be_exported_is_recorded(tmp_path: Path) -> None:
    reset()
    expect_failed_attempt(run(*OTHER, "--export", str(tmp_path / "absent" / "plan.json"), *EXECUTE), runs=2)


@pytest.mark.parametrize("command", ["reset", "delete", "delete-offsets"])
def test_a_plan_of_another_cluster_is_recorded(tmp_path: Path, command: str) -> None:
    plan = tmp_path / "plan.json"
    arguments = {"reset": OTHER, "delete": ("delete", "a"), "delete-offsets": ("delete-offsets", "a", "--topic", "t")}
    run(*arguments[command], "--export", str(plan))
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "cluster_id": "other"}))
    outcome = run(command, "--from-file", str(plan), *EXECUTE)
    assert outcome.exit_code != 0
    assert attempt() in outcome.stderr.splitlines()
