"""Processes that outlive the command that started them, and are never mistaken for others."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError

_POLL_S = 0.05
# The shell ends at once, so the program belongs to nobody: it has no parent to wait for it, gets no
# Ctrl-C of ours (it is in a session of its own), and its id is known before it can fail.
_DETACH = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!'


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessId:
    """A process by its number and its birth, because numbers are used again."""

    pid: int
    born: str


def start(
    command: Sequence[str | Path],
    *,
    output: Path,
    environment: Mapping[str, str] | None = None,
) -> ProcessId:
    """Start a program in the background; all that it prints is appended to a file."""
    shell = ["/bin/sh", "-c", _DETACH, "sh", output, *command]
    try:
        done = subprocess.run(shell, capture_output=True, check=True, start_new_session=True, env=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        msg = f"{command[0]} could not be started: {error}"
        raise SandboxError(msg) from error
    pid = int(done.stdout)
    return ProcessId(pid=pid, born=_birth(pid) or "gone")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back for a moment: between a start and its record it would leave a process behind."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def is_running(process: ProcessId) -> bool:
    """Say whether this very process still runs."""
    return _birth(process.pid) == process.born


def stop(processes: Iterable[ProcessId], *, grace_s: float) -> None:
    """End processes, asking first and killing what is left after `grace_s`; returns when all are gone."""
    left = [process for process in processes if is_running(process)]
    if grace_s > 0:
        _signal(left, signal.SIGTERM)
        wait_until(lambda: not any(map(is_running, left)), timeout_s=grace_s)
    _signal(left, signal.SIGKILL)
    if not wait_until(lambda: not any(map(is_running, left)), timeout_s=10):
        pids = ", ".join(str(process.pid) for process in left if is_running(process))
        msg = f"these processes of the sandbox cannot be ended: {pids}"
        raise SandboxError(msg)


def wait_until(condition: Callable[[], bool], *, timeout_s: float) -> bool:
    """Return whether the condition came true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _signal(processes: Iterable[ProcessId], number: signal.Signals) -> None:
    for process in processes:
        if is_running(process):
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                continue


def _birth(pid: int) -> str | None:
    """Return what tells a process from later ones with its number; None if there is none, or only a zombie."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except ProcessLookupError:  # it ended between open and read
        return None
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _birth_by_ps(pid)
    fields = after_name.split()
    # proc(5): counted from 1 with pid and name cut off, state is the third and starttime the 22nd.
    return None if fields[0] in "ZX" else f"{boot}:{fields[19]}"


def _birth_by_ps(pid: int) -> str | None:
    """Do the same on macOS, which has no /proc."""
    done = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        check=False,
        text=True,
        env={"LC_ALL": "C"},
    )
    state, _, born = done.stdout.strip().partition(" ")
    return None if not born or state.startswith("Z") else born.strip()
