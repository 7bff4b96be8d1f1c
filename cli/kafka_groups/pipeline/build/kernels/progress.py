"""The progress of keys at each observation: moves, waits, offsets to reach again, and time without members.

`kafka_groups.groups.lag.progress` computes the same from one poll after another; tests hold both equal. The evidence
that follows is that of `kafka_groups.verdicts.Evidence`. History knows more than polls: the times of commits, and
commits at the same offset.

Five observations of one key, a minute apart, which moves after two minutes of waiting (times in ms):

    >>> minutes = np.arange(5) * 60_000
    >>> observations = new_observations(
    ...     at_ms=minutes, committed_offset=np.array([10, 10, 30, 30, 30]), log_end=np.array([20, 30, 40, 50, 60])
    ... )
    >>> progress, evidence = measure_progress(observations, KeyProgress.empty(), Limits())
    >>> evidence["waiting_ms"], evidence["moves"]
    (array([     0,  60000,      0,  60000, 120000]), array([0, 0, 1, 1, 1]))
    >>> evidence["usual_wait_ms"].round()
    array([     0.,      0., 120000., 119884., 119769.])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import KeyProgress, Observations
from kafka_groups.pipeline.build.kernels.segments import (
    is_segment_end,
    last_index_before,
    last_index_until,
    previous_indices,
    running_count,
    running_maximum,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Array, Floats, Ints
from kafka_groups.verdicts import STRENGTH_UNIT, WAIT_HALF_LIFE_MS, Limits

# The columns with the two greatest strengths of waits, and of intervals between observations.
_WAITS: Final = ("longest_wait_strength", "second_wait_strength")
_INTERVALS: Final = ("longest_interval_strength", "second_interval_strength")


def new_observations(*, at_ms: Ints, committed_offset: Ints, log_end: Ints) -> Observations:
    """Return observations of key 0 with these columns; the lag is their difference, and nothing else is known."""
    size = len(at_ms)
    zeros = np.zeros(size, np.int64)
    unknown = np.full(size, NULL)
    return Observations(
        key=zeros,
        incarnation=zeros,
        log_number=zeros,
        at_ms=at_ms,
        committed_offset=committed_offset,
        log_end=log_end,
        lag=np.where(committed_offset > log_end, NULL, log_end - committed_offset),
        lost_records=unknown,
        members=unknown,
        commit_ms=unknown,
        repeated_commits=unknown,
        highest=committed_offset,
    )


def measure_progress(
    observations: Observations, carried: KeyProgress, limits: Limits
) -> tuple[KeyProgress, dict[str, Array]]:
    """Return the progress of each key after each observation, and the evidence at each of them, by its name.

    `carried` is the progress of keys before the observations. Row i of the progress is that after observation i; its
    columns on verdicts are NULL. Unknown numbers of the evidence are NULL.
    """
    rows, lag, commit_ms = _join(carried, observations)
    is_observed = rows.rule == NULL
    start_index = segment_starts(*_segments(rows))
    previous = previous_indices(*_segments(rows))
    has_moved = (previous >= 0) & (rows.committed_offset != rows.committed_offset[previous])
    moved_ms = _times_of_moves(rows, previous, commit_ms)

    has_no_lag = is_observed & (lag != NULL) & (lag <= limits.allowed_lag)
    begins = (previous < 0) | has_moved
    since_ms = np.where(is_observed, np.where(begins, moved_ms, 0), rows.since_ms)
    since_ms = running_maximum(np.where(has_no_lag, rows.at_ms, since_ms), start_index)
    unread = np.maximum(0, rows.log_end[previous] - rows.committed_offset)
    last_move = last_index_until(has_moved | ~is_observed, start_index)
    measured = replace(
        rows,
        since_ms=since_ms,
        moves=running_count(has_moved, start_index) + np.where(is_observed, 0, rows.moves)[start_index],
        highest=_find_highest(rows, previous, start_index),
        unread_at_move=take(np.where(is_observed, unread, rows.unread_at_move), last_move),
        empty_since_ms=_find_empty_since(rows, start_index),
        **_find_strongest(
            rows, _WAITS, np.where(has_moved, np.maximum(1, moved_ms - since_ms[previous]), 0), start_index
        ),
        **_find_strongest(rows, _INTERVALS, _intervals(rows, previous), start_index),
    )
    progress = measured.take(is_observed)
    return progress, _evidence(observations, progress)


def _join(carried: KeyProgress, observations: Observations) -> tuple[KeyProgress, Ints, Ints]:
    """Return carried progress and observations as rows of progress, sorted, with the lags and times of their commits.

    Rows are sorted by key, incarnation, log number and time. Those of observations have NULL in all other columns;
    carried rows have a rule. The lag and the time of the commit of a carried row are NULL.
    """
    size = len(observations)
    names = KeyProgress.names()
    of_observations = {
        name: getattr(observations, name) if name in Observations.names() else np.full(size, NULL) for name in names
    }
    joined = KeyProgress.join(carried, KeyProgress(**of_observations))
    unknown = np.full(len(carried), NULL)
    order = np.lexsort((joined.at_ms, joined.log_number, joined.incarnation, joined.key))
    lag = np.concatenate([unknown, observations.lag])[order]
    commit_ms = np.concatenate([unknown, observations.commit_ms])[order]
    return joined.take(order), lag, commit_ms


def _segments(rows: KeyProgress) -> tuple[Ints, Ints, Ints]:
    """Return the columns that are equal in all rows of one key, incarnation and log."""
    return rows.key, rows.incarnation, rows.log_number


def _times_of_moves(rows: KeyProgress, previous: Ints, commit_ms: Ints) -> Ints:
    """Return for each row the time of a move that it shows: that of the commit if it is known, else its own.

    A commit between two observations is not earlier than the first of them.
    """
    earliest_ms = take(rows.at_ms, previous, 0)
    known_ms = np.minimum(np.maximum(commit_ms, earliest_ms), rows.at_ms)
    return np.where(commit_ms == NULL, rows.at_ms, known_ms)


def _intervals(rows: KeyProgress, previous: Ints) -> Ints:
    """Return the time between each row and the one before it, at least 1 ms; 0 for the first one of a segment."""
    return np.where(previous >= 0, np.maximum(1, rows.at_ms - rows.at_ms[previous]), 0)


def _find_strongest(rows: KeyProgress, names: tuple[str, str], time_ms: Ints, start_index: Ints) -> dict[str, Ints]:
    """Return the two greatest strengths of times of each key that ended until each row, by name; 0 without one.

    A time of 0 is none.
    """
    is_carried = rows.rule != NULL
    carried_first, carried_second = (getattr(rows, name) for name in names)
    strength = np.floor(np.log2(np.maximum(1, time_ms)) * STRENGTH_UNIT).astype(np.int64)
    strength = np.where(time_ms > 0, strength + rows.at_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS, 0)
    first = running_maximum(np.where(is_carried, carried_first, strength), start_index)
    # A time that is weaker than the strongest one before it counts itself, a stronger one makes that one the second.
    displaced = np.minimum(strength, _before(first, start_index))
    second = running_maximum(np.where(is_carried, carried_second, displaced), start_index)
    return dict(zip(names, (first, second), strict=True))


def _before(values: Ints, start_index: Ints) -> Ints:
    """Return for each row the value of the row before it in its segment; 0 for the first one."""
    shifted = np.concatenate([np.zeros(1, np.int64), values[:-1]])[: len(values)]
    return np.where(np.arange(len(values)) == start_index, 0, shifted)


def _find_highest(rows: KeyProgress, previous: Ints, start_index: Ints) -> Ints:
    """Return for each row the highest committed offset since the last known reset of its segment.

    A lower offset is a known reset if the group had no members at this observation or the one before.
    """
    has_fallen = (previous >= 0) & (rows.committed_offset < rows.committed_offset[previous])
    has_fallen |= (rows.rule == NULL) & (rows.committed_offset < rows.highest)
    if not (has_fallen.any() or (rows.highest != rows.committed_offset).any()):
        return rows.highest
    is_empty = rows.members == 0
    is_reset = has_fallen & (is_empty | ((previous >= 0) & is_empty[previous]))
    offset = np.where(is_reset, rows.committed_offset, rows.highest)
    indices = np.arange(len(rows))
    since_reset = np.maximum(start_index, np.maximum.accumulate(np.where(is_reset, indices, 0)))
    return _running_maximum_of_offsets(offset, since_reset)


def _running_maximum_of_offsets(offset: Ints, start_index: Ints) -> Ints:
    """Return for each row the highest offset since the row `start_index`, of offsets of any size."""
    indices = np.arange(len(offset))
    highest = offset.copy()
    longest = int((indices - start_index).max()) + 1
    distance = 1
    while distance < longest:
        earlier = np.concatenate([np.zeros(distance, np.int64), highest[:-distance]])
        highest = np.where(indices - distance >= start_index, np.maximum(highest, earlier), highest)
        distance *= 2
    return highest


def _find_empty_since(rows: KeyProgress, start_index: Ints) -> Ints:
    """Return for each row when the time without members began, in ms; NULL if members were seen last."""
    is_carried = rows.rule != NULL
    is_empty = np.where(is_carried, rows.empty_since_ms != NULL, rows.members == 0)
    is_present = rows.members > 0
    last_present = last_index_until(is_present, start_index)
    begins = is_empty & (last_index_before(is_empty, start_index) <= last_index_before(is_present, start_index))
    last_begin = last_index_until(begins, start_index)
    since_ms = take(np.where(is_carried, rows.empty_since_ms, rows.at_ms), last_begin)
    return np.where(last_begin > last_present, since_ms, NULL)


def carry_progress(carried: KeyProgress, progress: KeyProgress) -> KeyProgress:
    """Return the last progress of each key, that of the earlier days for a key without an observation."""
    joined = KeyProgress.join(carried, progress)
    rows = joined.take(np.argsort(joined.key, kind="stable"))
    return rows.take(is_segment_end(rows.key)) if len(rows) else rows


def usual_waits(progress: KeyProgress) -> Floats:
    """Return the second longest wait, or the only one, as it counts at each row, in ms; 0 without any."""
    return _usual_times(progress, _WAITS)


def usual_intervals(progress: KeyProgress) -> Floats:
    """Return the second longest interval between observations, or the only one, at each row, in ms; 0 without any."""
    return _usual_times(progress, _INTERVALS)


def _usual_times(progress: KeyProgress, names: tuple[str, str]) -> Floats:
    """Return the second longest of the times whose strengths have these names, or the only one, in ms."""
    first, second = (getattr(progress, name) for name in names)
    strength = np.where(second > 0, second, first)
    age = strength - progress.at_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS
    return np.where(strength > 0, np.rint(np.exp2(np.where(strength > 0, age, 0) / STRENGTH_UNIT)), 0.0)


def _evidence(observations: Observations, progress: KeyProgress) -> dict[str, Array]:
    """Return the evidence at each observation, from the progress after it."""
    at_ms = observations.at_ms
    has_commits = observations.commit_ms != NULL
    silent_since_ms = np.where(
        has_commits, np.maximum(progress.since_ms, np.minimum(observations.commit_ms, at_ms)), progress.since_ms
    )
    is_empty = (observations.members == 0) & (progress.empty_since_ms != NULL)
    return {
        "lag": observations.lag,
        "members": observations.members,
        "moves": progress.moves,
        "waiting_ms": at_ms - progress.since_ms,
        "silent_ms": at_ms - silent_since_ms,
        "usual_wait_ms": usual_waits(progress),
        "empty_ms": np.where(is_empty, at_ms - progress.empty_since_ms, NULL),
        "repeated_commits": observations.repeated_commits,
        "to_reach": progress.highest - observations.committed_offset,
        "lost_records": observations.lost_records,
        "unread_at_move": progress.unread_at_move,
    }
