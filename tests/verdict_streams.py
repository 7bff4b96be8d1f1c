"""Simulated groups: streams of records, groups that read them, commits and samples of both, and their verdicts.

`python -m tests.verdict_streams` prints the table of all streams, for a group that is always half a second behind and
for one that reads 90 % of what is produced.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, starmap
from operator import attrgetter
from typing import Any, TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

from kafka_groups.verdicts import (
    COMMIT_POINTS,
    SAMPLE_POINTS,
    Commit,
    LogEnd,
    Point,
    Rules,
    Sample,
    Window,
    commit_lag,
    judge,
    lag_points,
    sampled_window,
    thin,
)
from tests import burrow_rules

Times: TypeAlias = NDArray[np.float64]
Offsets: TypeAlias = NDArray[np.int64]
STREAMS = ("constant", "wave", "daily wave", "poisson")
RULES = Rules()
# Commits are at least 0.2 s apart, so these fill more than the slots of a window.
RECENT = 100
# A sampler asks for committed offsets first, and for log ends then.
BETWEEN_REQUESTS_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A stream and a group that reads `reads` of what is produced, half a second behind.

    `jitter_s` is how much later or earlier it may be; `pauses` a minute make one commit up to three seconds late.
    """

    stream: str = "constant"
    rate: int = 100
    commit_s: float = 1.0
    sample_s: int = 60
    reads: float = 1.0
    jitter_s: float = 0.2
    pauses: float = 0.0
    evaluations: int = 500
    seed: int = 20261123


DISTURBED = (Scenario(jitter_s=0), Scenario(jitter_s=0.02), Scenario(), Scenario(pauses=1))


@dataclass(frozen=True)
class History:
    """What was committed, and what a sampler saw."""

    commits: list[Commit]
    ends: list[LogEnd]
    samples: list[Sample]


def simulate(scenario: Scenario) -> History:
    """Return the commits, log ends and samples of a scenario."""
    chance = np.random.default_rng(scenario.seed)
    duration_s = scenario.sample_s * (scenario.evaluations + 1)
    log_end = _log_end_of(scenario, duration_s, chance)
    planned = np.arange(0, duration_s, scenario.commit_s).astype(np.float64)
    times = planned + chance.uniform(0, min(scenario.jitter_s, scenario.commit_s / 2), len(planned))
    behind_s = 0.5 + chance.uniform(-scenario.jitter_s, scenario.jitter_s, len(times))
    is_late = chance.random(len(times)) < scenario.pauses * scenario.commit_s / 60
    behind_s += np.where(is_late, chance.uniform(1, 3, len(times)), 0)
    offsets = np.maximum.accumulate(log_end(times - behind_s))
    if scenario.reads < 1:
        offsets = np.floor(scenario.reads * offsets).astype(np.int64)
    rounds = np.arange(1, scenario.evaluations + 1).astype(np.float64)
    sampled = rounds * scenario.sample_s + chance.uniform(0, scenario.jitter_s, scenario.evaluations)
    seen = np.maximum(0, np.searchsorted(times, sampled - BETWEEN_REQUESTS_S, side="right") - 1)
    ends, commit_ms, sample_ms = log_end(sampled), _to_ms(times), _to_ms(sampled)
    return History(
        _with_lags(list(starmap(Commit, zip(offsets.tolist(), commit_ms, strict=True))), ends.tolist(), sample_ms),
        list(starmap(LogEnd, zip(ends.tolist(), sample_ms, strict=True))),
        list(starmap(Sample, zip(offsets[seen].tolist(), ends.tolist(), sample_ms, strict=True))),
    )


def commit_windows(history: History) -> Iterator[Window]:
    """Yield the window of commits at each log end."""
    points = lag_points(history.commits, history.ends)
    for place, end in enumerate(history.ends, 1):
        until = bisect_right(history.commits, end.at_ms, key=attrgetter("at_ms"))
        known = bisect_right(points, end.at_ms, key=attrgetter("known_ms"))
        recent, ends = history.commits[max(0, until - RECENT) : until], history.ends[:place][-RULES.intervals :]
        yield window_of(recent, [each.offset for each in ends], points[max(0, known - COMMIT_POINTS) : known], end)


def window_of(commits: Sequence[Commit], ends: Sequence[int], points: Sequence[Point], end: LogEnd) -> Window:
    """Return the window of commits and log ends until the last one of them."""
    slots = thin(commits, RULES.min_distance_ms)[-RULES.intervals :]
    return Window(slots, ends, points, end.at_ms, end.offset - commits[-1].offset if commits else None)


def sample_windows(history: History) -> Iterator[Window]:
    """Yield the window of samples alone at each sample."""
    recent = 2 * SAMPLE_POINTS
    return (sampled_window(history.samples[max(0, at - recent) : at], RULES) for at in range(1, len(history.ends) + 1))


def verdicts(windows: Iterator[Window]) -> list[str]:
    return [judge(window, RULES).status for window in windows]


