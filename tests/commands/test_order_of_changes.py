"""The order of a change and its record: the plan before the first request that changes something, outcomes after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Status
from kafka_groups.changes.journal_location import open_journal
from kafka_groups.changes.runs import list_runs
from kafka_groups.protocol import Struct
from tests.commands.change_commands import EXECUTE, last_run, recorded_statuses
from tests.fakes.command_line import run
from tests.fakes.reactions import Reaction
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

if TYPE_CHECKING:
    from kafka_groups.changes.run_record import Run

COMMANDS = {
    "OffsetCommit": ("reset", "a", "--topic", "t", "--to-offset", "5"),
    "OffsetDelete": ("delete-offsets", "a", "--topic", "t"),
    "DeleteGroups": ("delete", "a"),
    "LeaveGroup": ("remove-members", "-g", "busy", "--all"),
}


@pytest.fixture
def scripted() -> Iterator[ScriptedCluster]:
    """Group `a` with a commit, and `busy` with a member."""
    groups = {
        "a": Group(state="Empty", commits={("t", 0): Commit(60)}),
        "busy": Group(members=[{"member_id": "m", "group_instance_id": None}]),
    }
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        yield cluster


def reading(records: list[Run]) -> Reaction:
    """Return a reaction that reads the record of the only run when the request arrives."""

    def react(_request: object, response: Struct) -> Struct:
        records.append(last_run())
        return response

    return react


@pytest.mark.parametrize("api", COMMANDS)
def test_the_plan_is_recorded_when_the_first_change_arrives_and_its_outcome_is_not(
    scripted: ScriptedCluster, api: str
) -> None:
    records: list[Run] = []
    scripted.script(api, reading(records))
    outcome = run(*COMMANDS[api], *EXECUTE, bootstrap=str(scripted.addresses[1]))
    (before,) = records
    assert (outcome.exit_code, before.is_whole, before.is_finished) == (0, True, False)
    assert (len(before.plan.changes), before.outcomes) == (1, {})
    assert (recorded_statuses(), last_run().is_finished) == (["done"], True)


@pytest.mark.parametrize("api", COMMANDS)
def test_outcomes_are_recorded_although_nobody_reads_them(
    scripted: ScriptedCluster, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kafka_groups.commands.change_run.report_execution", fail)
    assert run(*COMMANDS[api], *EXECUTE, bootstrap=str(scripted.addresses[1])).exit_code == 130
    (recorded,) = list_runs(open_journal()).runs
    assert (recorded.run.is_finished, recorded.rows[Status.DONE]) == (True, 1)
