"""The progress of keys at each observation: changed offsets, waits, offsets to reach again, and time without members.

`kafka_groups.groups.lag.progress` computes the same from one poll after another, and tests compare both. The result has
the fields of `kafka_groups.verdicts.Evidence`. The tables know more than polls do: when commits were written, and
commits that repeat an offset.

Five observations of one key, a minute apart, whose offset changes after two minutes of waiting (times in ms):

    >>> minutes = np.arange(5) * 60_000
    >>> from kafka_groups.pipeline.build.kernels.observations import new_observations
    >>> observations = new_observations(
    ...     at_ms=minutes, committed_offset=np.array([10, 10, 30, 30, 30]), log_end=np.array([20, 30, 40, 50, 60])
    ... )
    >>> progress, evidence = measure_progress(observations, KeyProgress.empty(), Limits())
    >>> evidence["waiting_ms"], evidence["offset_changes"]
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
    running_maximum_of_offsets,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Array, Flags, Floats, Ints
from kafka_groups.verdicts import STRENGTH_UNIT, WAIT_HALF_LIFE_MS, Limits

# The columns with the two greatest strengths of waits, and of intervals between observations.
_WAITS: Final = ("strongest_wait_strength", "second_wait_strength")
_INTERVALS: Final = ("strongest_interval_strength", "second_interval_strength")


def measure_progress(
    observations: Observations, carried_progress: KeyProgress, limits: Limits
) -> tuple[KeyProgress, dict[str, Array]]:
    """Follow each key from one observation to the next, and gather the evidence for its verdicts.

    `carried_progress` is the progress of each key before the observations, which are sorted by key and time. Return the
    progress after each observation, without verdicts (NULL), and the columns of `verdicts.Evidence` at each of them, by
    name. Unknown numbers are NULL. After a gap in the observations the offset may have changed at any time: the wait
    ends at most 1.5 times the last interval after the previous observation.
    """
    merged_rows, lag, commit_ms = _join_rows(carried_progress, observations)
    is_observed = merged_rows.rule == NULL
    start_index = segment_starts(*_segment_codes(merged_rows))
    previous_row = previous_indices(*_segment_codes(merged_rows))
    has_changed = (previous_row >= 0) & (merged_rows.committed_offset != merged_rows.committed_offset[previous_row])
    changed_ms = _find_change_times(merged_rows, previous_row, commit_ms)

    has_no_lag = is_observed & (lag != NULL) & (lag <= limits.allowed_lag)
    begins_wait = (previous_row < 0) | has_changed
    waiting_since_ms = np.where(is_observed, np.where(begins_wait, changed_ms, 0), merged_rows.waiting_since_ms)
    waiting_since_ms = running_maximum(np.where(has_no_lag, merged_rows.at_ms, waiting_since_ms), start_index)
    unread_at_change = np.maximum(0, merged_rows.log_end[previous_row] - merged_rows.committed_offset)
    last_change_row = last_index_until(has_changed | ~is_observed, start_index)
    interval_ms = _measure_intervals(merged_rows, previous_row)
    max_interval_ms = np.where(is_observed, interval_ms, merged_rows.last_interval_ms)[previous_row] * 3 // 2
    latest_change_ms = take(merged_rows.at_ms, previous_row) + np.where(
        max_interval_ms > 0, np.minimum(interval_ms, max_interval_ms), interval_ms
    )
    wait_ms = np.where(
        has_changed, np.maximum(1, np.minimum(changed_ms, latest_change_ms) - waiting_since_ms[previous_row]), 0
    )
    has_fallen = _find_falls(merged_rows, previous_row)
    is_known_reset = _find_known_resets(merged_rows, previous_row, has_fallen)
    progress_of_rows = replace(
        merged_rows,
        waiting_since_ms=waiting_since_ms,
        offset_changes=running_count(has_changed, start_index)
        + np.where(is_observed, 0, merged_rows.offset_changes)[start_index],
        highest_offset=_find_highest_offset(merged_rows, has_fallen, is_known_reset, start_index),
        offset_before_reset=np.where(
            is_known_reset,
            np.maximum(merged_rows.highest_offset, take(merged_rows.committed_offset, previous_row)),
            NULL,
        ),
        unread_at_last_change=take(
            np.where(is_observed, unread_at_change, merged_rows.unread_at_last_change), last_change_row
        ),
        empty_since_ms=_find_empty_since(merged_rows, start_index),
        **_find_strongest(merged_rows, _WAITS, wait_ms, start_index),
        last_interval_ms=interval_ms,
        **_find_strongest(merged_rows, _INTERVALS, interval_ms, start_index),
    )
    progress = progress_of_rows.take(is_observed)
    return progress, _gather_evidence(observations, progress)


def _join_rows(carried_progress: KeyProgress, observations: Observations) -> tuple[KeyProgress, Ints, Ints]:
    """Merge carried progress and observations into rows of progress, by key, incarnation, log number and time.

    Return the rows, and for each row the lag and the time of the commit (ms), which are NULL in carried rows. A row
    with a NULL rule is an observation, and all columns that observations lack are NULL in it, too.
    """
    observation_count = len(observations)
    column_names = KeyProgress.names()
    observed_columns = {
        name: getattr(observations, name) if name in Observations.names() else np.full(observation_count, NULL)
        for name in column_names
    }
    all_rows = KeyProgress.join(carried_progress, KeyProgress(**observed_columns))
    unknown_values = np.full(len(carried_progress), NULL)
    order = np.lexsort((all_rows.at_ms, all_rows.log_number, all_rows.incarnation, all_rows.key))
    lag = np.concatenate([unknown_values, observations.lag])[order]
    commit_ms = np.concatenate([unknown_values, observations.commit_ms])[order]
    return all_rows.take(order), lag, commit_ms


def _segment_codes(rows: KeyProgress) -> tuple[Ints, Ints, Ints]:
    """Return the columns whose equal values make a segment: all rows of one key, incarnation and log."""
    return rows.key, rows.incarnation, rows.log_number


def _find_change_times(rows: KeyProgress, previous_row: Ints, commit_ms: Ints) -> Ints:
    """Return for each row when the offset changed, if the row shows a change, in ms since 1970.

    This is the time of the commit if it is known, but not before the previous row; else the time of the row.
    `previous_row` is the index of the previous row in the segment, and `commit_ms` the time of the row's commit; NULL
    if unknown.
    """
    earliest_ms = take(rows.at_ms, previous_row, 0)
    bounded_ms = np.minimum(np.maximum(commit_ms, earliest_ms), rows.at_ms)
    return np.where(commit_ms == NULL, rows.at_ms, bounded_ms)


def _measure_intervals(rows: KeyProgress, previous_row: Ints) -> Ints:
    """Return for each row the time since the previous row of its segment, at least 1 ms; 0 for the first row."""
    return np.where(previous_row >= 0, np.maximum(1, rows.at_ms - rows.at_ms[previous_row]), 0)


def _find_strongest(
    rows: KeyProgress, column_names: tuple[str, str], duration_ms: Ints, start_index: Ints
) -> dict[str, Ints]:
    """For each row, return the two greatest strengths among the durations its key has completed until then.

    They are returned by column name, and are 0 if there are fewer. Zero durations are ignored. `duration_ms` is the
    duration that ends at each row; `verdicts.STRENGTH_UNIT` explains strengths.
    """
    is_carried = rows.rule != NULL
    carried_strongest, carried_second = (getattr(rows, name) for name in column_names)
    strengths = np.floor(np.log2(np.maximum(1, duration_ms)) * STRENGTH_UNIT).astype(np.int64)
    strengths = np.where(duration_ms > 0, strengths + rows.at_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS, 0)
    strongest = running_maximum(np.where(is_carried, carried_strongest, strengths), start_index)
    # The smaller of a new strength and the greatest one before it is a candidate for the second place.
    displaced_strengths = np.minimum(strengths, _shift_values(strongest, start_index))
    second_strongest = running_maximum(np.where(is_carried, carried_second, displaced_strengths), start_index)
    return dict(zip(column_names, (strongest, second_strongest), strict=True))


def _shift_values(values: Ints, start_index: Ints) -> Ints:
    """Return for each row the value of the previous row of its segment; 0 for the first row."""
    previous_values = np.concatenate([np.zeros(1, np.int64), values[:-1]])[: len(values)]
    return np.where(np.arange(len(values)) == start_index, 0, previous_values)


def _find_falls(rows: KeyProgress, previous_row: Ints) -> Flags:
    """Return for each row whether it has a lower offset than the previous row, or than commits since that row."""
    has_fallen = (previous_row >= 0) & (rows.committed_offset < rows.committed_offset[previous_row])
    has_fallen |= (rows.rule == NULL) & (rows.committed_offset < rows.highest_offset)
    return has_fallen


def _find_known_resets(rows: KeyProgress, previous_row: Ints, has_fallen: Flags) -> Flags:
    """Return for each row whether its fall is a known reset: this row or the previous one has no members."""
    is_empty = rows.member_count == 0
    is_known_reset: Flags = has_fallen & (is_empty | ((previous_row >= 0) & is_empty[previous_row]))
    return is_known_reset


def _find_highest_offset(rows: KeyProgress, has_fallen: Flags, is_known_reset: Flags, start_index: Ints) -> Ints:
    """Return for each row the highest committed offset since the last known reset of its segment."""
    is_beyond_end = rows.committed_offset > rows.log_end
    if not (has_fallen.any() or is_beyond_end.any() or (rows.highest_offset != rows.committed_offset).any()):
        return rows.highest_offset
    bounded_offset = np.where(is_known_reset, rows.committed_offset, rows.highest_offset)
    # An offset above the log end belongs to an earlier log.
    bounded_offset = np.where(rows.rule == NULL, np.minimum(bounded_offset, rows.log_end), bounded_offset)
    indices = np.arange(len(rows))
    since_reset = np.maximum(start_index, np.maximum.accumulate(np.where(is_known_reset, indices, 0)))
    return running_maximum_of_offsets(bounded_offset, since_reset)


def _find_empty_since(rows: KeyProgress, start_index: Ints) -> Ints:
    """Return for each row when the time without members began (ms since 1970); NULL if a member was seen last."""
    is_carried = rows.rule != NULL
    is_empty = np.where(is_carried, rows.empty_since_ms != NULL, rows.member_count == 0)
    has_members = rows.member_count > 0
    last_with_members = last_index_until(has_members, start_index)
    begins_emptiness = is_empty & (
        last_index_before(is_empty, start_index) <= last_index_before(has_members, start_index)
    )
    last_emptiness = last_index_until(begins_emptiness, start_index)
    since_ms = take(np.where(is_carried, rows.empty_since_ms, rows.at_ms), last_emptiness)
    return np.where(last_emptiness > last_with_members, since_ms, NULL)


def find_previous_offsets(observations: Observations, carried_progress: KeyProgress) -> Ints:
    """Return for each observation the committed offset at the previous one of its log and incarnation; NULL if none.

    `carried_progress` is the progress of each key before the observations, by key.
    """
    previous_row = previous_indices(observations.key, observations.incarnation, observations.log_number)
    carried_index = np.minimum(
        np.searchsorted(carried_progress.key, observations.key), max(0, len(carried_progress) - 1)
    )
    is_carried = np.full(len(observations), len(carried_progress) > 0)
    for column_name in ("key", "incarnation", "log_number"):
        is_carried &= take(getattr(carried_progress, column_name), carried_index, -1) == getattr(
            observations, column_name
        )
    carried_offset = np.where(is_carried, take(carried_progress.committed_offset, carried_index), NULL)
    return np.where(previous_row >= 0, take(observations.committed_offset, previous_row), carried_offset)


def carry_progress(carried_progress: KeyProgress, progress: KeyProgress) -> KeyProgress:
    """Return the last progress of each key, for the next day: the carried one if the key has no observation."""
    all_rows = KeyProgress.join(carried_progress, progress)
    sorted_rows = all_rows.take(np.argsort(all_rows.key, kind="stable"))
    return sorted_rows.take(is_segment_end(sorted_rows.key)) if len(sorted_rows) else sorted_rows


def usual_waits(progress: KeyProgress) -> Floats:
    """Return the usual wait of the key at each row, in ms: the second strongest one, or the only one; 0 without any.

    Waits count less as they become older (`verdicts.WAIT_HALF_LIFE_MS`).
    """
    return _usual_durations(progress, _WAITS)


def usual_intervals(progress: KeyProgress) -> Floats:
    """Return the usual interval between observations at each row, in ms, as `usual_waits` does for waits."""
    return _usual_durations(progress, _INTERVALS)


def _usual_durations(progress: KeyProgress, column_names: tuple[str, str]) -> Floats:
    """Return at each row the duration in ms that follows from the second greatest strength, or the only one; else 0.

    `column_names` are the columns with both strengths.
    """
    strongest, second_strongest = (getattr(progress, name) for name in column_names)
    usual_strength = np.where(second_strongest > 0, second_strongest, strongest)
    aged_strength = usual_strength - progress.at_ms * STRENGTH_UNIT // WAIT_HALF_LIFE_MS
    return np.where(
        usual_strength > 0, np.rint(np.exp2(np.where(usual_strength > 0, aged_strength, 0) / STRENGTH_UNIT)), 0.0
    )


def _gather_evidence(observations: Observations, progress: KeyProgress) -> dict[str, Array]:
    """Return the columns of `verdicts.Evidence` at each observation, by name; `progress` has the progress after it."""
    at_ms = observations.at_ms
    has_commits = observations.commit_ms != NULL
    silent_since_ms = np.where(
        has_commits,
        np.maximum(progress.waiting_since_ms, np.minimum(observations.commit_ms, at_ms)),
        progress.waiting_since_ms,
    )
    is_empty = (observations.member_count == 0) & (progress.empty_since_ms != NULL)
    return {
        "lag": observations.lag,
        "members": observations.member_count,
        "offset_changes": progress.offset_changes,
        "waiting_ms": at_ms - progress.waiting_since_ms,
        "silent_ms": at_ms - silent_since_ms,
        "usual_wait_ms": usual_waits(progress),
        "empty_ms": np.where(is_empty, at_ms - progress.empty_since_ms, NULL),
        "repeated_commits": observations.repeated_commits,
        "to_reach": np.maximum(0, progress.highest_offset - observations.committed_offset),
        "lost_records": observations.lost_records,
        # No table has the retention of topics.
        "retention_ms": np.full(len(observations), NULL),
        "retention_left_ms": np.full(len(observations), NULL),
        "unread_at_last_change": progress.unread_at_last_change,
    }
