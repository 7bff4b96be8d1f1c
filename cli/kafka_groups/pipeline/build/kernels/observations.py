"""Observations of keys: what each lag row shows as evidence for verdicts.

The lag counts records that still exist: if the log start is above the commit, it counts from the log start on. The lag
is unknown where the commit is above the log end. The number of members comes from the key's last sample.

Three records of one key, two of them at the same offset, and log ends after the first and the third (times in seconds):

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
    >>> from kafka_groups.pipeline.build.kernels.lag import measure_lag
    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> seconds = 1_000_000
    >>> commits = new_commits(
    ...     key=np.zeros(3, np.int64),
    ...     at_us=np.array([10, 20, 30]) * seconds,
    ...     committed_offset=np.array([100, 100, 100]),
    ...     source_offset=np.arange(3),
    ... )
    >>> ends = new_log_ends(
    ...     partition=np.zeros(2, np.int64), at_us=np.array([15, 35]) * seconds, log_end=np.array([120, 150])
    ... )
    >>> rows = measure_lag(ends, commits, partition_of_key=np.array([0]))
    >>> observations = make_observations(rows, ends, commits)
    >>> observations.lag, observations.repeated_commits, observations.commit_ms
    (array([20, 50]), array([0, 2]), array([10000, 30000]))
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, LagRows, LogEnds, Observations
from kafka_groups.pipeline.build.kernels.committed_offsets import count_repeated_commits
from kafka_groups.pipeline.build.kernels.segments import first_index_at, last_index_at, segment_maximum, take
from kafka_groups.pipeline.frames.arrays import NULL, Ints

# After this time without a sample the number of members is unknown.
_MEMBERS_FRESH_US: Final = 600_000_000


def new_observations(
    *, at_ms: Ints, committed_offset: Ints, log_end: Ints, log_start: Ints | None = None
) -> Observations:
    """Return observations of key 0 with these columns. The lag is their difference; all other numbers are unknown."""
    row_count = len(at_ms)
    zeros = np.zeros(row_count, np.int64)
    unknown_values = np.full(row_count, NULL)
    return Observations(
        key=zeros,
        incarnation=zeros,
        log_number=zeros,
        at_ms=at_ms,
        committed_offset=committed_offset,
        log_start=unknown_values if log_start is None else log_start,
        log_end=log_end,
        lag=np.where(committed_offset > log_end, NULL, log_end - committed_offset),
        lost_records=unknown_values,
        member_count=unknown_values,
        commit_ms=unknown_values,
        repeated_commits=unknown_values,
        highest_offset=committed_offset,
    )


def make_observations(lag_rows: LagRows, log_ends: LogEnds, commits: Commits) -> Observations:
    """Make one observation of each lag row, in the order of the rows.

    `log_ends` are the log ends that `lag_rows.observation` refers to; `commits` are all ordered commits, carried ones
    included.
    """
    log_start = log_ends.log_start[lag_rows.observation]
    committed_offset = lag_rows.committed_offset
    is_known = committed_offset <= lag_rows.log_end
    readable_from = np.maximum(committed_offset, log_start)
    commit_us, repeated_commits = _find_records(lag_rows, commits)
    return Observations(
        key=lag_rows.key,
        incarnation=lag_rows.incarnation,
        log_number=lag_rows.log_number,
        at_ms=lag_rows.at_us // 1_000,
        committed_offset=committed_offset,
        log_start=log_start,
        log_end=lag_rows.log_end,
        lag=np.where(is_known, lag_rows.log_end - readable_from, NULL),
        lost_records=np.where(log_start == NULL, NULL, np.maximum(0, log_start - committed_offset)),
        member_count=_find_member_counts(lag_rows, commits),
        commit_ms=np.where(commit_us == NULL, NULL, commit_us // 1_000),
        repeated_commits=repeated_commits,
        highest_offset=_find_highest_offset(lag_rows, commits),
    )


def _find_member_counts(lag_rows: LagRows, commits: Commits) -> Ints:
    """Return the number of members of the group at each row, from the key's last sample until then.

    It is NULL if that sample does not show it, or is more than ten minutes old.
    """
    samples = commits.take(~commits.is_record & ~commits.is_deletion)
    sample_index = last_index_at((samples.key, samples.at_us), (lag_rows.key, lag_rows.at_us))
    is_fresh = lag_rows.at_us - take(samples.at_us, sample_index, 0) <= _MEMBERS_FRESH_US
    return np.where(is_fresh, take(samples.member_count, sample_index), NULL)


def _find_highest_offset(lag_rows: LagRows, commits: Commits) -> Ints:
    """Return for each row the highest offset that was committed after the key's previous row, up to the row.

    Records also show commits between two observations. If a row has its commit from a sample, the records before it
    have wrong times or are missing, so they do not count.
    """
    records = commits.take(commits.is_record & ~commits.is_deletion)
    row_of_record = first_index_at((lag_rows.key, lag_rows.at_us), (records.key, records.at_us))
    is_same_incarnation = take(lag_rows.incarnation, row_of_record, -1) == records.incarnation
    is_matching = is_same_incarnation & take(lag_rows.is_commit_record, row_of_record, missing=False)
    highest_offset = lag_rows.committed_offset.copy()
    record_offset = np.maximum(records.committed_offset, records.unseen_highest_offset)
    np.maximum.at(highest_offset, row_of_record[is_matching], record_offset[is_matching])
    return highest_offset


def find_unseen_highest_offset(lag_rows: LagRows, commits: Commits) -> Ints:
    """Return what the next day's first row has to know: the highest offset that no row of this day has seen.

    Each record after the last row of its key gets the highest offset among these records of its incarnation. All other
    commits get NULL.
    """
    is_record = commits.is_record & ~commits.is_deletion
    is_unseen = is_record & (first_index_at((lag_rows.key, lag_rows.at_us), (commits.key, commits.at_us)) < 0)
    unseen_highest_offset = np.full(len(commits), NULL)
    records = commits.take(is_unseen)
    if len(records):
        record_offset = np.maximum(records.committed_offset, records.unseen_highest_offset)
        unseen_highest_offset[is_unseen] = segment_maximum(record_offset, records.key, records.incarnation)
    return unseen_highest_offset


def _find_records(lag_rows: LagRows, commits: Commits) -> tuple[Ints, Ints]:
    """Return when each row's commit was written (µs since 1970), and how many records before it have the same offset.

    Use the latest record at or before the row, even if a sample has seen the commit since. Both are NULL if that
    record's offset differs.
    """
    is_commit = commits.is_record & ~commits.is_deletion
    records = commits.take(is_commit)
    record_index = last_index_at((records.key, records.at_us), (lag_rows.key, lag_rows.at_us))
    is_same_commit = (take(records.committed_offset, record_index) == lag_rows.committed_offset) & (
        take(records.incarnation, record_index) == lag_rows.incarnation
    )
    is_shown = lag_rows.is_commit_record | is_same_commit
    commit_us = np.where(
        lag_rows.is_commit_record, lag_rows.commit_timestamp_us, take(records.commit_timestamp_us, record_index)
    )
    repeated_commits = take(count_repeated_commits(commits)[is_commit], record_index)
    return np.where(is_shown, commit_us, NULL), np.where(is_shown, repeated_commits, NULL)
