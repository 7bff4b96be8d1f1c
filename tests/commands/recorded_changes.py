"""Changes that tests make and record by commands, to take them back."""

from __future__ import annotations

import json

from kafka_groups.model import CommittedOffset
from tests.commands.change_commands import (
    EXECUTE,
    journal_files,
)
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

NO_RUN = "Error: no recorded change of cluster fake can be undone; `kafka-groups undo --list` lists all runs\n"


def add_group(cluster: FakeCluster) -> None:
    """Add `a` with two commits on `t`, whose logs are 10 to 100 and 0 to 50."""
    cluster.end("t", 100, 50, starts=(10, 0))
    cluster.add("a", commits={("t", 0): CommittedOffset(60, 3, "note"), ("t", 1): 7})


def change(*arguments: str) -> str:
    """Execute a change, and return the ID of its run."""
    known = {path.stem for path in journal_files()}
    outcome = run(*arguments, *EXECUTE)
    assert outcome.exit_code == 0, outcome.stderr
    (new,) = {path.stem for path in journal_files()} - known
    return new


def reset(to: int = 20) -> str:
    """Reset partition 0, and return the ID of the run."""
    return change("reset", "a", "--topic", "t:0", "--to-offset", str(to))


def statuses() -> dict[str, str]:
    """Return the status of each run."""
    lines = run("undo", "--list", "--format", "ndjson", bootstrap=None).stdout.splitlines()
    return {row["id"]: row["status"] for row in map(json.loads, lines)}
