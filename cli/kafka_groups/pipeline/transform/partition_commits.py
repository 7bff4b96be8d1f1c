"""The commits of one day of topic partitions, and the removals that samples imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits, in_order
from kafka_groups.pipeline.transform.kernels.deletions import Absence, Evidence, count_missed, infer_deletions
from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Ints
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch
from kafka_groups.pipeline.transform.partition_day import ClusterDay, GroupDays, LogDay
from kafka_groups.pipeline.transform.state import KeyState


def day_commits(
    batch: PartitionBatch,
    state: KeyState,
    logs: LogDay,
    day: int,
    clusters: Mapping[str, ClusterDay],
    groups: GroupDays,
) -> tuple[Commits, Absence]:
    """Return the day's commits and removals in order, those that samples imply included, and the absences after it."""
    rows = in_order(batch.commits.where(batch.committed_on == day))
    size = len(state.totals.fact_day)
    seen = np.full(size, NULL)
    samples = ~rows.is_record
    seen[rows.key[samples]] = rows.at_us[samples]
    is_kept = state.moves.is_told.copy()
    is_kept[rows.key[rows.is_record]] = ~rows.is_removal[rows.is_record]
    has_records = state.moves.last_read_us != NULL
    has_records[rows.key[rows.is_record]] = True
    absence, removed = _absences(batch, state.absence, seen, is_kept, clusters, groups)
    is_present = (state.totals.fact_day != NULL) | (np.bincount(rows.key, minlength=size) > 0)
    keys, times = _ended_with_logs(batch, logs, is_present & ~has_records)
    inferred = np.flatnonzero(removed > _last_times(state.commits, size))
    removals = _removals(np.concatenate([inferred, keys]), np.concatenate([removed[inferred], times]))
    carried = replace(state.commits, is_carried=np.ones(len(state.commits), np.bool_))
    absence = replace(absence, seen_us=np.where(removed != NULL, NULL, absence.seen_us))
    return in_order(carried, rows, removals), absence


def _last_times(commits: Commits, size: int) -> Ints:
    """Return the time of each key's last row of earlier days; a removal before it has changed nothing since."""
    found = np.full(size, NULL)
    np.maximum.at(found, commits.key, commits.at_us)
    return found


def _absences(
    batch: PartitionBatch,
    carried: Absence,
    seen: Ints,
    is_kept: Flags,
    clusters: Mapping[str, ClusterDay],
    groups: GroupDays,
) -> tuple[Absence, Ints]:
    removed = np.full(len(seen), NULL)
    found = Absence(carried.seen_us.copy(), carried.runs.copy(), carried.missed_us.copy())
    cluster_of = batch.names.cluster_of[batch.names.partition_of]
    for place, name in enumerate(batch.names.clusters):
        keys = np.flatnonzero(cluster_of == place)
        mine = clusters.get(name)
        if mine is None or not len(keys):
            continue
        one = Absence(carried.seen_us[keys], carried.runs[keys], carried.missed_us[keys])
        one = count_missed(one, seen[keys], mine.runs_us)
        found.seen_us[keys], found.runs[keys], found.missed_us[keys] = one.seen_us, one.runs, one.missed_us
        if len(mine.runs_us):
            evidence = Evidence(
                is_kept[keys], np.full(len(keys), mine.commit_us), groups.listed_us[keys], groups.answered_us[keys]
            )
            removed[keys] = infer_deletions(one, evidence, int(mine.runs_us[-1]))
    return found, removed


def _ended_with_logs(batch: PartitionBatch, logs: LogDay, chosen: Flags) -> tuple[Ints, Ints]:
    """Return the keys of logs that ended, and when: just after the last sample of each.

    Deleting a topic deletes all commits on it; what the next sample sees was committed on the new log.
    """
    ends = logs.ends
    first = np.flatnonzero(ends.is_first_of_log & ends.rows.is_sample & (ends.before_us != NULL))
    keys, times = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place in first:
        mine = np.flatnonzero((batch.names.partition_of == ends.rows.partition[place]) & chosen)
        keys.append(mine)
        times.append(np.full(len(mine), (ends.before_us[place] // 1_000 + 1) * 1_000))
    return np.concatenate(keys), np.concatenate(times)


def _removals(keys: Ints, times: Ints) -> Commits:
    size = len(keys)
    nothing, no = np.full(size, NULL), np.zeros(size, np.bool_)
    return Commits(keys, times, nothing, no, np.ones(size, np.bool_), nothing, no)
