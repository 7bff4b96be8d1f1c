"""The start of the tool as users install it: a wheel in an environment of its own, with compiled modules.

`--help` and `list` are measured in turns with other programs and with their floor: the import of click, and one round
trip to a broker. kcl is measured if it is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .measurement import Measurement, Run, interleave, run_checked
from .programs import CONFLUENT, KAFKAS, KCL, Digest, Program, digest_of_ids, programs_for_list
from .proxy_process import measure_round_trip_ms
from .report import Verdict, format_table
from .workload import expected_ids

RUNS: Final = 15
GROUPS: Final = 10_000
CLICK: Final = "import click"
HELP: Final = "kafka-groups --help"
LIST: Final = "kafka-groups list"
_ROOT: Final = Path(__file__).parents[2]
# Outputs that are not checked: an import prints nothing, and tests check the help.
_UNCHECKED: Final = Digest(rows=0, sums=())


@dataclass(frozen=True, kw_only=True)
class Start:
    """The measurements of one session, with a number of groups; the round trip is that of the cheapest request."""

    groups: int
    round_trip_ms: float
    measurements: Sequence[Measurement]

    def ratio(self, name: str, other: str) -> float | None:
        """Return how many times as long one program takes as another; None if that was not measured."""
        medians = {measurement.name: measurement.median_s() for measurement in self.measurements}
        return medians[name] / medians[other] if other in medians else None


def measure_start(bootstrap: str, *, groups: int, scratch: Path, report: Callable[[str], None]) -> Start:
    """Install the wheel, and measure all programs."""
    report("installing the wheel")
    programs = _programs(_install_wheel(scratch))
    expected = expected_ids(groups)

    def run(program: Program) -> Run:
        report(program.name)
        is_list = program.name not in (CLICK, HELP)
        return run_checked(program, bootstrap, expected=expected if is_list else _UNCHECKED, scratch=scratch)

    for program in programs:
        run(program)
    runs = interleave(programs, run, times=lambda _: RUNS)
    measurements = [Measurement(name=each.name, about=each.about, runs=runs[each.name]) for each in programs]
    return Start(groups=groups, round_trip_ms=measure_round_trip_ms(bootstrap), measurements=measurements)


def format_start(start: Start) -> str:
    """Return a heading and a table."""
    click = next(measurement for measurement in start.measurements if measurement.name == CLICK)
    rows = [("", "wall time, median (min to max)", "times import click")]
    for measurement in start.measurements:
        low, high = measurement.spread_s()
        median = measurement.median_s()
        times = f"{median:.3f} s ({low:.3f} to {high:.3f})"
        rows.append((f"{measurement.name} ({measurement.about})", times, f"{median / click.median_s():.1f}"))
    heading = (
        f"start, installed wheel, {start.groups:,} groups, {RUNS} runs (a round trip: {start.round_trip_ms:.1f} ms)"
    )
    return "\n".join([f"### {heading}", "", *format_table(rows), ""])


def judge_start(start: Start) -> list[Verdict]:
    """Return the verdicts on the targets; none if another number of groups was measured."""
    if start.groups != GROUPS:
        return []
    targets = [(HELP, CLICK, 2.0), (LIST, KAFKAS, 0.2), (LIST, KCL, 1.2)]
    if start.ratio(LIST, KCL) is None:
        targets[-1] = (LIST, CONFLUENT, 1.45)
    return [
        Verdict(target=f"{name}: at most {limit:g} times {other}", measured=f"{ratio:.2f}", is_reached=ratio <= limit)
        for name, other, limit in targets
        if (ratio := start.ratio(name, other)) is not None
    ]


def digest_of_kcl(output: Path) -> Digest:
    """Return the digest of kcl's table, whose second column is the group."""
    _, *rows = output.read_text(encoding="utf-8").splitlines()
    return digest_of_ids(row.split()[1] for row in rows)


def _programs(installed: Path) -> list[Program]:
    others = {program.name: program for program in programs_for_list()}
    own, kcl = str(installed / "kafka-groups"), shutil.which(KCL)
    return [
        _unchecked(CLICK, "python -c", [str(installed / "python"), "-c", CLICK]),
        _unchecked(HELP, "installed", [own, "--help"]),
        Program(
            name=LIST, about="installed", command=lambda b: [own, "list", "-b", b], digest=others[CONFLUENT].digest
        ),
        others[KAFKAS],
        others[CONFLUENT],
        *([] if kcl is None else [_kcl(kcl)]),
    ]


def _unchecked(name: str, about: str, command: list[str]) -> Program:
    return Program(name=name, about=about, command=lambda _: command, digest=lambda _: _UNCHECKED)


def _kcl(path: str) -> Program:
    def command(bootstrap: str) -> list[str]:
        return [path, "--no-config-file", "-B", bootstrap, "group", "list"]

    return Program(name=KCL, about="group list", command=command, digest=digest_of_kcl)


def _install_wheel(scratch: Path) -> Path:
    """Build the wheel, install it as a user does, compile all modules, and return the directory of its programs."""
    environment, wheels = scratch / "environment", scratch / "wheels"
    _pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, _ROOT)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    _pip(python, "install", *wheels.glob("*.whl"))
    subprocess.run([python, "-m", "compileall", "-q", environment / "lib"], check=True)
    return python.parent


def _pip(python: Path, command: str, *arguments: Path | str) -> None:
    options: Iterable[str] = ("--quiet", "--disable-pip-version-check")
    subprocess.run([python, "-m", "pip", command, *options, *arguments], check=True)
