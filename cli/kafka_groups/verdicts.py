"""Verdicts on consumer groups: Burrow's rules (evaluator/caching.go) on commits, and a rule of our own for slow readers.

A partition is judged at each observation of its log end. The first rule that holds gives the verdict:

| rule | verdict | when it holds |
|---|---|---|
| no_commits | UNKNOWN | the window has no commit |
| lag_unknown | UNKNOWN | the log end offset is unknown |
| no_lag | OK | the current lag is at most `allowed_lag` |
| incomplete | UNKNOWN | the window is filled by less than `minimum_complete` |
| stopped | STOP | the last commit is longer ago than the window is long, and below all of the last log ends; if the window is not full, it is also more than ten minutes ago |
| rewound | REWIND | an offset is below the previous one, and no later offset has reached the previous one again |
| stalled | STALL | two commits or more, all with the same offset and with a known lag above `allowed_lag` |
| falling_behind | WARN | the mean lag of the last three points is above `allowed_lag`, it exceeds that of the first three by more than 5 % of what was produced between them, and the current lag is not below the lowest of the three points from the middle on |
| keeping_up | OK | there are enough points for `falling_behind`, and it does not hold |
| incomplete | UNKNOWN | the window has one commit only |
| lag_unknown | UNKNOWN | there are too few points |

The window has the last `intervals` commits, one per slot of `min_distance_ms`. A point is a log end whose lag is known:
an observed log end with commits before and after it, between which the committed offset is interpolated (`lag_points`);
without commits from `__consumer_offsets`, a sample that shows another offset than the sample before (`moves`).
`falling_behind` takes the last 5 points of commits, or the last 12 of samples.

A group has the verdict of its worst partition: OK < UNKNOWN < WARN < STOP < STALL < REWIND.
"""  # noqa: E501  (a row of a table is one line)

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

# From the best to the worst.
VERDICTS: Final = MappingProxyType(
    {
        "no_lag": "OK",
        "keeping_up": "OK",
        "no_commits": "UNKNOWN",
        "incomplete": "UNKNOWN",
        "lag_unknown": "UNKNOWN",
        "falling_behind": "WARN",
        "stopped": "STOP",
        "stalled": "STALL",
        "rewound": "REWIND",
    }
)
# A window that is not full is no measure of how often the group commits: compaction may have left one commit of many.
SILENT_MS: Final = 600_000
# Interpolated lags vary little. Sampled ones vary by what is produced between two commits, so they need more points.
COMMIT_POINTS: Final = 5
SAMPLE_POINTS: Final = 12
# The lags of this many points are compared: one alone may be that of a late commit.
COMPARED_POINTS: Final = 3
# A lag that grows by more than one twentieth of what is produced grows.
GROWTH_DIVISOR: Final = 20
# One commit shows neither progress nor a standstill.
MIN_COMMITS: Final = 2
_RANK: Final = {rule: rank for rank, rule in enumerate(VERDICTS)}


class Commit(NamedTuple):
    """A commit: its offset, its time, and the lag after it (None: no log end offset was known yet)."""

    offset: int
    at_ms: int
    lag: int | None = None


class LogEnd(NamedTuple):
    """A log end offset and when it was observed."""

    offset: int
    at_ms: int


class Sample(NamedTuple):
    """A committed offset and the log offsets observed with it; `start` is 0 unless it is above the committed offset."""

    offset: int
    end: int
    at_ms: int
    start: int = 0

    @property
    def lag(self) -> int:
        """Return the number of messages that can still be read; it is negative if the commit is above the log end."""
        return self.end - max(self.offset, self.start)


class Point(NamedTuple):
    """A log end offset, the lag of the group at the time of its observation, and from when on that lag is known."""

    end: int
    lag: int
    known_ms: int


class Window(NamedTuple):
    """The evidence on a partition at a time, everything ascending in time and of one log.

    `commits` are the last `intervals` ones, thinned. `ends` are the last `intervals` log end offsets until now.
    `current_lag` is that of the last observation (None: unknown). `points` are the last ones known by now; `is_sampled`
    if they and the commits come from samples alone.
    """

    commits: Sequence[Commit]
    ends: Sequence[int]
    points: Sequence[Point]
    now_ms: int
    current_lag: int | None
    is_sampled: bool = False


