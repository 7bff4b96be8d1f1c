"""The CLI as a user runs it, in a process of its own, and the library beside it."""

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

_PATIENCE_S = 60


class Answer(NamedTuple):
    """What a command left behind."""

    out: str
    err: str
    code: int

    @property
    def json(self) -> Any:
        """stdout as one JSON document."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """stdout's lines as words, headers among them, blank lines left out."""
        return [line.split() for line in self.out.splitlines() if line.strip()]

    @property
    def notes(self) -> list[str]:
        """The lines of stderr."""
        return self.err.splitlines()


def ask(bootstrap: str, *arguments: str) -> Answer:
    """Run `kafka-groups` with its streams in pipes and no settings but these."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    command, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", "kafka_groups", command, "-b", bootstrap, *rest],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment,
        timeout=_PATIENCE_S,
    )
    return Answer(done.stdout, done.stderr, done.returncode)


@contextmanager
def admin_of(bootstrap: str, *, timeout_s: float = 20.0) -> Iterator[GroupAdmin]:
    """The library, on this cluster."""
    settings = ConnectionSettings(bootstrap=parse_bootstrap(bootstrap), timeout_s=timeout_s)
    with GroupAdmin(settings) as admin:
        yield admin


def member_ids(bootstrap: str, group: str) -> dict[str, str]:
    """The ids of a group's members, by client id."""
    with admin_of(bootstrap) as admin:
        return {
            member.client_id: member.member_id
            for member in admin.describe_consumer_groups([group]).succeeded[group].members
        }
