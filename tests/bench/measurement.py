"""Measurements: wall time and peak memory of each run of a program whose output is correct."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .programs import Digest, Program

_STOPWATCH: Final = str(Path(__file__).with_name("stopwatch.py"))
_MIB: Final = 1024 * 1024
_TIMEOUT_S: Final = 3600


class WrongOutputError(Exception):
    """A program failed, or its output does not have the expected sums."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The wall time and the peak memory of one run."""

    seconds: float
    peak_mib: float


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """All runs of one program. `requests` are those of one run; None if they were not counted."""

    name: str
    about: str
    runs: list[Run] = field(default_factory=list)
    requests: Counter[str] | None = None

    def median_s(self) -> float:
        """Return the median of the wall times, in seconds."""
        return statistics.median(run.seconds for run in self.runs)

    def spread_s(self) -> tuple[float, float]:
        """Return the shortest and the longest wall time, in seconds."""
        return min(run.seconds for run in self.runs), max(run.seconds for run in self.runs)

    def peak_mib(self) -> float:
        """Return the peak memory of all runs, in MiB."""
        return max(run.peak_mib for run in self.runs)


def run_checked(program: Program, bootstrap: str, *, expected: Digest, scratch: Path) -> Run:
    """Run a program once; raise WrongOutputError if its output does not have the expected sums."""
    output = scratch / "output.txt"
    result = run_stopwatch(program.command(bootstrap), output)
    found = program.digest(output) if result["exit_code"] == 0 else None
    if found != expected:
        msg = f"{program.name} ended with {result['exit_code']}, {found} instead of {expected} {result['stderr'][-1:]}"
        raise WrongOutputError(msg)
    return Run(seconds=result["seconds"], peak_mib=result["peak_bytes"] / _MIB)


def run_stopwatch(command: Sequence[str], output: Path) -> dict[str, Any]:
    """Run a program once, its stdout in a file; return what the stopwatch prints, and the lines of stderr.

    The journal of a change goes to the directory of the file.
    """
    environment = {**_environment(), "XDG_STATE_HOME": str(output.with_name("state"))}
    stdout, stderr = _finish([sys.executable, "-I", "-S", _STOPWATCH, str(output), *command], environment)
    return {**json.loads(stdout), "stderr": stderr.strip().splitlines()}


def interleave(
    programs: Sequence[Program], run: Callable[[Program], Run], *, times: Callable[[Program], int]
) -> dict[str, list[Run]]:
    """Run the programs in turns, so that a busy machine affects all of them, and return the runs by program."""
    runs: dict[str, list[Run]] = {program.name: [] for program in programs}
    for turn in range(max(map(times, programs))):
        for program in programs:
            if turn < times(program):
                runs[program.name].append(run(program))
    return runs


def _finish(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return a program's stdout and stderr; an interrupt of this process kills it and the processes that it started."""
    with subprocess.Popen(
        command,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=_TIMEOUT_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("KAFKA_")}
