"""The activity of keys on a day: records consumed, number of commits, and the time when the offset moved last.

- A record advances the commit by the difference to the row before it.
- A sample between two records advances it by nothing: records show what was consumed, and the sampler has another clock
  than the coordinator. Samples before the first record and after the last one count.
- Without records, a sample that shows another offset than the row before is a commit.
- A coordinator whose clock is ahead dates the last commits of a day to the next day. Samples at the end of the day see
  these commits. What they counted is subtracted from the records of the next day. Likewise, a sample right before the
  first record may have seen its commit, and one right after the last record may not.

Five records of one key; the fourth one sets it back:

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import empty_key_summary, new_commits, order_commits
    >>> records = new_commits(
    ...     key=np.zeros(5, np.int64),
    ...     at_us=np.arange(5) * 1_000_000,
    ...     committed_offset=np.array([100, 150, 200, 120, 130]),
    ...     source_offset=np.arange(5),
    ... )
    >>> activity, _ = measure_activity(order_commits(records), empty_key_summary(1), np.zeros(1, np.int64))
    >>> activity.consumed, activity.commits
    (array([110]), array([5]))
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, KeyActivity, KeySummary
from kafka_groups.pipeline.build.kernels.committed_offsets import are_between_records, running_times
from kafka_groups.pipeline.build.kernels.segments import (
    is_segment_end,
    is_segment_start,
    last_index_before,
    last_values,
    next_index_after,
    segment_starts,
    sum_segments,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints
from kafka_groups.pipeline.tables import LARGEST_CLOCK_DIFFERENCE_US


@dataclass(frozen=True)
class _CarriedSamples:
    """Carried samples of commits whose records have the next date. Arrays have one length.

    `row` is the index of the sample among the commits, and `key` its key. `counted` is the number of offsets by which
    it is above the last record before it, 0 if it is below.
    """

    row: Ints
    key: Ints
    counted: Ints


def measure_activity(rows: Commits, key_summary: KeySummary, clock_jump_ms: Ints) -> tuple[KeyActivity, KeySummary]:
    """Return the activity of each key on the day, and the summary at the end of the day.

    `rows` are ordered and numbered, with those of earlier days; `key_summary` is that at the end of the day before.
    """
    size = len(key_summary)
    never = np.full(size, NULL)
    is_of_day = ~rows.is_carried
    is_present = ~rows.is_removal
    carried_samples = _find_contradicted_samples(rows)
    advance = _measure_advances(rows, carried_samples, size)
    is_commit = is_present & (rows.is_record | ((advance != 0) & (advance != NULL)))
    # A commit that is seen for the first time may have been made just then.
    is_move = is_of_day & is_present & (is_commit | (advance == NULL))
    starts = is_segment_start(rows.key)
    consumed = np.zeros(size, np.int64)
    consumed[rows.key[starts]] = sum_segments(np.where(is_of_day & is_present, np.maximum(advance, 0), 0), starts)
    consumed[carried_samples.key] -= carried_samples.counted
    consumed = np.maximum(consumed, 0)
    commits = np.bincount(rows.key[is_of_day & rows.is_record & is_present], minlength=size)
    is_sample = is_of_day & ~rows.is_record & is_present
    every_row = np.ones(len(rows), np.bool_)
    is_removal = is_of_day & rows.is_removal
    activity = KeyActivity(
        consumed=consumed,
        commits=commits,
        moves=np.bincount(rows.key[is_move], minlength=size),
        sampled_us=last_values(rows.key, is_sample, rows.at_us, never),
        has_commit=last_values(rows.key, every_row, is_present, np.zeros(size, np.bool_)),
        removed_us=last_values(rows.key, is_removal, rows.at_us, never),
        clock_jump_ms=clock_jump_ms,
    )
    moved_us = last_values(rows.key, is_move, rows.at_us, never)
    commit_us = last_values(rows.key, is_of_day & is_commit, rows.at_us, never)
    return activity, replace(
        key_summary,
        moved_us=np.maximum(key_summary.moved_us, moved_us),
        commit_us=np.maximum(key_summary.commit_us, commit_us),
        has_records=key_summary.has_records | (commits > 0),
    )


def measure_clock_jumps(day: Commits, carried: Commits, size: int) -> Ints:
    """Return the largest backward step of the times of each of `size` keys' records in the log, in ms; 0 if none.

    `day` are all commits of a day, also superseded ones; `carried` are those of earlier days. A step
    between two carried records was measured on its day.
    """
    rows = Commits.join(carried, day)
    records = rows.take(rows.is_record).sort_by("key", "source_offset")
    at_us = np.where(records.is_carried, records.at_us, records.recorded_us)
    jumps_ms = np.zeros(size, np.int64)
    np.maximum.at(jumps_ms, records.key, (running_times(records.key, at_us) - at_us) // 1_000)
    return jumps_ms


def _find_contradicted_samples(rows: Commits) -> _CarriedSamples:
    """Return the last carried rows of keys that are samples after a record, and contradict the records.

    Such a sample shows the commit of a later record, or it is shortly after its record and below it.
    """
    starts = segment_starts(rows.key, rows.incarnation)
    is_sample = rows.is_carried & ~rows.is_record & ~rows.is_removal
    record = last_index_before(rows.is_record & ~rows.is_removal, starts)
    is_candidate = is_sample & is_segment_end(rows.key, rows.is_carried) & (record >= 0)
    apart_us = rows.at_us - take(rows.at_us, record)
    is_below = (rows.committed_offset < take(rows.committed_offset, record)) & (apart_us <= LARGEST_CLOCK_DIFFERENCE_US)
    row = np.flatnonzero(_show_records(rows, is_candidate, is_later=True) | (is_candidate & is_below))
    counted = rows.committed_offset[row] - rows.committed_offset[record[row]]
    return _CarriedSamples(row=row, key=rows.key[row], counted=np.maximum(counted, 0))


def _measure_advances(rows: Commits, carried_samples: _CarriedSamples, size: int) -> Ints:
    """Return the number of offsets by which each row advanced the commit of its key.

    It is NULL for a removal, and for the first commit of an incarnation. It is 0 for a sample between two records, and
    for one that contradicts the first or the last record beside it. No row is compared with these samples, nor with
    `carried_samples`.
    """
    is_between = are_between_records(rows, size) | _are_before_first_record(rows) | _are_behind_last_record(rows)
    is_compared = ~is_between
    is_compared[carried_samples.row] = False
    previous = last_index_before(is_compared, segment_starts(rows.key, rows.incarnation))
    previous_offset = take(rows.committed_offset, previous)
    is_known = (rows.committed_offset != NULL) & (previous_offset != NULL)
    return np.where(is_between, 0, np.where(is_known, rows.committed_offset - previous_offset, NULL))


def _are_before_first_record(rows: Commits) -> Flags:
    """Return for each row whether it is a sample before the first record of its key, and shows a commit of a record.

    The clock of the record is ahead.
    """
    is_sample = ~rows.is_record & ~rows.is_removal & ~rows.is_carried
    is_first = last_index_before(rows.is_record, segment_starts(rows.key)) < 0
    return _show_records(rows, is_sample & is_first, is_later=True)


def _are_behind_last_record(rows: Commits) -> Flags:
    """Return for each row whether it is a sample below the last record of its key, and shows a commit of a record.

    The clock of the record is behind.
    """
    starts = segment_starts(rows.key, rows.incarnation)
    is_sample = ~rows.is_record & ~rows.is_removal & ~rows.is_carried
    record = last_index_before(rows.is_record & ~rows.is_removal, starts)
    is_below = (record >= 0) & (rows.committed_offset < take(rows.committed_offset, record))
    return _show_records(rows, is_sample & is_below, is_later=False)


def _show_records(rows: Commits, is_candidate: Flags, *, is_later: bool) -> Flags:
    """Return for each row whether it is a candidate that has the offset of a record of its key and incarnation.

    The record is at most ten minutes after the row, or with `is_later` false before it.
    """
    of_candidates = np.flatnonzero(np.isin(rows.key, rows.key[is_candidate]))
    near = rows.take(of_candidates)
    order = np.lexsort((near.at_us, near.committed_offset, near.incarnation, near.key))
    ordered = near.take(order)
    commit = (ordered.key, ordered.incarnation, ordered.committed_offset)
    if is_later:
        record = next_index_after(ordered.is_record, *commit)
    else:
        record = last_index_before(ordered.is_record, segment_starts(*commit))
    apart_us = np.abs(take(ordered.at_us, record, missing=0) - ordered.at_us)
    shows_record = np.zeros(len(rows), np.bool_)
    shows_record[of_candidates[order]] = (record >= 0) & (apart_us <= LARGEST_CLOCK_DIFFERENCE_US)
    return shows_record & is_candidate
