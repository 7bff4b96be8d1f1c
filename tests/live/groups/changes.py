"""Plans that are executed with something between the plan and its execution, and commands that ask on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Plan, PlannedGroups, Status
from kafka_groups.changes.execution import Execution, execute_plan
from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.specifications.log_offsets import ToOffset
from kafka_groups.changes.validity import check_again
from kafka_groups.groups.selection import Selectors
from tests.live.groups.clients import CommandResult, command_environment, open_admin

_TIMEOUT_S = 60


def journal_of(home: Path) -> Path:
    """Return the directory of the journal of commands with this home."""
    return home / "state" / "kafka-groups" / "journal"


def execute(
    admin: GroupAdmin,
    planned: PlannedGroups,
    home: Path,
    *,
    command: str = "reset",
    between: Callable[[], Any] = lambda: None,
) -> Execution:
    """Execute a plan as a command does; `between` runs when the journal is written and nothing is changed yet."""
    deadline = admin.deadline()
    valid = check_again(admin, planned, force=False, deadline=deadline)
    plan = Plan(admin.cluster_id(), datetime.now(UTC), tuple(valid.changes()))
    head = RunHead(command, plan, bootstrap_servers=admin.bootstrap_servers)
    run = begin_run(LocalJournal(journal_of(home)), head)
    between()
    return execute_plan(admin, valid, run, deadline=deadline)


def reset_to(
    bootstrap: str,
    home: Path,
    group: str,
    topics: Mapping[str, Sequence[int]],
    offset: int,
    *,
    between: Callable[[], Any] = lambda: None,
) -> Execution:
    """Reset partitions to an offset; `between` runs between the plan and the commit."""
    with open_admin(bootstrap) as admin:
        request = ResetRequest(specification=ToOffset(offset), topics=topics)
        planned = plan_reset(admin, Selectors(named=(group,)), request)
        assert planned.changes(), planned
        return execute(admin, planned, home, between=between)


def statuses_of(execution: Execution) -> list[tuple[Status, str | None]]:
    """Return the status of each row, and the name of its failure."""
    return [
        (outcome.status, outcome.failure and outcome.failure.name)
        for rows in execution.outcomes.values()
        for outcome in rows
    ]


def run_on_terminal(
    bootstrap: str, *arguments: str, home: Path, answer: str, before_answer: Callable[[], Any] = lambda: None
) -> CommandResult:
    """Run a command whose stdin and stderr are a terminal, and answer its question; stdout is a pipe."""
    ours, theirs = pty.openpty()
    command, *rest = arguments
    line = [sys.executable, "-m", "kafka_groups", command, "-b", bootstrap, *rest, "--color", "never"]
    environment = {**command_environment(home), "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        line, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment, encoding="utf-8"
    ) as process:
        os.close(theirs)
        seen = b""
        # A terminal that no process has open is an error on Linux.
        with suppress(OSError):
            while part := os.read(ours, 65_536):
                seen += part
                if b"[y/N] " in part:
                    before_answer()
                    os.write(ours, f"{answer}\n".encode())
        out, _ = process.communicate(timeout=_TIMEOUT_S)
    os.close(ours)
    return CommandResult(out, seen.decode().replace("\r\n", "\n"), process.returncode)
