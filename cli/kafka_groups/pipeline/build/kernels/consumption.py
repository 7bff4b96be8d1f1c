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

    - `sample_index` is the index of the sample among the commits, and `key` its key.
    - `counted_offsets` is what the sample counted on its day: the number of offsets by which it exceeds the previous
      record, 0 if it is below that record.
    """

    sample_index: Ints
    key: Ints
    counted_offsets: Ints


def measure_activity(commits: Commits, key_summary: KeySummary, clock_jump_ms: Ints) -> tuple[KeyActivity, KeySummary]:
    """Measure the activity of each key on a day; return it, and the keys' summary at the end of the day.

    `commits` are the ordered and numbered commits of the day, with the carried ones. `key_summary` is the summary
    before the day. `clock_jump_ms` comes from `measure_clock_jumps`.
    """
    key_count = len(key_summary)
    never_us = np.full(key_count, NULL)
    is_on_day = ~commits.is_carried
    is_present = ~commits.is_deletion
    carried_samples = _find_contradicting_samples(commits)
    advances = _measure_advances(commits, carried_samples, key_count)
    is_commit = is_present & (commits.is_record | ((advances != 0) & (advances != NULL)))
    # A commit that is seen for the first time may have been made just before.
    is_activity = is_on_day & is_present & (is_commit | (advances == NULL))
    is_start = is_segment_start(commits.key)
    consumed = np.zeros(key_count, np.int64)
    consumed[commits.key[is_start]] = sum_segments(
        np.where(is_on_day & is_present, np.maximum(advances, 0), 0), is_start
    )
    consumed[carried_samples.key] -= carried_samples.counted_offsets
    consumed = np.maximum(consumed, 0)
    commit_counts = np.bincount(commits.key[is_on_day & commits.is_record & is_present], minlength=key_count)
    is_sample = is_on_day & ~commits.is_record & is_present
    every_row = np.ones(len(commits), np.bool_)
    is_deletion = is_on_day & commits.is_deletion
    activity = KeyActivity(
        consumed=consumed,
        commits=commit_counts,
        has_activity=np.bincount(commits.key[is_activity], minlength=key_count) > 0,
        last_seen_us=last_values(commits.key, is_sample, commits.at_us, never_us),
        has_commit=last_values(commits.key, every_row, is_present, np.zeros(key_count, np.bool_)),
        deleted_us=last_values(commits.key, is_deletion, commits.at_us, never_us),
        clock_jump_ms=clock_jump_ms,
    )
    last_activity_us = last_values(commits.key, is_activity, commits.at_us, never_us)
    last_commit_us = last_values(commits.key, is_on_day & is_commit, commits.at_us, never_us)
    return activity, replace(
        key_summary,
        last_activity_us=np.maximum(key_summary.last_activity_us, last_activity_us),
        last_commit_us=np.maximum(key_summary.last_commit_us, last_commit_us),
        has_records=key_summary.has_records | (commit_counts > 0),
    )


def measure_clock_jumps(day_commits: Commits, carried_commits: Commits, key_count: int) -> Ints:
    """Measure how far, at most, the time of a record lies behind an earlier record's of its key: in ms, or 0.

    `day_commits` are all commits of a day, superseded ones included; `carried_commits` are commits of earlier days,
    which were measured then. Return one number for each of `key_count` keys.
    """
    commits = Commits.join(carried_commits, day_commits)
    records = commits.take(commits.is_record).sort_by("key", "source_offset")
    at_us = np.where(records.is_carried, records.at_us, records.commit_timestamp_us)
    jumps_ms = np.zeros(key_count, np.int64)
    np.maximum.at(jumps_ms, records.key, (running_times(records.key, at_us) - at_us) // 1_000)
    return jumps_ms


def _find_contradicting_samples(commits: Commits) -> _CarriedSamples:
    """Find carried samples that contradict records: at most one for each key, which is its last carried row.

    Such a sample comes after a record. Either it already shows the commit of a record of the present day, or its offset
    is below that of the previous record, which is at most ten minutes older.
    """
    start_index = segment_starts(commits.key, commits.incarnation)
    is_sample = commits.is_carried & ~commits.is_record & ~commits.is_deletion
    record_index = last_index_before(commits.is_record & ~commits.is_deletion, start_index)
    is_candidate = is_sample & is_segment_end(commits.key, commits.is_carried) & (record_index >= 0)
    distance_us = commits.at_us - take(commits.at_us, record_index)
    is_below = (commits.committed_offset < take(commits.committed_offset, record_index)) & (
        distance_us <= LARGEST_CLOCK_DIFFERENCE_US
    )
    sample_index = np.flatnonzero(_match_records(commits, is_candidate, is_later=True) | (is_candidate & is_below))
    counted_offsets = commits.committed_offset[sample_index] - commits.committed_offset[record_index[sample_index]]
    return _CarriedSamples(
        sample_index=sample_index, key=commits.key[sample_index], counted_offsets=np.maximum(counted_offsets, 0)
    )


def _measure_advances(commits: Commits, carried_samples: _CarriedSamples, key_count: int) -> Ints:
    """Return by how many offsets each row advanced the commit of its key; negative for a rewind.

    NULL stands for a deletion, and for the first commit of an incarnation. Samples between two records, and samples
    that contradict the first or the last record, are ignored: they get 0, and no row is compared with them. No row is
    compared with `carried_samples` either.
    """
    is_ignored = are_between_records(commits, key_count) | _show_later_record(commits) | _show_earlier_record(commits)
    is_compared = ~is_ignored
    is_compared[carried_samples.sample_index] = False
    previous_index = last_index_before(is_compared, segment_starts(commits.key, commits.incarnation))
    previous_offset = take(commits.committed_offset, previous_index)
    is_known = (commits.committed_offset != NULL) & (previous_offset != NULL)
    return np.where(is_ignored, 0, np.where(is_known, commits.committed_offset - previous_offset, NULL))


def _show_later_record(commits: Commits) -> Flags:
    """Return a mask of the day's samples before the key's first record that already show a later record's commit.

    The coordinator's clock is ahead of the sampler's.
    """
    is_sample = ~commits.is_record & ~commits.is_deletion & ~commits.is_carried
    is_before_records = last_index_before(commits.is_record, segment_starts(commits.key)) < 0
    return _match_records(commits, is_sample & is_before_records, is_later=True)


def _show_earlier_record(commits: Commits) -> Flags:
    """Return a mask of the day's samples below the previous record that still show an earlier record's commit.

    The coordinator's clock is behind the sampler's.
    """
    start_index = segment_starts(commits.key, commits.incarnation)
    is_sample = ~commits.is_record & ~commits.is_deletion & ~commits.is_carried
    record_index = last_index_before(commits.is_record & ~commits.is_deletion, start_index)
    is_below = (record_index >= 0) & (commits.committed_offset < take(commits.committed_offset, record_index))
    return _match_records(commits, is_sample & is_below, is_later=False)


def _match_records(commits: Commits, is_candidate: Flags, *, is_later: bool) -> Flags:
    """Return a mask of the candidates that show the commit of a record of the same key and incarnation.

    The record has the candidate's offset. It comes at most ten minutes after the candidate, or, if `is_later` is false,
    at most ten minutes before it.
    """
    candidate_indices = np.flatnonzero(np.isin(commits.key, commits.key[is_candidate]))
    key_rows = commits.take(candidate_indices)
    order = np.lexsort((key_rows.at_us, key_rows.committed_offset, key_rows.incarnation, key_rows.key))
    sorted_rows = key_rows.take(order)
    commit_codes = (sorted_rows.key, sorted_rows.incarnation, sorted_rows.committed_offset)
    if is_later:
        record_index = next_index_after(sorted_rows.is_record, *commit_codes)
    else:
        record_index = last_index_before(sorted_rows.is_record, segment_starts(*commit_codes))
    distance_us = np.abs(take(sorted_rows.at_us, record_index, missing=0) - sorted_rows.at_us)
    shows_record = np.zeros(len(commits), np.bool_)
    shows_record[candidate_indices[order]] = (record_index >= 0) & (distance_us <= LARGEST_CLOCK_DIFFERENCE_US)
    return shows_record & is_candidate
