"""The rules that a build had before: Burrow's (evaluator/caching.go), on lags that were interpolated between samples.

Streams of tests show what they got wrong: see `tests/verdict_streams.py`.

| rule | verdict | it holds when |
|---|---|---|
| no_lag | OK | the current lag is at most `allowed_lag` |
| no_commits | OK | there is no commit to judge |
| incomplete | OK | fewer slots of the window are filled than `minimum_complete` requires |
| stopped | STOP | the last commit is longer ago than the window is long, and is below all log end offsets of it |
| rewound | REWIND | an offset is below the previous one, and no later offset has reached the previous one again |
| stalled | STALL | every commit had lag, and all have the same offset |
| falling_behind | WARN | every commit had lag, and the lag never decreased from one commit to the next |
| keeping_up | OK | none of the above |

The first rule that holds gives the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Final

from kafka_groups.verdicts import Rules

# From the best to the worst; the worst of Burrow's three errors is the one with the highest number.
VERDICTS: Final = MappingProxyType(
    {
        "no_commits": "OK",
        "incomplete": "OK",
        "no_lag": "OK",
        "keeping_up": "OK",
        "falling_behind": "WARN",
        "stopped": "STOP",
        "stalled": "STALL",
        "rewound": "REWIND",
    }
)
# The offset of the first sample counts as a commit once it has not changed for this long.
UNMOVED_MS: Final = 600_000
_RANK: Final = {rule: rank for rank, rule in enumerate(VERDICTS)}
_OF_A_GROUP: Final = MappingProxyType({"OK": "OK", "WARN": "WARN", "STOP": "ERR", "STALL": "ERR", "REWIND": "ERR"})


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its offset, its time, and the lag after it (None: the log end offset was unknown)."""

    offset: int
    at_ms: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """The last commits and the last log end offsets of a partition until now, both ascending in time.

    `current_lag` is None if the log end offset is unknown; then the rule `no_lag` does not hold.
    """

    commits: Sequence[Commit]
    ends: Sequence[int]
    now_ms: int
    current_lag: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict: its status, its rule, and which share of the window (for a group: of its partitions) was complete."""

    status: str
    rule: str
    complete: float


def judge(window: Window, rules: Rules) -> Verdict:
    """Return the verdict on one partition."""
    complete = min(1.0, len(window.commits) / rules.intervals)
    rule = _rule_of(window, rules, complete)
    return Verdict(VERDICTS[rule], rule, complete)


def thin(commits: Iterable[Commit], min_distance_ms: int) -> list[Commit]:
    """Return one commit for each slot of time: the offset and lag of its last commit, the time of its first one.

    Slots are fixed, `floor(at_ms / min_distance_ms)`. Burrow drops commits that come too soon after the previous one,
    so its result depends on where it began to read. With fixed slots, late, replayed and split input give the same
    result. `commits` ascend in time.
    """
    slots = (tuple(slot) for _, slot in groupby(commits, key=lambda commit: commit.at_ms // min_distance_ms))
    return [Commit(slot[-1].offset, slot[0].at_ms, slot[-1].lag) for slot in slots]


def _rule_of(window: Window, rules: Rules, complete: float) -> str:
    if window.current_lag is not None and window.current_lag <= rules.allowed_lag:
        return "no_lag"
    if not window.commits:
        return "no_commits"
    if complete < rules.minimum_complete:
        return "incomplete"
    if _has_stopped(window):
        return "stopped"
    return "rewound" if _was_rewound(window.commits) else _pace_of(window.commits, rules)


def _pace_of(commits: Sequence[Commit], rules: Rules) -> str:
    lags = [commit.lag for commit in commits if commit.lag is not None]
    if all(lag > rules.allowed_lag for lag in lags):
        if all(commit.offset == commits[0].offset for commit in commits):
            return "stalled"
        if all(after >= before for before, after in pairwise(lags)):
            return "falling_behind"
    return "keeping_up"


def _has_stopped(window: Window) -> bool:
    first, last = window.commits[0], window.commits[-1]
    is_silent = window.now_ms - last.at_ms > last.at_ms - first.at_ms
    return is_silent and not any(end <= last.offset for end in window.ends)


def _was_rewound(commits: Sequence[Commit]) -> bool:
    fall = next((at for at in range(1, len(commits)) if commits[at].offset < commits[at - 1].offset), None)
    return fall is not None and all(commit.offset < commits[fall - 1].offset for commit in commits[fall:])
