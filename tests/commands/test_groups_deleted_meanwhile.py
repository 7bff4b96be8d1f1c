"""Groups that somebody deletes while the prompt waits: no commit creates them again, unless the user allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.commands.change_commands import answer, changes, committed, journal_files
from tests.commands.recorded_changes import statuses
from tests.fakes.command_line import Outcome, run
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

RESET = ("reset", "a", "--topic", "t:1", "--to-earliest")
REASON = "the group was deleted since the plan, and a commit would create it; run the command again"


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    """Add `a` with a commit on one of the partitions of `t`."""
    cluster.end("t", 100, 50, starts=(10, 3))
    cluster.add("a", commits={("t", 0): 60})


def delete(cluster: FakeCluster) -> None:
    """Delete group `a`."""
    for known in (cluster.listings, cluster.descriptions, cluster.offsets):
        del known["a"]


def execute_without_the_group(mocker: MockerFixture, cluster: FakeCluster, *arguments: str) -> Outcome:
    """Run a command with --execute, delete the group while the prompt waits, and agree."""

    def agree(*_: Any) -> str:
        delete(cluster)
        return "y\n"

    mocker.patch("click.testing._NamedTextIOWrapper.readline", side_effect=agree)
    return answer(mocker, "", *arguments, "--execute")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_reset_of_a_partition_without_a_commit_does_not_create_the_group(
    mocker: MockerFixture, cluster: FakeCluster, force: tuple[str, ...]
) -> None:
    outcome = execute_without_the_group(mocker, cluster, *RESET, *force)
    assert (outcome.exit_code, changes(cluster), "a" in cluster.offsets) == (1, [], False)
    assert f"Error: group 'a', partition t-1: {REASON} (REFUSED)\n" in outcome.stderr
    assert list(statuses().values()) == ["unchanged"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_partition_of_the_group_is_reset(
    mocker: MockerFixture, cluster: FakeCluster, force: tuple[str, ...]
) -> None:
    outcome = execute_without_the_group(mocker, cluster, "reset", "a", "--topic", "t", "--to-earliest", *force)
    assert (outcome.exit_code, changes(cluster)) == (1, [])
    assert [line.split()[-1] for line in outcome.stdout.splitlines()] == ["STATUS", "refused", "refused"]


def test_create_allows_the_group_again(mocker: MockerFixture, cluster: FakeCluster) -> None:
    outcome = execute_without_the_group(mocker, cluster, *RESET, "--create")
    assert (outcome.exit_code, committed(cluster, "a")) == (0, {("t", 1): 3})


def test_the_other_groups_are_reset(mocker: MockerFixture, cluster: FakeCluster) -> None:
    cluster.add("b", commits={("t", 0): 60})
    outcome = execute_without_the_group(mocker, cluster, "reset", "a", "b", "--topic", "t:1", "--to-earliest")
    assert (outcome.exit_code, "a" in cluster.offsets) == (3, False)
    assert committed(cluster, "b") == {("t", 0): 60, ("t", 1): 3}


def test_a_group_that_no_broker_describes_is_reset_if_it_has_a_commit_elsewhere(
    mocker: MockerFixture, cluster: FakeCluster
) -> None:
    del cluster.descriptions["a"]
    del cluster.listings["a"]
    outcome = answer(mocker, "y\n", *RESET, "--execute")
    assert (outcome.exit_code, committed(cluster, "a")[("t", 1)]) == (0, 3)


@pytest.mark.parametrize(("force", "is_restored"), [((), False), (("--force",), True)])
def test_an_undo_creates_no_group_that_existed_for_its_plan_without_force(
    mocker: MockerFixture, cluster: FakeCluster, force: tuple[str, ...], is_restored: bool
) -> None:
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7})
    assert run("delete-offsets", "a", "--topic", "t:1", "--execute", "--yes").exit_code == 0
    outcome = execute_without_the_group(mocker, cluster, "undo", *force)
    assert (outcome.exit_code, "a" in cluster.offsets) == (0 if is_restored else 1, is_restored)
    assert (REASON in outcome.stderr) != is_restored


def test_an_undo_brings_back_a_group_that_was_deleted_before_its_plan(cluster: FakeCluster) -> None:
    assert run("delete", "a", "--execute", "--yes").exit_code == 0
    assert run("undo", "--execute", "--yes").exit_code == 0
    assert committed(cluster, "a") == {("t", 0): 60}
    assert len(journal_files()) == 2