def old_verdicts(history: History, *, is_interpolated: bool = True) -> list[str]:
    """Return the verdicts of the old rules, for which log ends at commits were interpolated; and without, Burrow's."""
    end_ms, ends = ([getattr(end, name) for end in history.ends] for name in ("at_ms", "offset"))
    times = [commit.at_ms for commit in history.commits]
    between = np.floor(np.interp(times, end_ms, ends)).astype(np.int64).tolist()
    lags = [max(0, end - each.offset) for each, end in zip(history.commits, between, strict=True)]
    commits = [
        burrow_rules.Commit(each.offset, each.at_ms, lag if is_interpolated and each.lag is not None else each.lag)
        for each, lag in zip(history.commits, lags, strict=True)
    ]
    found = []
    for place, at_ms in enumerate(end_ms):
        until = bisect_right(times, at_ms)
        slots = burrow_rules.thin(commits[max(0, until - RECENT) : until], RULES.min_distance_ms)[-RULES.intervals :]
        lag = ends[place] - history.commits[until - 1].offset
        window = burrow_rules.Window(slots, ends[max(0, place + 1 - RULES.intervals) : place + 1], at_ms, lag)
        found.append(burrow_rules.judge(window, RULES).status)
    return found


def share_of(status: str, found: Sequence[str]) -> float:
    return sum(each == status for each in found) / len(found)


def _to_ms(times: Times) -> list[int]:
    milliseconds: list[int] = np.round(times * 1_000).astype(np.int64).tolist()
    return milliseconds


def _with_lags(commits: Sequence[Commit], ends: Sequence[int], sample_ms: Sequence[int]) -> list[Commit]:
    observed = list(starmap(LogEnd, zip(ends, sample_ms, strict=True)))
    return [Commit(each.offset, each.at_ms, commit_lag(each.offset, each.at_ms, observed)) for each in commits]


def _log_end_of(scenario: Scenario, duration_s: float, chance: Any) -> Callable[[Times], Offsets]:
    """Return the log end offset as a function of time."""
    if scenario.stream == "poisson":
        count = chance.poisson(scenario.rate * duration_s)
        arrivals = np.sort(chance.uniform(0, duration_s, count))
        return lambda times: np.searchsorted(arrivals, times, side="right").astype(np.int64)
    height, period_s = {"constant": (0.0, 1), "wave": (0.1, 300), "daily wave": (0.5, 86_400)}[scenario.stream]
    frequency = 2 * np.pi / period_s

    def log_end(times: Times) -> Offsets:
        since = np.maximum(0, times)
        waves = height / frequency * (1 - np.cos(frequency * since))
        offsets: Offsets = np.floor(scenario.rate * (since + waves)).astype(np.int64)
        return offsets

    return log_end


@dataclass(frozen=True)
class Figures:
    """How often a healthy group is neither OK nor UNKNOWN, and how often, after two windows, a slow one is WARN.

    `first` is the number of the evaluation that is the first to be WARN.
    """

    healthy: float
    slow: float
    first: float

    def __str__(self) -> str:
        return f"{self.healthy:.1%} | {self.slow:.1%} | {self.first}"


def measure(scenario: Scenario) -> tuple[float, Figures, Figures]:
    """Return the false alarms of the old rules, the figures of commits, and those of samples alone."""
    healthy, slow = simulate(scenario), simulate(replace(scenario, reads=0.9))
    of_commits = _figures(commit_windows(healthy), commit_windows(slow), COMMIT_POINTS)
    of_samples = _figures(sample_windows(healthy), sample_windows(slow), SAMPLE_POINTS)
    return share_of("WARN", old_verdicts(healthy)), of_commits, of_samples


def _figures(healthy: Iterator[Window], slow: Iterator[Window], points: int) -> Figures:
    fine, behind = verdicts(healthy), verdicts(slow)
    first = behind.index("WARN") + 1 if "WARN" in behind else math.inf
    alarms = sum(each not in {"OK", "UNKNOWN"} for each in fine) / len(fine)
    return Figures(alarms, share_of("WARN", behind[2 * points :]), first)


def worst_of(found: Sequence[Figures]) -> Figures:
    return Figures(
        max(each.healthy for each in found), min(each.slow for each in found), max(each.first for each in found)
    )


def main() -> None:
    """Print the worst figures of each stream over rates and disturbances."""
    others = " | ".join(f"{kind}: false alarms | WARN, 90 % | first WARN" for kind in ("commits", "samples"))
    click.echo(f"| stream | commits every | sampled every | old rules: false WARN | {others} |")
    click.echo("|---" * 10 + "|")
    for stream, commit_s, sample_s in product(STREAMS, (0.2, 1, 5), (15, 60)):
        old, of_commits, of_samples = zip(
            *(
                measure(replace(disturbed, stream=stream, rate=rate, commit_s=commit_s, sample_s=sample_s))
                for rate, disturbed in product((10, 100), DISTURBED)
            ),
            strict=True,
        )
        cells = f"{max(old):.1%} | {worst_of(of_commits)} | {worst_of(of_samples)}"
        click.echo(f"| {stream} | {commit_s} s | {sample_s} s | {cells} |")


if __name__ == "__main__":
    main()