class Evidence(NamedTuple):
    """The part of a window of samples that changes with a commit alone."""

    commits: Sequence[Commit]
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Rules:
    """Burrow's settings, with its defaults.

    `intervals` is the number of slots of a window, `allowed_lag` a lag in records that is still OK, `minimum_complete`
    the share of slots that must be filled, `min_distance_ms` the length of a slot. Raises ValueError for others.
    """

    intervals: int = 10
    allowed_lag: int = 0
    minimum_complete: float = 0.0
    min_distance_ms: int = 1_000

    def __post_init__(self) -> None:
        """Refuse what no window can have, NaN included."""
        if min(self.intervals - 1, self.allowed_lag, self.min_distance_ms) < 0 or not 0 <= self.minimum_complete <= 1:
            msg = f"{self} has a number that is out of range"
            raise ValueError(msg)


class Verdict(NamedTuple):
    """A verdict: its status, its rule, and the filled share of the window (of a group: the share of full windows)."""

    status: str
    rule: str
    complete: float


def judge(window: Window, rules: Rules) -> Verdict:
    """Return the verdict on one partition."""
    complete = min(1.0, len(window.commits) / rules.intervals)
    rule = _rule_of(window, rules, complete)
    return Verdict(VERDICTS[rule], rule, complete)


def judge_group(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict on a partition, with the share of partitions whose windows are full."""
    found = tuple(verdicts)
    if not found:
        return Verdict(VERDICTS["no_commits"], "no_commits", 0.0)
    worst = max(found, key=lambda verdict: _RANK[verdict.rule])
    return Verdict(worst.status, worst.rule, sum(verdict.complete >= 1 for verdict in found) / len(found))


def commit_lag(offset: int, at_ms: int, ends: Sequence[LogEnd]) -> int | None:
    """Return the lag after a commit, against the last log end observed by then, as Burrow does."""
    seen = bisect_right(ends, at_ms, key=attrgetter("at_ms"))
    return max(0, ends[seen - 1].offset - offset) if seen else None


def thin(commits: Iterable[Commit], min_distance_ms: int) -> list[Commit]:
    """Return one commit for each slot of time: the offset and lag of its last commit, the time of its first one.

    Slots are fixed, `floor(at_ms / min_distance_ms)`, so late, replayed and split input give the same result. Burrow
    drops commits that come too soon after the previous one. `commits` ascend in time.
    """
    slots: list[Commit] = []
    open_slot = None
    for commit in commits:
        number = commit.at_ms // min_distance_ms
        if number == open_slot:
            slots[-1] = Commit(commit.offset, slots[-1].at_ms, commit.lag)
        else:
            slots.append(commit)
        open_slot = number
    return slots


def lag_points(commits: Sequence[Commit], ends: Iterable[LogEnd]) -> list[Point]:
    """Return the points of a group: observed log ends with a commit before (or at) them and one at or after them.

    The lag at a log end is known from the second commit on. Of several log ends between the same two commits the last
    one counts: between two commits far apart the interpolated offset is a straight line, and production is not.
    `commits` are all commits, not thinned; both ascend in time.
    """
    points: dict[int, Point] = {}
    for end in ends:
        following = bisect_left(commits, end.at_ms, key=attrgetter("at_ms"))
        if following < len(commits) and (offset := _offset_at(end.at_ms, commits, following)) is not None:
            points[following] = Point(end.offset, max(0, end.offset - offset), commits[following].at_ms)
    return list(points.values())


def moves(samples: Iterable[Sample]) -> list[Sample]:
    """Return the samples that show a commit: the first one of each committed offset.

    A sample has the committed offset, but not the time of the commit: of samples with the same offset, the first one
    is the closest to that time. The commit of the very first sample may be as old as the group. Samples ascend in time.
    """
    return [next(equal) for _, equal in groupby(samples, key=attrgetter("offset"))]


def evidence_of(changes: Sequence[Sample], rules: Rules) -> Evidence:
    """Return the part of a window that changes with a commit alone; `changes` are the `moves` of all samples."""
    commits = [Commit(change.offset, change.at_ms, max(0, change.lag)) for change in changes]
    points = [Point(change.end, max(0, change.lag), change.at_ms) for change in changes[-SAMPLE_POINTS:]]
    return Evidence(thin(commits, rules.min_distance_ms)[-rules.intervals :], points)


def sampled_window(samples: Sequence[Sample], rules: Rules) -> Window:
    """Return the evidence at the last one of a partition's samples, which ascend in time; there must be one."""
    return moved_window(evidence_of(moves(samples), rules), [sample.end for sample in samples], samples[-1], rules)


def moved_window(evidence: Evidence, ends: Sequence[int], last: Sample, rules: Rules) -> Window:
    """Return the evidence at the last sample; `ends` are the log ends of all samples, as many as the window has."""
    return Window(evidence.commits, ends[-rules.intervals :], evidence.points, last.at_ms, last.lag, is_sampled=True)


def _rule_of(window: Window, rules: Rules, complete: float) -> str:
    lag = window.current_lag
    if not window.commits or lag is None:
        return "lag_unknown" if window.commits else "no_commits"
    if lag <= rules.allowed_lag:
        return "no_lag"
    if complete < rules.minimum_complete:
        return "incomplete"
    return _error_of(window, rules) or _pace_of(window, lag, rules)


def _error_of(window: Window, rules: Rules) -> str | None:
    if _has_stopped(window, rules):
        return "stopped"
    if _was_rewound(window.commits):
        return "rewound"
    return "stalled" if _has_stalled(window.commits, rules) else None


def _has_stopped(window: Window, rules: Rules) -> bool:
    first, last = window.commits[0], window.commits[-1]
    length_ms = last.at_ms - first.at_ms
    usual_ms = length_ms if len(window.commits) >= rules.intervals else max(length_ms, SILENT_MS)
    return window.now_ms - last.at_ms > usual_ms and min(window.ends, default=last.offset) > last.offset


def _was_rewound(commits: Sequence[Commit]) -> bool:
    fall = next((at for at in range(1, len(commits)) if commits[at].offset < commits[at - 1].offset), None)
    return fall is not None and all(commit.offset < commits[fall - 1].offset for commit in commits[fall:])


def _has_stalled(commits: Sequence[Commit], rules: Rules) -> bool:
    return len(commits) >= MIN_COMMITS and all(
        commit.offset == commits[0].offset and commit.lag is not None and commit.lag > rules.allowed_lag
        for commit in commits
    )


def _pace_of(window: Window, current_lag: int, rules: Rules) -> str:
    count = SAMPLE_POINTS if window.is_sampled else COMMIT_POINTS
    points = window.points[-count:]
    if len(points) < count:
        return "incomplete" if len(window.commits) < MIN_COMMITS else "lag_unknown"
    first, last = points[:COMPARED_POINTS], points[-COMPARED_POINTS:]
    growth = sum(point.lag for point in last) - sum(point.lag for point in first)
    produced = sum(point.end for point in last) - sum(point.end for point in first)
    # The division comes first, so that no product is larger than an offset.
    has_grown = growth > max(0, produced) // GROWTH_DIVISOR
    is_behind = sum(point.lag for point in last) > COMPARED_POINTS * rules.allowed_lag
    middle = points[count // 2 : count // 2 + COMPARED_POINTS]
    has_fallen_since = current_lag < min(point.lag for point in middle)
    return "falling_behind" if has_grown and is_behind and not has_fallen_since else "keeping_up"


def _offset_at(at_ms: int, commits: Sequence[Commit], following: int) -> int | None:
    """Return the committed offset at a time; `following` is the first commit at or after it."""
    after = commits[following]
    if after.at_ms == at_ms:
        # Of commits of the same time the last one counts.
        return commits[bisect_right(commits, at_ms, lo=following, key=attrgetter("at_ms")) - 1].offset
    if following == 0:
        return None
    before = commits[following - 1]
    share = (at_ms - before.at_ms) / (after.at_ms - before.at_ms)
    return before.offset + math.floor((after.offset - before.offset) * share)
