"""Runs of programs: what each took, and that it answered right."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .contenders import Contender, Digest

_STOPWATCH: Final = str(Path(__file__).with_name("stopwatch.py"))
_MIB: Final = 1024 * 1024
_TIMEOUT_S: Final = 3600


class WrongAnswerError(Exception):
    """A contender did not answer what was asked."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run took."""

    seconds: float
    peak_mib: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All runs of one contender. `requests` are those of one run; None if they were not counted."""

    name: str
    about: str
    runs: list[Run] = field(default_factory=list)
    requests: Counter[str] | None = None

    def median_s(self) -> float:
        """Wall time."""
        return statistics.median(run.seconds for run in self.runs)

    def spread_s(self) -> tuple[float, float]:
        """The quickest and the slowest."""
        return min(run.seconds for run in self.runs), max(run.seconds for run in self.runs)

    def peak_mib(self) -> float:
        """The most memory that any run took."""
        return max(run.peak_mib for run in self.runs)


def run_checked(contender: Contender, bootstrap: str, *, expected: Digest, scratch: Path) -> Run:
    """Run it once; WrongAnswerError if what it printed does not add up to what is expected."""
    output = scratch / "answer.txt"
    command = [sys.executable, "-I", "-S", _STOPWATCH, str(output), *contender.command(bootstrap)]
    stdout, stderr = _finish(command)
    told = json.loads(stdout)
    found = contender.digest(output) if told["exit_code"] == 0 else None
    if found != expected:
        said = stderr.strip().splitlines()[-1:]
        msg = f"{contender.name} ended with {told['exit_code']}, {found} instead of {expected} {said}"
        raise WrongAnswerError(msg)
    return Run(seconds=told["seconds"], peak_mib=told["peak_bytes"] / _MIB)


def interleave(
    contenders: Sequence[Contender], run: Callable[[Contender], Run], *, times: Callable[[Contender], int]
) -> dict[str, list[Run]]:
    """Runs by contender, taken in turns: a machine that is busy for a while is so for all."""
    runs: dict[str, list[Run]] = {contender.name: [] for contender in contenders}
    for turn in range(max(map(times, contenders))):
        for contender in contenders:
            if turn < times(contender):
                runs[contender.name].append(run(contender))
    return runs


def _finish(command: Sequence[str]) -> tuple[str, str]:
    """What a program wrote; whatever interrupts us ends it, too, with those that it started."""
    with subprocess.Popen(
        command,
        env=_environment(),
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
