"""What polling costs: the processor time of `lag --watch`, and the time of `lag --time`, which reads records."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .measurement import WrongOutputError, run_stopwatch
from .programs import find_ours
from .report import Verdict
from .workload import WIDE_GROUP, WIDE_PARTITIONS, create_wide_group, group_name, remove_wide_group

_RUNS: Final = 3
_INTERVAL_S: Final = 5
_POLLS: Final = 7
_MAX_SHARE: Final = 0.05
_MAX_TIME_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class Polls:
    """The shares of a core that a watch used after its first poll, and the wall times of `lag --time`, of each run."""

    groups: int
    shares: Sequence[float]
    times_s: Sequence[float]


def measure_polls(bootstrap: str, *, groups: int, scratch: Path, report: Callable[[str], None]) -> Polls:
    """Watch the groups several times, and read the time lag of a group whose partitions are all behind."""
    names = [group_name(number) for number in range(groups)]
    shares = [_measure_share(bootstrap, names, scratch, report) for _ in range(_RUNS)]
    create_wide_group(bootstrap)
    try:
        times_s = [_measure_time_lag(bootstrap, scratch, report) for _ in range(_RUNS)]
    finally:
        remove_wide_group(bootstrap)
    return Polls(groups=groups, shares=shares, times_s=times_s)


def format_polls(polls: Polls) -> str:
    """Return a heading and a line for each measurement."""
    shares = [100 * share for share in polls.shares]
    times = polls.times_s
    return "\n".join(
        [
            f"### polls, {polls.groups:,} groups, {_RUNS} runs",
            "",
            (
                f"- `lag --watch {_INTERVAL_S}s`: {statistics.median(shares):.1f} % of a core "
                f"({min(shares):.1f} to {max(shares):.1f})"
            ),
            (
                f"- `lag --time`, {WIDE_PARTITIONS:,} partitions that are behind: {statistics.median(times):.2f} s "
                f"({min(times):.2f} to {max(times):.2f})"
            ),
            "",
        ]
    )


def judge_polls(polls: Polls) -> list[Verdict]:
    """Return the verdicts on both targets."""
    share, time_s = statistics.median(polls.shares), statistics.median(polls.times_s)
    return [
        Verdict(
            target=f"lag --watch {_INTERVAL_S}s of {polls.groups:,} groups: under {_MAX_SHARE:.0%} of a core",
            measured=f"{share:.1%}",
            is_reached=share < _MAX_SHARE,
        ),
        Verdict(
            target=f"lag --time of {WIDE_PARTITIONS:,} partitions that are behind: at most {_MAX_TIME_S:g} s",
            measured=f"{time_s:.2f} s",
            is_reached=time_s <= _MAX_TIME_S,
        ),
    ]


def _measure_share(bootstrap: str, names: Sequence[str], scratch: Path, report: Callable[[str], None]) -> float:
    """Return the processor time of the polls after the first one, as a share of the time between them."""
    report(f"lag --watch {_INTERVAL_S}s, {_POLLS} polls")
    output = scratch / "output.txt"
    used_s = []
    for samples in (1, _POLLS):
        command = [find_ours(), "lag", "--all-groups", "--watch", f"{_INTERVAL_S}s", "--samples", str(samples)]
        used_s.append(run_stopwatch([*command, "-b", bootstrap], output)["cpu_seconds"])
        rows = sum(line.startswith(names[0][:-1]) for line in output.read_text(encoding="utf-8").splitlines())
        _require(rows >= samples, f"{samples} polls printed {rows} rows")
    return float(used_s[1] - used_s[0]) / ((_POLLS - 1) * _INTERVAL_S)


def _measure_time_lag(bootstrap: str, scratch: Path, report: Callable[[str], None]) -> float:
    report("lag --time")
    output = scratch / "output.txt"
    command = [find_ours(), "lag", WIDE_GROUP, "--time", "--by", "partition", "--format", "json", "-b", bootstrap]
    seconds = run_stopwatch(command, output)["seconds"]
    (group,) = json.loads(output.read_text(encoding="utf-8"))["groups"]
    exact = sum(row["time_lag_quality"] == "exact" and row["time_lag_ms"] > 0 for row in group["rows"])
    _require(exact == WIDE_PARTITIONS, f"{exact} of {WIDE_PARTITIONS} time lags are exact")
    return float(seconds)


def _require(is_right: bool, problem: str) -> None:
    if not is_right:
        raise WrongOutputError(problem)
