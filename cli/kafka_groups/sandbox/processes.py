"""Background processes that outlive the command that started them and are identified safely afterwards."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_groups.errors import SandboxError

if TYPE_CHECKING:
    import psutil

_POLL_S = 0.05
_KILL_TIMEOUT_S = 10
# The shell exits at once, so the program has no parent that must wait for it. The program is in a session of its own
# and does not receive the terminal's Ctrl-C. Its process ID is known before it can fail.
_DETACH = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!'

# The creation time is counted from the boot, in ticks, so that a step of the clock does not change it. psutil adds the
# time of the boot, which moves with the clock, so it is subtracted again; it is read in whole seconds.
_CREATION_TOLERANCE_S = 2.0
_ENDED_AT_ONCE = -1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessId:
    """A process by its number and its creation time, because the system reuses numbers.

    `created` is in seconds since the boot.
    """

    pid: int
    created: float


def start(
    command: Sequence[str | Path],
    *,
    output: Path,
    environment: Mapping[str, str] | None = None,
) -> ProcessId:
    """Start a program in the background and append all its output to a file.

    Raises SandboxError if the program cannot be started.
    """
    shell = ["/bin/sh", "-c", _DETACH, "sh", output, *command]
    try:
        launched = subprocess.run(shell, capture_output=True, check=True, start_new_session=True, env=environment)
    except (OSError, subprocess.CalledProcessError) as error:
        msg = f"{command[0]} could not be started: {error}"
        raise SandboxError(msg) from error
    return _identify(int(launched.stdout))


def is_running(process: ProcessId) -> bool:
    """Return whether this process still runs; a zombie and another process with the same number do not count."""
    return _find(process) is not None


def find_running(programs: Mapping[Path, str]) -> list[ProcessId]:
    """Return the processes whose command lines end with one of the paths, and contain the program of that path."""
    import psutil

    last_arguments = {str(path): program for path, program in programs.items()}
    found: list[ProcessId] = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or [""]  # None if the system does not show it, empty for a zombie
        if last_arguments.get(command[-1]) in command:
            found.append(_identify(process.pid))
    return found


def stop(processes: Iterable[ProcessId], *, grace_s: float) -> None:
    """Terminate processes, kill those that still run after `grace_s` seconds, and return when none runs.

    Raises SandboxError if a process belongs to another user, or does not end after it was killed.
    """
    remaining = [process for process in processes if is_running(process)]
    if grace_s > 0:
        _send_each(remaining, signal.SIGTERM)
        _await_end(remaining, timeout_s=grace_s)
    _send_each(remaining, signal.SIGKILL)
    if not _await_end(remaining, timeout_s=_KILL_TIMEOUT_S):
        pids = ", ".join(str(process.pid) for process in remaining if is_running(process))
        msg = f"these processes of the sandbox did not end after a kill: {pids}; check them with ps, then try again"
        raise SandboxError(msg)


def wait_until(condition: Callable[[], bool], *, timeout_s: float) -> bool:
    """Wait until a condition is true, and return False if it is not within `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _send_each(processes: Iterable[ProcessId], number: signal.Signals) -> None:
    import psutil

    for process in processes:
        if (running := _find(process)) is not None:
            try:
                running.send_signal(number)
            except psutil.NoSuchProcess:
                pass
            except psutil.AccessDenied as error:
                msg = f"process {process.pid} of the sandbox belongs to another user; run the command as that user"
                raise SandboxError(msg) from error


def _await_end(processes: Sequence[ProcessId], *, timeout_s: float) -> bool:
    # psutil.wait_procs waits for a zombie until its parent has collected it, and in a container the parent may never.
    return wait_until(lambda: not any(map(is_running, processes)), timeout_s=timeout_s)


def _seconds_after_boot(process: psutil.Process) -> float:
    import psutil

    return process.create_time() - psutil.boot_time()


def _identify(pid: int) -> ProcessId:
    import psutil

    try:
        return ProcessId(pid=pid, created=_seconds_after_boot(psutil.Process(pid)))
    except psutil.NoSuchProcess:
        return ProcessId(pid=pid, created=_ENDED_AT_ONCE)


def _find(process: ProcessId) -> psutil.Process | None:
    # Imported here, because the bare install has a `sandbox` command, which reports that psutil is missing.
    import psutil

    try:
        found = psutil.Process(process.pid)
        is_same = abs(_seconds_after_boot(found) - process.created) <= _CREATION_TOLERANCE_S
        has_ended = found.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # a process of another user is none of the sandbox
        return None
    return found if is_same and not has_ended else None
