"""How a group does, judged on its last commits: Burrow's rules, in Burrow's order (evaluator/caching.go). Pure.

| rule | verdict | it holds when |
|---|---|---|
| no_lag | OK | the lag is at most `allowed_lag` now |
| no_commits | OK | there is no commit to judge |
| incomplete | OK | fewer slots of the window are filled than `minimum_complete` asks for |
| stopped | STOP | the last commit is longer ago than the window is long, and no stored log end was reached by it |
| rewound | REWIND | an offset fell below the one before it, and none since has reached that one again |
| stalled | STALL | every commit had lag, and none moved |
| falling_behind | WARN | every commit had lag, and it never fell from one commit to the next |
| keeping_up | OK | none of the above |

The first rule that holds gives the verdict. A group has that of its worst partition, where STOP, STALL and REWIND
are ERR. `pipeline/steps/status.py` says the same in Spark; `tests/pipeline/steps/verdict_cases.py` holds both to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Final

# From the best to the worst; of Burrow's three errors the one with the highest number is the worst.
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
# What stood there when sampling began counts as the last commit once it did not move for so long.
UNMOVED_MS: Final = 600_000
_RANK: Final = {rule: rank for rank, rule in enumerate(VERDICTS)}
_OF_A_GROUP: Final = MappingProxyType({"OK": "OK", "WARN": "WARN", "STOP": "ERR", "STALL": "ERR", "REWIND": "ERR"})


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its offset, when it was made, and the lag that it left (None: the log end was not known then)."""

    offset: int
    at_ms: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """What a partition is judged by: its last commits and last log ends, both ascending in time, until now.

    `current_lag` is None where the log end is not known; then nothing is called caught up.
    """

    commits: Sequence[Commit]
    ends: Sequence[int]
    now_ms: int
    current_lag: int | None


@dataclass(frozen=True, slots=True)
class Rules:
    """Burrow's settings, with its defaults: slots of a window, records of lag that are fine, share of a window."""

    intervals: int = 10
    allowed_lag: int = 0
    minimum_complete: float = 0.0
    min_distance_ms: int = 1_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, by which rule, and how much of the window (of a group: of its partitions) was there for it."""

    status: str
    rule: str
    complete: float


def judge(window: Window, rules: Rules) -> Verdict:
    """The verdict on one partition."""
    complete = min(1.0, len(window.commits) / rules.intervals)
    rule = _rule_of(window, rules, complete)
    return Verdict(VERDICTS[rule], rule, complete)


def judge_group(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst verdict as OK, WARN or ERR, with its rule; complete is the share of partitions that are complete."""
    found = tuple(verdicts)
    if not found:
        return Verdict("OK", "no_commits", 0.0)
    worst = max(found, key=lambda verdict: _RANK[verdict.rule])
    complete = sum(verdict.complete >= 1 for verdict in found) / len(found)
    return Verdict(_OF_A_GROUP[worst.status], worst.rule, complete)


def thin(commits: Iterable[Commit], min_distance_ms: int) -> list[Commit]:
    """One commit for each slot of time: the offset and lag of its last one, the time of its first one.

    Slots are fixed, `floor(at_ms / min_distance_ms)`. Burrow drops what comes too soon after the commit before, so
    what it keeps depends on where it began to read; with fixed slots late, replayed and split input give the same.
    `commits` ascend in time.
    """
    slots = (tuple(slot) for _, slot in groupby(commits, key=lambda commit: commit.at_ms // min_distance_ms))
    return [Commit(slot[-1].offset, slot[0].at_ms, slot[-1].lag) for slot in slots]


def seen(samples: Iterable[Commit], now_ms: int) -> list[Commit]:
    """The commits that samples tell of: one for each time that they saw another offset than before.

    A sample tells what is committed, not when: of equal ones the first is nearest to the commit. The very first may be
    as old as the group, so alone it says nothing until it did not move for ten minutes. Samples ascend in time.
    """
    moves = [next(equal) for _, equal in groupby(samples, key=lambda sample: sample.offset)]
    return moves if len(moves) > 1 or any(now_ms - move.at_ms > UNMOVED_MS for move in moves) else []


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
