"""The activity of keys on a day: how many records a key consumed, how often it committed, and when it last moved.

What a key consumed follows from its commits in their order. Each one adds its offset minus the previous offset, if that
is positive. Records of commits are exact. Samples fill in where there are no records:

- Between two records, samples add nothing: the records show all commits, and samples have another clock. Before the
  first record and after the last one, samples count.
- Without records, a sample whose offset differs from the previous row counts as a commit.
- Clocks may differ by some minutes. So a sample just before the first record may already show that record's commit, and
  a sample just after the last record may still show an earlier commit. Neither of these counts.
- A coordinator whose clock is ahead dates the last commits of a day to the next day. Samples at the end of the day have
  counted them already, so the next day subtracts what these samples counted.

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

Two records, and two samples after them. The first sample still shows the commit of the first record, so it contradicts
the second record and does not count. If it did, the next sample would add another 50 records:

    >>> rows = new_commits(
    ...     key=np.zeros(4, np.int64),
    ...     at_us=np.arange(4) * 1_000_000,
    ...     committed_offset=np.array([100, 150, 100, 150]),
    ...     source_offset=np.array([0, 1, NULL, NULL]),
    ... )
    >>> activity, _ = measure_activity(order_commits(rows), empty_key_summary(1), np.zeros(1, np.int64))
    >>> activity.consumed
    array([50])
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
    """Carried samples that contradict records, one for each element of the arrays.

    - `row` is the index of the sample among the commits, and `key` its key.
    - `counted` is what the sample counted on its day: the number of offsets by which it exceeds the previous record, 0
      if it is below that record.
    """

    row: Ints
    key: Ints
    counted: Ints


def measure_activity(rows: Commits, key_summary: KeySummary, clock_jump_ms: Ints) -> tuple[KeyActivity, KeySummary]:
    """Measure the activity of each key on a day; return it, and the keys' summary at the end of the day.

    `rows` are the ordered and numbered commits of the day, with the carried ones. `key_summary` is the summary before
    the day. `clock_jump_ms` comes from `measure_clock_jumps`.
    """
    size = len(key_summary)
    never = np.full(size, NULL)
    is_of_day = ~rows.is_carried
    is_present = ~rows.is_deletion
    carried_samples = _find_contradicting_samples(rows)
    advance = _measure_advances(rows, carried_samples, size)
    is_commit = is_present & (rows.is_record | ((advance != 0) & (advance != NULL)))
    # A commit that is seen for the first time may have been made just before.
    is_move = is_of_day & is_present & (is_commit | (advance == NULL))
    is_start = is_segment_start(rows.key)
    consumed = np.zeros(size, np.int64)
    consumed[rows.key[is_start]] = sum_segments(np.where(is_of_day & is_present, np.maximum(advance, 0), 0), is_start)
    consumed[carried_samples.key] -= carried_samples.counted
    consumed = np.maximum(consumed, 0)
    commits = np.bincount(rows.key[is_of_day & rows.is_record & is_present], minlength=size)
    is_sample = is_of_day & ~rows.is_record & is_present
    every_row = np.ones(len(rows), np.bool_)
    is_deletion = is_of_day & rows.is_deletion
    activity = KeyActivity(
        consumed=consumed,
        commits=commits,
        moves=np.bincount(rows.key[is_move], minlength=size),
        sampled_us=last_values(rows.key, is_sample, rows.at_us, never),
        has_commit=last_values(rows.key, every_row, is_present, np.zeros(size, np.bool_)),
        deleted_us=last_values(rows.key, is_deletion, rows.at_us, never),
        clock_jump_ms=clock_jump_ms,
    )
    last_move_us = last_values(rows.key, is_move, rows.at_us, never)
    last_commit_us = last_values(rows.key, is_of_day & is_commit, rows.at_us, never)
    return activity, replace(
        key_summary,
        last_move_us=np.maximum(key_summary.last_move_us, last_move_us),
        last_commit_us=np.maximum(key_summary.last_commit_us, last_commit_us),
        has_records=key_summary.has_records | (commits > 0),
    )


def measure_clock_jumps(day: Commits, carried: Commits, size: int) -> Ints:
    """Measure how far, at most, the time of a record lies behind an earlier record's of its key: in ms, or 0.

    `day` are all commits of a day, superseded ones included; `carried` are commits of earlier days, which were
    measured then. Return one number for each of `size` keys.
    """
    rows = Commits.join(carried, day)
    records = rows.take(rows.is_record).sort_by("key", "source_offset")
    at_us = np.where(records.is_carried, records.at_us, records.commit_timestamp_us)
    jumps_ms = np.zeros(size, np.int64)
    np.maximum.at(jumps_ms, records.key, (running_times(records.key, at_us) - at_us) // 1_000)
    return jumps_ms


def _find_contradicting_samples(rows: Commits) -> _CarriedSamples:
    """Find carried samples that contradict records: at most one for each key, which is its last carried row.

    Such a sample comes after a record. Either it already shows the commit of a record of the present day, or its offset
    is below that of the previous record, which is at most ten minutes older.
    """
    start_index = segment_starts(rows.key, rows.incarnation)
    is_sample = rows.is_carried & ~rows.is_record & ~rows.is_deletion
    record = last_index_before(rows.is_record & ~rows.is_deletion, start_index)
    is_candidate = is_sample & is_segment_end(rows.key, rows.is_carried) & (record >= 0)
    apart_us = rows.at_us - take(rows.at_us, record)
    is_below = (rows.committed_offset < take(rows.committed_offset, record)) & (apart_us <= LARGEST_CLOCK_DIFFERENCE_US)
    row = np.flatnonzero(_match_records(rows, is_candidate, is_later=True) | (is_candidate & is_below))
    counted = rows.committed_offset[row] - rows.committed_offset[record[row]]
    return _CarriedSamples(row=row, key=rows.key[row], counted=np.maximum(counted, 0))


def _measure_advances(rows: Commits, carried_samples: _CarriedSamples, size: int) -> Ints:
    """Return by how many offsets each row advanced the commit of its key; negative for a rewind.

    NULL stands for a deletion, and for the first commit of an incarnation. Samples between two records, and samples
    that contradict the first or the last record, are ignored: they get 0, and no row is compared with them. No row is
    compared with `carried_samples` either.
    """
    is_ignored = are_between_records(rows, size) | _show_later_record(rows) | _show_earlier_record(rows)
    is_compared = ~is_ignored
    is_compared[carried_samples.row] = False
    previous = last_index_before(is_compared, segment_starts(rows.key, rows.incarnation))
    previous_offset = take(rows.committed_offset, previous)
    is_known = (rows.committed_offset != NULL) & (previous_offset != NULL)
    return np.where(is_ignored, 0, np.where(is_known, rows.committed_offset - previous_offset, NULL))


def _show_later_record(rows: Commits) -> Flags:
    """Return a mask of the day's samples before the key's first record that already show a later record's commit.

    The coordinator's clock is ahead of the sampler's.
    """
    is_sample = ~rows.is_record & ~rows.is_deletion & ~rows.is_carried
    is_first = last_index_before(rows.is_record, segment_starts(rows.key)) < 0
    return _match_records(rows, is_sample & is_first, is_later=True)


def _show_earlier_record(rows: Commits) -> Flags:
    """Return a mask of the day's samples below the previous record that still show an earlier record's commit.

    The coordinator's clock is behind the sampler's.
    """
    start_index = segment_starts(rows.key, rows.incarnation)
    is_sample = ~rows.is_record & ~rows.is_deletion & ~rows.is_carried
    record = last_index_before(rows.is_record & ~rows.is_deletion, start_index)
    is_below = (record >= 0) & (rows.committed_offset < take(rows.committed_offset, record))
    return _match_records(rows, is_sample & is_below, is_later=False)


def _match_records(rows: Commits, is_candidate: Flags, *, is_later: bool) -> Flags:
    """Return a mask of the candidates that show the commit of a record of the same key and incarnation.

    The record has the candidate's offset. It comes at most ten minutes after the candidate, or, if `is_later` is false,
    at most ten minutes before it.
    """
    rows_of_candidates = np.flatnonzero(np.isin(rows.key, rows.key[is_candidate]))
    key_rows = rows.take(rows_of_candidates)
    order = np.lexsort((key_rows.at_us, key_rows.committed_offset, key_rows.incarnation, key_rows.key))
    ordered = key_rows.take(order)
    commit = (ordered.key, ordered.incarnation, ordered.committed_offset)
    if is_later:
        record = next_index_after(ordered.is_record, *commit)
    else:
        record = last_index_before(ordered.is_record, segment_starts(*commit))
    apart_us = np.abs(take(ordered.at_us, record, missing=0) - ordered.at_us)
    shows_record = np.zeros(len(rows), np.bool_)
    shows_record[rows_of_candidates[order]] = (record >= 0) & (apart_us <= LARGEST_CLOCK_DIFFERENCE_US)
    return shows_record & is_candidate
