"""Clients of a cluster: the CLI in a process of its own, and the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.settings import ConnectionSettings, parse_bootstrap

_TIMEOUT_S = 60


class CommandResult(NamedTuple):
    """The output and the exit code of a command."""

    out: str
    err: str
    code: int

    @property
    def json(self) -> Any:
        """Return stdout as one JSON document."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Return the words of each line of stdout, headers included, without blank lines."""
        return [line.split() for line in self.out.splitlines() if line.strip()]

    @property
    def notes(self) -> list[str]:
        """Return the lines of stderr."""
        return self.err.splitlines()


def run_command(bootstrap: str, *arguments: str) -> CommandResult:
    """Run `kafka-groups` with its streams in pipes and with these settings only."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    command, *rest = arguments
    completed = subprocess.run(
        [sys.executable, "-m", "kafka_groups", command, "-b", bootstrap, *rest],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
        timeout=_TIMEOUT_S,
    )
    return CommandResult(completed.stdout, completed.stderr, completed.returncode)


@contextmanager
def open_admin(bootstrap: str, *, timeout_s: float = 20.0) -> Iterator[GroupAdmin]:
    """Yield the library's client of this cluster."""
    settings = ConnectionSettings(bootstrap=parse_bootstrap(bootstrap), timeout_s=timeout_s)
    with GroupAdmin(settings) as admin:
        yield admin


def list_member_ids(bootstrap: str, group: str) -> dict[str, str]:
    """Return the ids of a group's members, by client id."""
    with open_admin(bootstrap) as admin:
        return {
            member.client_id: member.member_id
            for member in admin.describe_consumer_groups([group]).succeeded[group].members
        }
