"""Verdicts at all lag rows of a batch at once: the rules of `kafka_groups.verdicts`, in their order.

Property tests hold this kernel and `kafka_groups.verdicts.judge` equal. The first rule that holds gives the verdict.

Two lag rows with windows of three slots: the first one has two commits at the same offset and lag, the second advances:

    >>> evidence = Evidence(
    ...     at_ms=np.array([60_000, 60_000]),
    ...     current_lag=np.array([30, 30]),
    ...     min_end=np.array([100, 100]),
    ...     is_sampled=np.array([False, False]),
    ...     slot_ms=np.array([[NULL, 20_000, 50_000], [10_000, 20_000, 50_000]]),
    ...     committed_offset=np.array([[NULL, 70, 70], [50, 60, 70]]),
    ...     commit_lag=np.array([[NULL, 30, 30], [50, 40, 30]]),
    ...     point_end=np.full((2, verdicts.SAMPLE_POINTS), NULL),
    ...     point_lag=np.full((2, verdicts.SAMPLE_POINTS), NULL),
    ... )
    >>> judged = judge_evidence(evidence, verdicts.Rules(intervals=3))
    >>> [RULES[index] for index in judged.rule], judged.complete.round(2)
    (['stalled', 'lag_unknown'], array([0.67, 1.  ]))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups import verdicts
from kafka_groups.pipeline.build.kernels.evidence_windows import Evidence
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Floats, Ints

# The rules, from the best verdict to the worst; a rule is its index here.
RULES: Final = tuple(verdicts.VERDICTS)
# No log is this long. The sum of three such offsets fits into 64 bits.
_LARGEST_OFFSET: Final = 1 << 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The verdict at each lag row.

    `rule` is its index in RULES, and `complete` the filled share of the window, 0 to 1. `window_start_ms` is the first
    commit of the window, `window_end_ms` the last one; both are NULL without commits.
    """

    rule: Ints
    complete: Floats
    window_start_ms: Ints
    window_end_ms: Ints


def judge_evidence(evidence: Evidence, rules: verdicts.Rules) -> Verdicts:
    """Return the verdict at each row of the evidence, whose windows have `rules.intervals` slots.

    The first rule in the order of `conditions` that holds decides; without any, the pace of the lag points does.
    """
    is_filled = evidence.slot_ms != NULL
    commits = is_filled.sum(axis=1)
    complete = np.minimum(1.0, commits / rules.intervals)
    window_start_ms = evidence.slot_ms[np.arange(len(commits)), is_filled.argmax(axis=1)]
    window_end_ms = evidence.slot_ms[:, -1]
    window_ms = window_end_ms - window_start_ms
    # A window that is not full says little about how often the group commits.
    is_full = commits >= rules.intervals
    longest_pause_ms = np.where(is_full, window_ms, np.maximum(window_ms, verdicts.SILENT_MS))
    is_silent = evidence.at_ms - window_end_ms > longest_pause_ms
    stands_still = evidence.committed_offset == evidence.committed_offset[:, -1:]
    is_behind = evidence.commit_lag > rules.allowed_lag
    has_enough_commits = commits >= verdicts.MIN_COMMITS
    conditions = {
        "no_commits": commits == 0,
        "no_lag": evidence.current_lag <= rules.allowed_lag,
        "incomplete": complete < rules.minimum_complete,
        "stopped": is_silent & (evidence.min_end > evidence.committed_offset[:, -1]),
        "rewound": _are_rewound(evidence.committed_offset),
        "stalled": ((stands_still & is_behind) | ~is_filled).all(axis=1) & has_enough_commits,
    }
    indices = [RULES.index(rule) for rule in conditions]
    rule = np.select(list(conditions.values()), indices, _judge_pace(evidence, has_enough_commits, rules))
    return Verdicts(rule=rule, complete=complete, window_start_ms=window_start_ms, window_end_ms=window_end_ms)


def _are_rewound(committed_offset: Ints) -> Flags:
    """Return for each window whether its offset falls, and then stays below the offset before the first fall.

    An unfilled slot is NULL. It is below every offset, and comes before all filled slots.
    """
    rows = np.arange(len(committed_offset))
    falls = np.zeros(committed_offset.shape, np.bool_)
    falls[:, :-1] = committed_offset[:, 1:] < committed_offset[:, :-1]
    before_fall = falls.argmax(axis=1)
    is_later = np.arange(committed_offset.shape[1]) > before_fall[:, None]
    has_reached = is_later & (committed_offset >= committed_offset[rows, before_fall][:, None])
    is_rewound: Flags = falls.any(axis=1) & ~has_reached.any(axis=1)
    return is_rewound


def _judge_pace(evidence: Evidence, has_enough_commits: Flags, rules: verdicts.Rules) -> Ints:
    """Return the rule of each row by its lag points, as its index in RULES: falling_behind or keeping_up.

    Without enough points it is lag_unknown if there are enough commits, and incomplete otherwise.
    """
    points = np.where(evidence.is_sampled, verdicts.SAMPLE_POINTS, verdicts.COMMIT_POINTS)
    first = verdicts.SAMPLE_POINTS - points
    middle = first + points // 2
    last = np.full(len(points), verdicts.SAMPLE_POINTS - verdicts.COMPARED_POINTS)
    end = np.clip(evidence.point_end, -_LARGEST_OFFSET, _LARGEST_OFFSET)
    lag = np.clip(evidence.point_lag, -_LARGEST_OFFSET, _LARGEST_OFFSET)
    last_lag = _compared_points(lag, last).sum(axis=1)
    growth = last_lag - _compared_points(lag, first).sum(axis=1)
    produced = _compared_points(end, last).sum(axis=1) - _compared_points(end, first).sum(axis=1)
    grows = growth > np.maximum(0, produced) // verdicts.GROWTH_DIVISOR
    is_above_allowed = last_lag > verdicts.COMPARED_POINTS * rules.allowed_lag
    is_not_recovering = evidence.current_lag >= _compared_points(lag, middle).min(axis=1)
    is_falling_behind = grows & is_above_allowed & is_not_recovering
    pace = np.where(is_falling_behind, RULES.index("falling_behind"), RULES.index("keeping_up"))
    has_points = evidence.point_end[np.arange(len(first)), first] != NULL
    without_points = np.where(has_enough_commits, RULES.index("lag_unknown"), RULES.index("incomplete"))
    return np.where(has_points, pace, without_points)


def _compared_points(values: Ints, first: Ints) -> Ints:
    """Return a matrix of the values of COMPARED_POINTS points, from the column `first` of each row on."""
    return np.take_along_axis(values, first[:, None] + np.arange(verdicts.COMPARED_POINTS), axis=1)
