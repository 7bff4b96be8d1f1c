"""The results of a day for a batch of partitions, and functions that make them from frames of kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafka_groups.pipeline.build.frames import (
    Commits,
    KeyActivity,
    KeySummary,
    LagExtremes,
    LagRows,
    LogEnds,
    PartitionStatuses,
)
from kafka_groups.pipeline.build.group_frames import KeyDays
from kafka_groups.pipeline.build.kernels.lag_extremes import find_lag_extremes
from kafka_groups.pipeline.build.kernels.log_ends import measure_growth
from kafka_groups.pipeline.build.kernels.rates import RATE_WINDOW_MS
from kafka_groups.pipeline.build.kernels.segments import DAY_US, is_segment_end, last_values
from kafka_groups.pipeline.build.kernels.share_lag import judge_share_lag, measure_share_lag
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.partition_state import KeyState, LogState
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicActivity:
    """Row i is the observed activity of partition i of a batch on a day.

    `produced` is the growth of the log in records, NULL if it was not observed twice. `sampled_us` is the last sample
    of the partition, in µs since 1970; NULL if there was none.
    """

    is_observed: Flags
    produced: Ints
    sampled_us: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDay:
    """The results of a day (days since 1970) for a batch of partitions, and the state at its end.

    - `log_ends` are the used rows with a known log end; LagRows.observation refers to them.
    - Row i of `statuses`, and of `offset_before_reset` (as in KeyProgress), belongs to row i of `lag_rows`.
    - `carried_statuses` are statuses of the day before that may still count, and `deletions` are the deletions of
      commits on the day.
    - Row i of `key_days` belongs to key i. `has_key_day` is true if key i has a commit, or had one on the day, and its
      cluster was read, or if samples saw it in a share group.
    """

    day: int
    log_ends: LogEnds
    lag_rows: LagRows
    statuses: PartitionStatuses
    offset_before_reset: Ints
    carried_statuses: PartitionStatuses
    deletions: Commits
    key_days: KeyDays
    has_key_day: Flags
    topic_activity: TopicActivity
    log_state: LogState
    key_state: KeyState


def join_key_days(
    activity: KeyActivity,
    key_summary: KeySummary,
    extremes: LagExtremes,
    *,
    is_orphaned: Flags,
    is_idle_partition: Flags,
) -> KeyDays:
    """Return the days of the keys of a batch: row i of the result and of all arguments is key i."""
    return KeyDays(
        consumed=activity.consumed,
        commits=activity.commits,
        moves=activity.moves,
        sampled_us=activity.sampled_us,
        has_commit=activity.has_commit,
        deleted_us=activity.deleted_us,
        clock_jump_ms=activity.clock_jump_ms,
        last_move_us=key_summary.last_move_us,
        last_commit_us=key_summary.last_commit_us,
        has_records=key_summary.has_records,
        is_orphaned=is_orphaned,
        is_idle_partition=is_idle_partition,
        max_time_lag_ms=extremes.max_time_lag_ms,
        min_margin=extremes.min_margin,
        last_margin_at_ms=extremes.last_margin_at_ms,
        last_margin=extremes.last_margin,
        retention_left_ms=extremes.retention_left_ms,
        has_start_offset=np.zeros(len(key_summary), np.bool_),
    )


def observe_topics(used_of_day: LogEnds, ends: LogEnds, partitions: int) -> TopicActivity:
    """Return the activity of each of `partitions` partitions that was observed on a day.

    `used_of_day` are the day's used rows; `ends` are used rows with a known log end, also carried ones. Both have the
    order of LogEnds.
    """
    is_observed = np.bincount(used_of_day.partition, minlength=partitions) > 0
    return TopicActivity(
        is_observed=is_observed,
        produced=measure_growth(ends, partitions),
        sampled_us=last_values(
            used_of_day.partition,
            used_of_day.is_sample,
            used_of_day.at_us,
            np.full(partitions, NULL),
        ),
    )


def add_share_groups(results: PartitionDay, batch: PartitionBatch, settings: StageSettings) -> PartitionDay:
    """Return the results of a day with the lag rows, statuses and days of share groups, and the state of their keys.

    A key that has commits, too, keeps its own rows: its id belonged to another kind of group on that day.
    """
    shares = batch.share_lags.take(batch.day_of_share_lag == results.day)
    shares = shares.take(~np.isin(shares.key, results.lag_rows.key))
    if not len(shares):
        return results
    keys = len(batch.group)
    rows = measure_share_lag(shares, results.log_ends, batch.partition_of_key, results.day * DAY_US)
    carried = results.carried_statuses.take(np.isin(results.carried_statuses.key, rows.key))
    statuses = judge_share_lag(rows, carried, settings.limits, keys)
    fresh_us = (results.day + 1) * DAY_US - RATE_WINDOW_MS * 1_000
    last = statuses.take(is_segment_end(statuses.key) & (statuses.at_us >= fresh_us))
    state = results.key_state
    has_facts = np.bincount(shares.key, minlength=keys) > 0
    last_fact_day = np.where(has_facts, results.day, state.summary.last_fact_day)
    has_start_offset = has_facts & ~results.has_key_day
    joined = LagRows.join(results.lag_rows, rows)
    order = np.lexsort((joined.at_us, joined.key))
    return replace(
        results,
        lag_rows=joined.take(order),
        statuses=PartitionStatuses.join(results.statuses, statuses).take(order),
        offset_before_reset=np.concatenate([results.offset_before_reset, np.full(len(rows), NULL)])[order],
        key_days=_add_share_days(results.key_days, rows, has_start_offset),
        has_key_day=results.has_key_day | has_start_offset,
        key_state=replace(
            state,
            summary=replace(state.summary, last_fact_day=last_fact_day),
            last_status=PartitionStatuses.join(state.last_status, last).sort_by("key"),
        ),
    )


def _add_share_days(key_days: KeyDays, rows: LagRows, has_start_offset: Flags) -> KeyDays:
    """Return the days of keys, with the margins of keys in share groups, from their lag `rows`."""
    extremes = find_lag_extremes(rows, np.full(len(rows), NULL), len(has_start_offset))
    margins = {
        name: np.where(has_start_offset, getattr(extremes, name), getattr(key_days, name))
        for name in ("min_margin", "last_margin_at_ms", "last_margin", "retention_left_ms")
    }
    return replace(key_days, has_start_offset=has_start_offset, **margins)
