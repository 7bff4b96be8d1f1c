"""Commands that kill themselves (SIGKILL) at one step of their work: a request, or a write of the journal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.live.groups.clients import command_environment

_TIMEOUT_S: Final = 120
# The program itself. Each request that it sends and each write of its journal is a step, counted from 1; it dies before
# step N, or within the write.
_PROGRAM: Final = """
import os, signal, sys
from kafka_groups.admin.network.connection_pool import BrokerPool
last = int(sys.argv.pop(1))
steps = 0
def step():
    global steps
    steps += 1
    if steps == last:
        os.kill(os.getpid(), signal.SIGKILL)
def stepwise(call):
    def wrapped(*arguments, **options):
        step()
        return call(*arguments, **options)
    return wrapped
def write_in_parts(descriptor, content, write=os.write):
    step()
    return write(descriptor, content[: max(1, len(content) // 2)])
BrokerPool.submit = stepwise(BrokerPool.submit)
os.fsync = stepwise(os.fsync)
os.write = write_in_parts
from kafka_groups.__main__ import main
main()
"""


def run_until_step(step: int, bootstrap: str, home: Path, command: str, *arguments: str) -> bool:
    """Run a command until it dies before a step; return whether it did, and did not end before."""
    line = [sys.executable, "-c", _PROGRAM, str(step), command, "-b", bootstrap, *arguments]
    environment = {**command_environment(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(line, capture_output=True, check=False, env=environment, timeout=_TIMEOUT_S, text=True)
    assert ended.returncode in {0, -signal.SIGKILL}, ended
    return ended.returncode == -signal.SIGKILL
