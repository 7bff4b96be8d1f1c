"""Clients of a cluster: the CLI in a process of its own, and the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import CommittedOffset
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


def run_command(bootstrap: str, *arguments: str, home: Path | None = None) -> CommandResult:
    """Run `kafka-groups` with its streams in pipes and with these settings only.

    Commands that change groups need a `home`, so that their journal is not in that of the user.
    """
    command, *rest = arguments
    completed = subprocess.run(
        [sys.executable, "-m", "kafka_groups", command, "-b", bootstrap, *rest],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=command_environment(home),
        timeout=_TIMEOUT_S,
    )
    return CommandResult(completed.stdout, completed.stderr, completed.returncode)


def command_environment(home: Path | None) -> dict[str, str]:
    """Return the environment of a command: without settings, and with a home directory of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    return environment if home is None else {**environment, "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}


def read_commits(bootstrap: str, group: str) -> dict[tuple[str, int], CommittedOffset]:
    """Return the commits of a group by partition; none if the group is absent."""
    with open_admin(bootstrap) as admin:
        found = admin.list_consumer_group_offsets({group: None}).all()[group]
        return {(topic, partition): commit for (topic, partition), commit in found.items() if commit is not None}


def read_offsets(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """Return the committed offsets of a group by partition."""
    return {key: commit.offset for key, commit in read_commits(bootstrap, group).items()}


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
