"""Lag: the last commit at each time that a log end is known for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    last_where,
    merge_key,
    running_count,
    starts_of,
    take,
)

# Producers' clocks are others than ours: so far ahead they may be.
_CLOCKS_MS: Final = 60_000
# A sample's commits were requested after the sample before it, where there is one, or at most so long ago.
_RUN_MS: Final = 600_000


@dataclass(frozen=True, slots=True)
class LagRows(Rows):
    """A row for each key and each observation at which it had a commit; `observation` is the place in LogEnds."""

    key: Ints
    observation: Ints
    at_us: Ints
    committed: Ints
    commit_us: Ints
    is_commit_record: Flags
    log_end: Ints
    log: Ints
    removals: Ints  # of the key, before the row
    lag: Ints
    margin: Ints


def measure(ends: LogEnds, commits: Commits, partition_of: Ints, removals: Ints, base_us: int) -> LagRows:
    """Return lag rows of a day that begins at `base_us`, by key and time.

    `partition_of` is the partition of each key, `removals` how many each key had before. The commit is the last one at
    or before the observation; from a removal on there is no row until the next commit. A sample that would be left with
    a commit beyond its log end was taken by another clock: then the commit is the one that the sample itself saw. A
    backfill's end that is below the commit because its record was read before the time that it bears is not used.
    """
    key, place = _pairs(ends, partition_of)
    rows = ends.rows
    at_us, end = rows.at_us[place], rows.log_end[place]
    last = np.searchsorted(merge_key(commits.key, commits.at_us, base_us), merge_key(key, at_us, base_us), "right") - 1
    starts = starts_of(first_rows(commits.key))
    is_live = (last >= 0) & (take(commits.key, last, -1) == key) & ~take(commits.is_removal, last, missing=True)
    key, place, at_us, end, last = (each[is_live] for each in (key, place, at_us, end, last))
    sampled = last_where(~commits.is_record & ~commits.is_removal, starts)[last]
    before_us = ends.before_us[place]
    run_ms = np.where(before_us == NULL, at_us // 1_000 - _RUN_MS, before_us // 1_000)
    of_run = rows.is_sample[place] & (sampled >= 0) & (take(commits.at_us, sampled) // 1_000 > run_ms)
    known = np.where(of_run & (commits.offset[last] > end), sampled, last)
    ahead_ms = rows.point_ms[place] - np.where(rows.point_ms[place] == NULL, 0, at_us // 1_000)
    is_ahead = ~rows.is_sample[place] & (commits.offset[known] > end) & (ahead_ms > _CLOCKS_MS)
    removed = removals[commits.key] + running_count(commits.is_removal & ~commits.is_carried, starts)
    committed, start = commits.offset[known], rows.log_start[place]
    return LagRows(
        key=key,
        observation=place,
        at_us=at_us,
        committed=committed,
        commit_us=commits.at_us[known],
        is_commit_record=commits.is_record[known],
        log_end=end,
        log=ends.log[place],
        removals=removed[last] if len(last) else last,
        lag=end - committed,
        margin=np.where(start == NULL, NULL, committed - np.where(start == NULL, 0, start)),
    ).where(~is_ahead)


def _pairs(ends: LogEnds, partition_of: Ints) -> tuple[Ints, Ints]:
    """Return keys and places of all observations with a log end of each key's partition."""
    places = np.flatnonzero(ends.rows.log_end != NULL)
    partitions = ends.rows.partition[places]
    first = np.searchsorted(partitions, partition_of, "left")
    count = np.searchsorted(partitions, partition_of, "right") - first
    key = np.repeat(np.arange(len(partition_of)), count)
    within = np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count)
    return key, places[np.repeat(first, count) + within]
