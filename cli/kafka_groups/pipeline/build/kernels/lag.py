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


def measure_lag(ends: LogEnds, commits: Commits, partition_of_key: Ints) -> LagRows:
    """Return the lag of each key at each of the day's log ends of its partition, by key and time.

    - `ends` are used rows with a known log end.
    - `commits` are the numbered commits of the day and the carried ones.
    - `partition_of_key` is the partition of each key; keys ascend with their partitions.

    A backfilled log end below the commit is skipped if its record's timestamp is more than a minute after the lookup
    time: the group had already read that record, so the timestamp is ahead.
    """
    key, index = _pair_keys_with_ends(ends, partition_of_key)
    last_commit = last_index_at((commits.key, commits.at_us), (key, ends.at_us[index]))
    has_commit = ~take(commits.is_deletion, last_commit, missing=True)
    key = key[has_commit]
    index = index[has_commit]
    last_commit = last_commit[has_commit]
    end = ends.take(index)
    commit = commits.take(_choose_commits(commits, end, last_commit))
    deletion = last_index_until(commits.is_deletion, segment_starts(commits.key))[last_commit]
    is_far_ahead = (end.lookup_timestamp_ms != NULL) & (
        end.lookup_timestamp_ms - end.at_us // 1_000 > _CLOCK_TOLERANCE_MS
    )
    rows = LagRows(
        key=key,
        at_us=end.at_us,
        committed_offset=commit.committed_offset,
        log_end=end.log_end,
        incarnation=commits.incarnation[last_commit],
        log_number=end.log_number,
        observation=index,
        commit_timestamp_us=commit.commit_timestamp_us,
        deleted_us=take(commits.at_us, deletion),
        is_commit_record=commit.is_record,
        lag=end.log_end - commit.committed_offset,
        retention_margin=np.where(end.log_start == NULL, NULL, commit.committed_offset - end.log_start),
    )
    is_possible = end.is_sample | (commit.committed_offset <= end.log_end) | ~is_far_ahead
    return rows.take(is_possible & ~_has_other_topic_id(commit, end))


def _has_other_topic_id(commit: Commits, end: LogEnds) -> Flags:
    """Return for each row whether the commit and the log end are known to have different topic ids."""
    is_other: Flags = (commit.topic_id != NULL) & (end.topic_id != NULL) & (commit.topic_id != end.topic_id)
    return is_other


def _pair_keys_with_ends(ends: LogEnds, partition_of_key: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of a key and a log end of the day on its partition, by key and time.

    The first array has the keys, the second one the indices in `ends`, which are sorted by partition and time.
    """
    day_indices = np.flatnonzero(~ends.is_carried)
    partition = ends.partition[day_indices]
    first = np.searchsorted(partition, partition_of_key, "left")
    until = np.searchsorted(partition, partition_of_key, "right")
    key, index = expand_ranges(first, until - first)
    return key, day_indices[index]


def _choose_commits(commits: Commits, end: LogEnds, last_commit: Ints) -> Ints:
    """Return the index of the commit that each log end is compared with.

    `last_commit` is the index of the key's last commit at the time of the log end. If that commit exceeds a sampled log
    end, the last sampled commit is chosen, provided that the same sample saw it.
    """
    is_sampled: Flags = ~commits.is_record & ~commits.is_deletion
    last_sampled = last_index_until(is_sampled, segment_starts(commits.key))[last_commit]
    at_ms = end.at_us // 1_000
    is_first_sample = end.previous_sample_us == NULL
    since_ms = np.where(is_first_sample, at_ms - _SAMPLE_DURATION_MS, end.previous_sample_us // 1_000)
    is_of_same_sample = end.is_sample & (take(commits.at_us, last_sampled) // 1_000 > since_ms)
    return np.where(
        is_of_same_sample & (commits.committed_offset[last_commit] > end.log_end), last_sampled, last_commit
    )
