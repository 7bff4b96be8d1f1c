"""The rules of `kafka_groups.verdicts` on many windows at once; property tests hold both to be equal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Floats, Ints
from kafka_groups.pipeline.transform.kernels.windows import Windows
from kafka_groups.verdicts import (
    COMMIT_POINTS,
    COMPARED_POINTS,
    GROWTH_DIVISOR,
    LEAST_COMMITS,
    SAMPLE_POINTS,
    SILENT_MS,
    VERDICTS,
    Rules,
)

RULES: Final = tuple(VERDICTS)
_RANK: Final = {rule: rank for rank, rule in enumerate(RULES)}
_LARGEST: Final = int(np.iinfo(np.int64).max)
# Offsets that no log reaches: three of them can be added up.
_MOST: Final = 1 << 60


@dataclass(frozen=True, slots=True)
class Evidence:
    """What each lag row is judged on: its window, the least of the last log ends, and the points of both origins."""

    rows: LagRows
    windows: Windows
    least_end: Ints
    record_points: tuple[Ints, Ints]
    sample_points: tuple[Ints, Ints]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The rule (its place in RULES) that each lag row meets, and its window."""

    rank: Ints
    complete: Floats
    window_start_ms: Ints
    window_end_ms: Ints


def judge_windows(found: Evidence, rules: Rules) -> Verdicts:
    """Return the verdicts of partitions."""
    rows, windows = found.rows, found.windows
    count, lag = windows.count, rows.lag
    complete = np.minimum(1.0, count / rules.intervals)
    first_ms, last_ms = _first(windows), windows.opened_ms[:, -1] if len(rows) else rows.lag
    conditions = [
        (count == 0, "no_commits"),
        (lag <= rules.allowed_lag, "no_lag"),
        (complete < rules.minimum_complete, "incomplete"),
        (_have_stopped(found, first_ms, last_ms, rules), "stopped"),
        (_were_rewound(windows.offset), "rewound"),
        (_have_stalled(windows, rules), "stalled"),
    ]
    few = np.where(count < LEAST_COMMITS, _RANK["incomplete"], _RANK["lag_unknown"])
    pace = np.where(windows.is_sampled, *(_pace(found, sampled, few, rules) for sampled in (True, False)))
    rank = np.select([each for each, _ in conditions], [_RANK[rule] for _, rule in conditions], pace)
    return Verdicts(rank, complete, first_ms, np.where(count > 0, last_ms, NULL))


def _first(windows: Windows) -> Ints:
    opened = np.where(windows.opened_ms == NULL, _LARGEST, windows.opened_ms).min(axis=1, initial=_LARGEST)
    return np.where(opened == _LARGEST, NULL, opened)


def _have_stopped(found: Evidence, first_ms: Ints, last_ms: Ints, rules: Rules) -> Flags:
    has = found.windows.count > 0
    length = np.where(has, last_ms, 0) - np.where(has, first_ms, 0)
    usual = np.where(found.windows.count >= rules.intervals, length, np.maximum(length, SILENT_MS))
    is_silent = found.rows.at_us // 1_000 - np.where(has, last_ms, 0) > usual
    return has & is_silent & (found.least_end > found.windows.offset[:, -1])


def _were_rewound(offset: Ints) -> Flags:
    """Return whether an offset is below the one before, and no later one reached that again: at the first such fall."""
    is_there = offset != NULL
    fell = np.zeros(offset.shape, np.bool_)
    fell[:, 1:] = (offset[:, 1:] < offset[:, :-1]) & is_there[:, :-1]
    has_fallen = fell.any(axis=1)
    at = fell.argmax(axis=1)
    rows = np.arange(len(offset))
    before = offset[rows, np.maximum(at - 1, 0)]
    is_later = np.arange(offset.shape[1]) >= at[:, None]
    reached = np.where(is_later, offset, NULL).max(axis=1, initial=NULL)
    found: Flags = has_fallen & (reached < before)
    return found


def _have_stalled(windows: Windows, rules: Rules) -> Flags:
    is_there = windows.offset != NULL
    is_same = ((windows.offset == windows.offset[:, -1:]) | ~is_there).all(axis=1)
    is_behind = ((windows.lag > rules.allowed_lag) | ~is_there).all(axis=1)
    found: Flags = (windows.count >= LEAST_COMMITS) & is_same & is_behind
    return found


def _pace(found: Evidence, is_sampled: bool, few: Ints, rules: Rules) -> Ints:  # noqa: FBT001 - the kind of points
    count = SAMPLE_POINTS if is_sampled else COMMIT_POINTS
    end, lag = found.sample_points if is_sampled else found.record_points
    has_enough = (end != NULL).all(axis=1)
    end, lag = np.clip(end, -_MOST, _MOST), np.clip(lag, -_MOST, _MOST)
    last_lag = lag[:, -COMPARED_POINTS:].sum(axis=1)
    growth = last_lag - lag[:, :COMPARED_POINTS].sum(axis=1)
    produced = end[:, -COMPARED_POINTS:].sum(axis=1) - end[:, :COMPARED_POINTS].sum(axis=1)
    is_falling_behind = (
        (growth > np.maximum(0, produced) // GROWTH_DIVISOR)
        & (last_lag > COMPARED_POINTS * rules.allowed_lag)
        & (found.rows.lag >= lag[:, count // 2 : count // 2 + COMPARED_POINTS].min(axis=1))
    )
    pace = np.where(is_falling_behind, _RANK["falling_behind"], _RANK["keeping_up"])
    return np.where(has_enough, pace, few)
