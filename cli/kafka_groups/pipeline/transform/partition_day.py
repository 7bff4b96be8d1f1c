"""One day of many topic partitions: the kernels in their order, from the facts and the state before to the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits, KeyDays, MoveStates, move
from kafka_groups.pipeline.transform.kernels.deletions import (
    ABSENT_US,
)
from kafka_groups.pipeline.transform.kernels.lag import LagRows, measure
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds, Observations, growth, observe
from kafka_groups.pipeline.transform.kernels.rates import SPAN_MS, Rates, Recent, measure_rates
from kafka_groups.pipeline.transform.kernels.segments import (
    DAY_US,
    NULL,
    Flags,
    Ints,
    first_rows,
    last_rows,
    rows_after,
    running_count,
    starts_of,
)
from kafka_groups.pipeline.transform.kernels.time_lag import (
    Points,
    TimeLags,
    index_points,
    measure_time_lag,
    thin_points,
)
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch
from kafka_groups.pipeline.transform.state import KeyState, KeyTotals, LastEnds, LogState, LogTotals


@dataclass(frozen=True, slots=True)
class ClusterDay:
    """What was read of a cluster on a day: its last commit record, its last sample, and the complete sampling runs.

    Times are NULL where nothing was read; `runs_us` ascend.
    """

    commit_us: int
    sample_us: int
    runs_us: Ints


@dataclass(frozen=True, slots=True)
class GroupDays:
    """Of each key's group on the day: the last sample that listed it, and the last that saw a commit of it."""

    listed_us: Ints
    answered_us: Ints


@dataclass(frozen=True, slots=True)
class LogDay:
    """A day of partitions: ends, points, what grew, the day's last sample, and whether anything was observed.

    `is_quiet`: observed more than once, always with the same log end. `kept_from`: of each observation, the highest
    start of its log on earlier days.
    """

    ends: LogEnds
    points: Points
    grown: Ints
    sampled_us: Ints
    is_observed: Flags
    is_quiet: Flags
    kept_from: Ints


@dataclass(frozen=True, slots=True)
class KeyDay:
    """A day of keys: lag with its rates and ages, what the commits did, and who lives at the day's end."""

    lags: LagRows
    rates: Rates
    time_lags: TimeLags
    days: KeyDays
    moves: MoveStates
    lives: Flags
    is_present: Flags
    is_orphaned: Flags
    removals: Commits


def transform_logs(
    batch: PartitionBatch, state: LogState, day: int, *, lookback_days: int, kept: int
) -> tuple[LogDay, LogState]:
    """Return the day of the batch's partitions, and their state at its end; `kept` is how many log ends to hand on."""
    rows = batch.observations.where(batch.observed_on == day)
    size = len(state.totals.fact_day)
    ends, logs = observe(rows, state.logs)
    points = index_points(ends, state.points)
    is_same = logs.log == state.logs.log
    kept_from = np.where(is_same, state.totals.kept_from, NULL)
    current = ends.log == logs.log[ends.rows.partition]
    np.maximum.at(kept_from, ends.rows.partition[current], ends.rows.log_start[current])
    known = ends.rows.log_end != NULL
    is_observed = np.zeros(size, np.bool_)
    is_observed[ends.rows.partition] = True
    fact_day = state.totals.fact_day.copy()
    fact_day[rows.partition] = day
    sampled = np.full(size, NULL)
    sampled[ends.rows.partition[ends.rows.is_sample]] = ends.rows.at_us[ends.rows.is_sample]
    now_ms = (day + 1) * DAY_US // 1_000
    after = LogState(
        logs,
        LogTotals(fact_day, kept_from),
        _last_ends(state.ends, ends, current & known, is_same, kept),
        thin_points(points, logs.log, now_ms, now_ms - (lookback_days + 1) * DAY_US // 1_000),
    )
    of_log = ends.log == state.logs.log[ends.rows.partition]
    before = np.where(of_log, state.totals.kept_from[ends.rows.partition], NULL)
    return LogDay(ends, points, growth(ends, size), sampled, is_observed, _are_quiet(rows, size), before), after


def _are_quiet(rows: Observations, size: int) -> Flags:
    """Return which partitions the summary counts as quiet, by all observations."""
    known = rows.log_end != NULL
    partition = rows.partition[known]
    edges = []
    for values in (rows.log_end[known], rows.at_us[known]):
        least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, NULL)
        np.minimum.at(least, partition, values)
        np.maximum.at(most, partition, values)
        edges.append((least, most))
    (least_end, most_end), (first_us, last_us) = edges
    is_quiet: Flags = (least_end == most_end) & (first_us < last_us)
    return is_quiet


def _last_ends(before: LastEnds, ends: LogEnds, chosen: Flags, is_same: Flags, kept: int) -> LastEnds:
    old = is_same[before.partition]
    rows = ends.rows.where(chosen)
    joined = LastEnds.join(before.where(old), LastEnds(rows.partition, rows.at_us, rows.log_end))
    joined = joined.where(np.lexsort((joined.at_us, joined.partition)))
    return joined.where(rows_after(joined.partition) < kept)


