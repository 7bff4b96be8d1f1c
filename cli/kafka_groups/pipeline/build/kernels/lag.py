"""Lag: the number of records that a group has yet to read on a partition, at each time with a known log end offset.

    lag = log end offset - committed offset

The commit is the last commit at that time. There is no lag after the commit was deleted, nor if the log and the commit
have different topic ids, because the topic was recreated.

Two clocks are involved: the sampler's for the log end of a sample, and the coordinator's for a record of a commit. If
the commit exceeds a sample's log end, these clocks differ. Then the commit that the sample itself saw is used instead.

Five log ends of one partition, a second apart, and commits at 100 and 140:

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> ends = new_log_ends(
    ...     partition=np.zeros(5, np.int64),
    ...     at_us=np.arange(1, 6) * 1_000_000,
    ...     log_end=np.array([100, 120, 140, 160, 180]),
    ... )
    >>> commits = new_commits(
    ...     key=np.array([0, 0]),
    ...     at_us=np.array([1_500_000, 3_500_000]),
    ...     committed_offset=np.array([100, 140]),
    ...     source_offset=np.array([7, 8]),
    ... )
    >>> measure_lag(ends, commits, partition_of_key=np.array([0])).lag
    array([20, 40, 20, 40])
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, LagRows, LogEnds
from kafka_groups.pipeline.build.kernels.segments import (
    expand_ranges,
    last_index_at,
    last_index_until,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints

# The clocks of producers may be ahead by this much.
_CLOCK_TOLERANCE_MS: Final = 60_000
# A sample requested its commits after the previous sample; if there is none, at most this time before its log ends.
_SAMPLE_DURATION_MS: Final = 600_000


def measure_lag(log_ends: LogEnds, commits: Commits, partition_of_key: Ints) -> LagRows:
    """Return the lag of each key at each of the day's log ends of its partition, by key and time.

    - `log_ends` are used rows with a known log end.
    - `commits` are the numbered commits of the day and the carried ones.
    - `partition_of_key` is the partition of each key; keys ascend with their partitions.

    A backfilled log end below the commit is skipped if its record's timestamp is more than a minute after the lookup
    time: the group had already read that record, so the timestamp is ahead.
    """
    key, end_index = _pair_keys_with_ends(log_ends, partition_of_key)
    last_commit = last_index_at((commits.key, commits.at_us), (key, log_ends.at_us[end_index]))
    has_commit = ~take(commits.is_deletion, last_commit, missing=True)
    key = key[has_commit]
    end_index = end_index[has_commit]
    last_commit = last_commit[has_commit]
    log_end_rows = log_ends.take(end_index)
    commit_rows = commits.take(_choose_commits(commits, log_end_rows, last_commit))
    deletion_index = last_index_until(commits.is_deletion, segment_starts(commits.key))[last_commit]
    is_far_ahead = (log_end_rows.lookup_timestamp_ms != NULL) & (
        log_end_rows.lookup_timestamp_ms - log_end_rows.at_us // 1_000 > _CLOCK_TOLERANCE_MS
    )
    lag_rows = LagRows(
        key=key,
        at_us=log_end_rows.at_us,
        committed_offset=commit_rows.committed_offset,
        log_end=log_end_rows.log_end,
        incarnation=commits.incarnation[last_commit],
        log_number=log_end_rows.log_number,
        observation=end_index,
        commit_timestamp_us=commit_rows.commit_timestamp_us,
        deleted_us=take(commits.at_us, deletion_index),
        is_commit_record=commit_rows.is_record,
        lag=log_end_rows.log_end - commit_rows.committed_offset,
        retention_margin=np.where(
            log_end_rows.log_start == NULL, NULL, commit_rows.committed_offset - log_end_rows.log_start
        ),
    )
    is_plausible = log_end_rows.is_sample | (commit_rows.committed_offset <= log_end_rows.log_end) | ~is_far_ahead
    return lag_rows.take(is_plausible & ~_has_other_topic_id(commit_rows, log_end_rows))


def _has_other_topic_id(commit_rows: Commits, log_end_rows: LogEnds) -> Flags:
    """Return for each row whether the commit and the log end are known to have different topic ids."""
    is_other_id: Flags = (
        (commit_rows.topic_id != NULL)
        & (log_end_rows.topic_id != NULL)
        & (commit_rows.topic_id != log_end_rows.topic_id)
    )
    return is_other_id


def _pair_keys_with_ends(log_ends: LogEnds, partition_of_key: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of a key and a log end of the day on its partition, by key and time.

    The first array has the keys, the second one the indices in `log_ends`, which are sorted by partition and time.
    """
    day_indices = np.flatnonzero(~log_ends.is_carried)
    partition = log_ends.partition[day_indices]
    first_end = np.searchsorted(partition, partition_of_key, "left")
    next_end = np.searchsorted(partition, partition_of_key, "right")
    key, end_index = expand_ranges(first_end, next_end - first_end)
    return key, day_indices[end_index]


def _choose_commits(commits: Commits, log_end_rows: LogEnds, last_commit: Ints) -> Ints:
    """Return the index of the commit that each log end is compared with.

    `last_commit` is the index of the key's last commit at the time of the log end. If that commit exceeds a sampled log
    end, the last sampled commit is chosen, provided that the same sample saw it.
    """
    is_sampled: Flags = ~commits.is_record & ~commits.is_deletion
    last_sampled = last_index_until(is_sampled, segment_starts(commits.key))[last_commit]
    at_ms = log_end_rows.at_us // 1_000
    is_first_sample = log_end_rows.previous_sample_us == NULL
    since_ms = np.where(is_first_sample, at_ms - _SAMPLE_DURATION_MS, log_end_rows.previous_sample_us // 1_000)
    is_from_same_sample = log_end_rows.is_sample & (take(commits.at_us, last_sampled) // 1_000 > since_ms)
    return np.where(
        is_from_same_sample & (commits.committed_offset[last_commit] > log_end_rows.log_end), last_sampled, last_commit
    )
