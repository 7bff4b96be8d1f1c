"""Filling a sandbox: the background process that does it, seen from the command that waits for it."""

from __future__ import annotations

import json
import sys
import time

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.brokers import last_words
from kafka_groups.sandbox.directory import Place
from kafka_groups.sandbox.processes import ProcessId, is_running, start
from kafka_groups.sandbox.state_file import MEMBERS, Record

_POLL_S = 0.05


def launch_members(place: Place, record: Record) -> ProcessId:
    """Start the process that creates topics and groups, and then plays their members."""
    # -P: a directory that happens to be named as one of our imports is no part of the program.
    program = [sys.executable, "-P", "-m", "kafka_groups.sandbox.members"]
    arguments = [record.bootstrap, record.kafka_version, str(place.seed_file)]
    place.seed_file.write_text("{}", encoding="utf-8")
    return start([*program, *arguments], output=place.output(MEMBERS))


def await_seeded(place: Place, members: ProcessId, *, timeout_s: float) -> None:
    """Return when every group was seen in its state; SandboxError tells what is missing."""
    deadline = time.monotonic() + timeout_s
    missing = "nothing was created"
    while time.monotonic() < deadline:
        progress: dict[str, str] = json.loads(place.seed_file.read_text(encoding="utf-8"))
        if progress.get("seeded"):
            return
        missing = progress.get("missing", missing)
        if not is_running(members):
            msg = f"seeding the sandbox failed: {last_words(place, MEMBERS)}; try --no-seed"
            raise SandboxError(msg)
        time.sleep(_POLL_S)
    msg = f"the sandbox is not seeded after {timeout_s:.0f} s: {missing}; try --no-seed"
    raise SandboxError(msg)
