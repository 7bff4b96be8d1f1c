"""Deletions that no record shows: samples no longer see the commit.

Samples contain no tombstones, so a commit's absence is the only evidence of its deletion. One sample without the commit
is noise: the coordinator may just have moved. Two complete samples must lack the commit, the later one more than ten
minutes after the commit was last seen. Then the time of the first of them is the time of the deletion. A sample is
complete if every coordinator listed its groups (UNLISTED_LOG_END).

- If records were read up to that time, they show whether the commit was deleted, and nothing is inferred.
- A group that is still listed, but without any commit, keeps its commits: samples may have been unable to read them.

A sample requested the commit at minute 0 and log ends at minute 1. Three complete samples without the commit follow:

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import empty_key_summary, new_commits
    >>> minute = 60_000_000
    >>> sampled = new_commits(
    ...     key=np.array([0]),
    ...     at_us=np.array([0]),
    ...     committed_offset=np.array([5]),
    ...     source_offset=np.array([NULL]),
    ... )
    >>> samples = SampleTimes(cluster=np.zeros(4, np.int64), at_us=np.array([1, 6, 12, 18]) * minute)
    >>> facts = ReadTimes(
    ...     cluster_of_key=np.array([0]),
    ...     last_commit_record_us=np.array([NULL]),
    ...     group_listed_us=np.array([0]),
    ...     group_commit_us=np.array([0]),
    ... )
    >>> deletions, _ = infer_deletions(sampled, empty_key_summary(1), samples, facts)
    >>> deletions.at_us // minute
    array([6])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, KeySummary
from kafka_groups.pipeline.build.kernels.committed_offsets import new_deletions
from kafka_groups.pipeline.build.kernels.segments import first_index_at, last_values, take
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints

# A commit counts as deleted only if at least two complete samples omit it, the last more than this long after it was
# last seen.
ABSENT_MS: Final = 600_000
# A sample's own time is later than the times of its commits, because it requests log ends last. So the first complete
# sample after a commit was seen is the sample that saw it. Only the second one lacks the commit.
_SAMPLES_UNTIL_MISSING: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTimes:
    """The complete samples of a day, sorted by cluster (its index in the batch) and time (µs since 1970)."""

    cluster: Ints
    at_us: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTimes:
    """The times up to which the cluster and the group of each key were read on a day.

    Times are µs since 1970; NULL where nothing was read.
    - `cluster_of_key` is the index of the key's cluster in the batch.
    - `last_commit_record_us` is the time of the cluster's last commit record.
    - `group_listed_us` is the time of the last sample that listed the key's group, `group_commit_us` of the last one
      that saw any of the group's commits.
    """

    cluster_of_key: Ints
    last_commit_record_us: Ints
    group_listed_us: Ints
    group_commit_us: Ints


def infer_deletions(
    commits: Commits, key_summary: KeySummary, samples: SampleTimes, read_times: ReadTimes
) -> tuple[Commits, KeySummary]:
    """Infer deletions from the day's complete samples; return them, and each key's new summary.

    `commits` are the ordered commits of the day and of earlier days. `key_summary` is the summary before the day, and
    `read_times` shows what was read on it. A deletion is dropped if it would precede a row of an earlier day.
    """
    never_us = np.full(len(key_summary), NULL)
    seen_today_us = last_values(commits.key, ~commits.is_record & ~commits.is_carried, commits.at_us, never_us)
    is_seen_today = seen_today_us != NULL
    seen_us = np.where(is_seen_today, seen_today_us, key_summary.last_seen_us)
    samples_before = np.where(is_seen_today, 0, np.maximum(key_summary.samples_since_seen, 0))
    missing_since_us = np.where(is_seen_today, NULL, key_summary.missing_since_us)

    first_sample = first_index_at((samples.cluster, samples.at_us), (read_times.cluster_of_key, seen_us))
    end_sample = np.searchsorted(samples.cluster, read_times.cluster_of_key, "right")
    has_samples = (seen_us != NULL) & (first_sample >= 0)
    samples_since_seen = samples_before + np.where(has_samples, end_sample - first_sample, 0)
    begins_today = (missing_since_us == NULL) & (samples_since_seen >= _SAMPLES_UNTIL_MISSING)
    first_missing = np.where(begins_today, first_sample + _SAMPLES_UNTIL_MISSING - 1 - samples_before, -1)
    missing_since_us = np.where(begins_today, take(samples.at_us, first_missing), missing_since_us)

    last_sample_us = take(samples.at_us, np.where(first_sample >= 0, end_sample - 1, -1))
    is_missing = (seen_us != NULL) & (missing_since_us != NULL) & (last_sample_us > missing_since_us)
    is_absent = is_missing & (last_sample_us // 1_000 - seen_us // 1_000 > ABSENT_MS)
    is_deleted = (
        is_absent
        & ~_records_show_commit(commits, read_times, missing_since_us)
        & ~_is_listed_without_commits(read_times, missing_since_us)
    )
    # No sample is expected to see a deleted commit. It can be missing again only after a sample has seen it again.
    new_summary = replace(
        key_summary,
        last_seen_us=np.where(is_deleted, NULL, seen_us),
        samples_since_seen=np.minimum(samples_since_seen, _SAMPLES_UNTIL_MISSING),
        missing_since_us=missing_since_us,
    )
    last_carried_us = last_values(commits.key, commits.is_carried, commits.at_us, never_us)
    deleted_keys = np.flatnonzero(is_deleted & (missing_since_us > last_carried_us))
    return new_deletions(deleted_keys, missing_since_us[deleted_keys]), new_summary


def _records_show_commit(commits: Commits, read_times: ReadTimes, since_us: Ints) -> Flags:
    """Return for each key whether its last record is a commit, and its cluster's records were read up to `since_us`."""
    without_record = np.zeros(len(since_us), np.bool_)
    is_last_record_commit = last_values(commits.key, commits.is_record, ~commits.is_deletion, without_record)
    return is_last_record_commit & (read_times.last_commit_record_us >= since_us)


def _is_listed_without_commits(read_times: ReadTimes, since_us: Ints) -> Flags:
    """Return for each key whether samples since `since_us` listed its group, but saw none of its commits."""
    return (read_times.group_listed_us >= since_us) & (read_times.group_commit_us < since_us)
