"""The wall time and the peak memory of a command, which may start a JVM and Python workers."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psutil

_WATCH_EVERY_S: Final = 0.1
_KIB: Final = 1024


class Usage(NamedTuple):
    """The wall time of one run, and the peak memory of the largest of its Python processes.

    The JVM does not count: its heap has a limit, and how much of it is in use depends on when it collects garbage.
    """

    seconds: float
    peak_mib: float


def run_measured(command: Sequence[str], environment: Mapping[str, str], directory: Path, timeout_s: float) -> Usage:
    """Run a command in a working directory; raise RuntimeError with the end of its output if it fails."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, cwd=directory, stdout=output, stderr=output)
        watch = _MemoryWatch(process, deadline=start + timeout_s)
        watch.start()
        exit_code = process.wait()
        seconds = time.perf_counter() - start
        watch.join()
        if exit_code != 0:
            output.seek(0)
            end = output.read()[-3000:].decode(errors="replace")
            message = f"{' '.join(command)} ended with {exit_code}: {end}"
            raise RuntimeError(message)
    return Usage(seconds, watch.peak_kib / _KIB)


class _MemoryWatch(threading.Thread):
    """A thread that reads the peak memory of a process and of its descendants, and kills the process at a deadline.

    Linux keeps the peak of a process itself, so only the growth in the last 0.1 s of a process is not seen.
    """

    def __init__(self, process: subprocess.Popen[bytes], *, deadline: float) -> None:
        super().__init__(daemon=True)
        self.peak_kib = 0
        self._process = process
        self._deadline = deadline

    def run(self) -> None:
        """Watch until the process ends."""
        while self._process.poll() is None:
            for process in _family(self._process.pid):
                self.peak_kib = max(self.peak_kib, _python_peak_kib(process.pid))
            if time.perf_counter() > self._deadline:
                self._process.kill()
            time.sleep(_WATCH_EVERY_S)


def _family(pid: int) -> list[psutil.Process]:
    """Return a process and its descendants; none of them if it has ended."""
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _python_peak_kib(pid: int) -> int:
    """Return the peak resident memory of a Python process in KiB; 0 for other programs and ended processes."""
    directory = Path("/proc", str(pid))
    try:
        program = (directory / "cmdline").read_bytes().split(b"\0")[0]
        status = (directory / "status").read_text()
    except OSError:
        return 0
    if b"python" not in program.rpartition(b"/")[2]:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