def transform_keys(
    batch: PartitionBatch,
    state: KeyState,
    logs: LogDay,
    after: LogState,
    commits: Commits,
    day: int,
    clusters: Mapping[str, ClusterDay],
) -> tuple[KeyDay, Ints]:
    """Return the day of the batch's keys, and the life of each commit row: how many removals there were until it."""
    base_us, size = day * DAY_US, len(state.totals.fact_day)
    partition_of = batch.names.partition_of
    starts = starts_of(first_rows(commits.key)) if len(commits) else commits.key
    life = state.totals.life[commits.key] + running_count(commits.is_removal & ~commits.is_carried, starts)
    lags = measure(logs.ends, commits, partition_of, state.totals.life, base_us)
    time_lags = measure_time_lag(lags, logs.ends, logs.points, logs.kept_from)
    recent, own = _recent(state.recent, lags)
    rates = measure_rates(recent)
    rates = Rates(rates.consume[own], rates.produce[own], rates.catch_up_ms[own])
    days, moves = move(commits, state.moves)
    lives = np.zeros(size, np.bool_)
    lives[commits.key] = ~commits.is_removal
    # A key with facts on earlier days has a commit that they handed on.
    is_present = np.bincount(commits.key, minlength=size) > 0
    removals = commits.where(commits.is_removal & ~commits.is_carried)
    orphaned = _orphans(batch, days, lives, after, clusters)
    return KeyDay(lags, rates, time_lags, days, moves, lives, is_present, orphaned, removals), life


def _recent(before: Recent, lags: LagRows) -> tuple[Recent, Ints]:
    """Return the lag rows of the last ten minutes before the day and of the day, and the places of the day's own."""
    mine = Recent(lags.key, lags.at_us // 1_000, lags.committed, lags.log_end, lags.removals, lags.log)
    joined = Recent.join(before, mine)
    order = np.lexsort((joined.at_ms, joined.key))
    # Within a key the day's rows keep their order, so the places are in the order of the lag rows.
    return joined.where(order), np.flatnonzero(order >= len(before))


def last_recent(before: Recent, lags: LagRows, day: int) -> Recent:
    """Return the rows to hand on: of the last ten minutes of the day."""
    joined, _ = _recent(before, lags)
    return joined.where(joined.at_ms >= (day + 1) * DAY_US // 1_000 - SPAN_MS)


def _orphans(
    batch: PartitionBatch, days: KeyDays, lives: Flags, after: LogState, clusters: Mapping[str, ClusterDay]
) -> Flags:
    """Return which commits outlived their partition: the day's last samples saw the one and not the other.

    That a sample saw the commit is needed: brokers report commits and partitions of those topics only that the user may
    describe, so a partition of a commit that was only read from `__consumer_offsets` may well exist.
    """
    runs = np.array([clusters[name].sample_us if name in clusters else NULL for name in batch.names.clusters], np.int64)
    run = runs[batch.names.cluster_of[batch.names.partition_of]]
    seen = after.logs.seen_us[batch.names.partition_of]
    is_told = lives & (run != NULL) & (days.sampled_us != NULL)
    run_ms, sampled_ms, seen_ms = (np.where(is_told, each, 0) // 1_000 for each in (run, days.sampled_us, seen))
    since = run_ms - sampled_ms
    has_partition = (seen != NULL) & (run_ms - seen_ms <= ABSENT_US // 1_000)
    found: Flags = is_told & (since >= 0) & (since <= ABSENT_US // 1_000) & ~has_partition
    return found


def key_totals(state: KeyState, commits: Commits, day: int, own: Ints) -> KeyTotals:
    """Return the totals at the day's end; `own` are the keys with facts of the day."""
    size = len(state.totals.fact_day)
    fact_day = state.totals.fact_day.copy()
    fact_day[own] = day
    removed = np.bincount(commits.key[commits.is_removal & ~commits.is_carried], minlength=size)
    seen_offset = np.where(removed > 0, NULL, state.totals.seen_offset)
    # Samples of the current life, the last one of each key.
    starts = starts_of(first_rows(commits.key)) if len(commits) else commits.key
    count = running_count(commits.is_removal & ~commits.is_carried, starts)
    is_seen = ~commits.is_record & ~commits.is_removal & ~commits.is_carried & (count == removed[commits.key])
    seen_offset[commits.key[is_seen]] = commits.offset[is_seen]
    return KeyTotals(fact_day, state.totals.life + removed, seen_offset)


def last_commits(commits: Commits) -> Commits:
    """Return what to hand on: each key's last row, its last sample of a commit, and its current life's last record."""
    last = last_rows(commits.key)
    size = int(commits.key.max(initial=-1)) + 1

    def newest(condition: Flags) -> Ints:
        found = np.full(size, -1)
        places = np.flatnonzero(condition)
        found[commits.key[places]] = places
        return found

    removal = newest(commits.is_removal)
    sample, record = (newest(~commits.is_removal & (commits.is_record == is_record)) for is_record in (False, True))
    last[sample[sample >= 0]] = True
    last[record[record > removal]] = True
    return commits.where(np.flatnonzero(last))
