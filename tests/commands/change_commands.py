"""Runs of the commands that change groups: with a journal of their own, and with a person who answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from kafka_groups.changes.journal_location import open_journal
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.cli import cli
from tests.fakes.command_line import Outcome
from tests.fakes.fake_admin import FakeCluster

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

DRY_RUN = "Nothing was changed; --execute makes these changes."
NOTHING = "Nothing was changed."
EXECUTE = ("--execute", "--yes")
# The name of stdin in click's test runner.
_STDIN = "<stdin>"


def answer(mocker: MockerFixture, text: str, *arguments: str, interrupts: bool = False) -> Outcome:
    """Run a command whose stdin is a terminal on which somebody types this text, or Ctrl-C at its end."""
    wrapper = "click.testing._NamedTextIOWrapper"
    mocker.patch(f"{wrapper}.isatty", lambda stream: stream.name == _STDIN)
    if interrupts:
        mocker.patch(f"{wrapper}.readline", side_effect=KeyboardInterrupt)
    environment = {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "b1:9092"}
    result = CliRunner().invoke(cli, list(arguments), input=text, env=environment, prog_name="kafka-groups")
    return Outcome(result.exit_code, result.stdout, result.stderr)


def journal_files() -> list[Path]:
    """Return the journal's files, oldest first."""
    return sorted((Path(os.environ["XDG_STATE_HOME"]) / "kafka-groups" / "journal").glob("*"))


def last_run() -> Run:
    """Return the only run in the journal."""
    (path,) = journal_files()
    return read_run(open_journal(), path.stem)


def attempt() -> str:
    """Return the line that reports the newest run in the journal, which changed nothing."""
    newest = list_runs(open_journal()).runs[0]
    assert newest.status in {"unchanged", "failed"}, newest
    assert newest.run.made() == []
    return f"Nothing was changed; the attempt is recorded as {newest.run.id} in {open_journal().name}."


def recorded_statuses() -> list[str]:
    """Return the statuses of the changes of the only run in the journal, in their order."""
    return [str(outcome.status) for _, outcome in sorted(last_run().outcomes.items())]


def last_line(outcome: Outcome) -> str:
    """Return the last line on stderr."""
    return outcome.stderr.splitlines()[-1]


def changes(cluster: FakeCluster) -> list[str]:
    """Return the operations that changed the cluster."""
    return [change.operation for change in cluster.changes]


def committed(cluster: FakeCluster, group: str) -> dict[tuple[str, int], int]:
    """Return the committed offsets of a group."""
    return {
        (topic, partition): offset
        for topic, commits in cluster.offsets[group].topics
        for partition, offset, _, _ in commits
        if offset is not None
    }
