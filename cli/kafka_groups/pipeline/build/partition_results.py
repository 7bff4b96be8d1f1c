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

    `produced` is the growth of the log in records, NULL if it was not observed twice. `last_seen_us` is the last sample
    of the partition, in µs since 1970; NULL if there was none.
    """

    is_observed: Flags
    produced: Ints
    last_seen_us: Ints


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
        has_activity=activity.has_activity,
        last_seen_us=activity.last_seen_us,
        has_commit=activity.has_commit,
        deleted_us=activity.deleted_us,
        clock_jump_ms=activity.clock_jump_ms,
        last_activity_us=key_summary.last_activity_us,
        last_commit_us=key_summary.last_commit_us,
        has_records=key_summary.has_records,
        is_orphaned=is_orphaned,
        is_idle_partition=is_idle_partition,
        max_time_lag_ms=extremes.max_time_lag_ms,
        min_retention_margin=extremes.min_retention_margin,
        last_retention_margin_at_ms=extremes.last_retention_margin_at_ms,
        last_retention_margin=extremes.last_retention_margin,
        retention_left_ms=extremes.retention_left_ms,
        has_start_offset=np.zeros(len(key_summary), np.bool_),
    )


def observe_topics(used_ends_of_day: LogEnds, usable_ends: LogEnds, partition_count: int) -> TopicActivity:
    """Return the activity of each of `partition_count` partitions that was observed on a day.

    `used_ends_of_day` are the day's used rows; `usable_ends` are used rows with a known log end, also carried ones.
    Both have the order of LogEnds.
    """
    is_observed = np.bincount(used_ends_of_day.partition, minlength=partition_count) > 0
    return TopicActivity(
        is_observed=is_observed,
        produced=measure_growth(usable_ends, partition_count),
        last_seen_us=last_values(
            used_ends_of_day.partition,
            used_ends_of_day.is_sample,
            used_ends_of_day.at_us,
            np.full(partition_count, NULL),
        ),
    )


def add_share_groups(partition_day: PartitionDay, batch: PartitionBatch, settings: StageSettings) -> PartitionDay:
    """Return the results of a day with the lag rows, statuses and days of share groups, and the state of their keys.

    A key that has commits, too, keeps its own rows: its id belonged to another kind of group on that day.
    """
    share_lags = batch.share_lags.take(batch.day_of_share_lag == partition_day.day)
    share_lags = share_lags.take(~np.isin(share_lags.key, partition_day.lag_rows.key))
    if not len(share_lags):
        return partition_day
    key_count = len(batch.group)
    share_rows = measure_share_lag(
        share_lags, partition_day.log_ends, batch.partition_of_key, partition_day.day * DAY_US
    )
    carried_statuses = partition_day.carried_statuses.take(np.isin(partition_day.carried_statuses.key, share_rows.key))
    share_statuses = judge_share_lag(share_rows, carried_statuses, settings.limits, key_count)
    oldest_fresh_us = (partition_day.day + 1) * DAY_US - RATE_WINDOW_MS * 1_000
    last_statuses = share_statuses.take(is_segment_end(share_statuses.key) & (share_statuses.at_us >= oldest_fresh_us))
    key_state = partition_day.key_state
    has_facts = np.bincount(share_lags.key, minlength=key_count) > 0
    last_fact_day = np.where(has_facts, partition_day.day, key_state.summary.last_fact_day)
    has_start_offset = has_facts & ~partition_day.has_key_day
    all_lag_rows = LagRows.join(partition_day.lag_rows, share_rows)
    order = np.lexsort((all_lag_rows.at_us, all_lag_rows.key))
    return replace(
        partition_day,
        lag_rows=all_lag_rows.take(order),
        statuses=PartitionStatuses.join(partition_day.statuses, share_statuses).take(order),
        offset_before_reset=np.concatenate([partition_day.offset_before_reset, np.full(len(share_rows), NULL)])[order],
        key_days=_add_share_days(partition_day.key_days, share_rows, has_start_offset),
        has_key_day=partition_day.has_key_day | has_start_offset,
        key_state=replace(
            key_state,
            summary=replace(key_state.summary, last_fact_day=last_fact_day),
            last_status=PartitionStatuses.join(key_state.last_status, last_statuses).sort_by("key"),
        ),
    )


def _add_share_days(key_days: KeyDays, share_rows: LagRows, has_start_offset: Flags) -> KeyDays:
    """Return the days of keys, with the margins of keys in share groups, from their lag rows `share_rows`."""
    extremes = find_lag_extremes(share_rows, np.full(len(share_rows), NULL), len(has_start_offset))
    margins = {
        name: np.where(has_start_offset, getattr(extremes, name), getattr(key_days, name))
        for name in (
            "min_retention_margin",
            "last_retention_margin_at_ms",
            "last_retention_margin",
            "retention_left_ms",
        )
    }
    return replace(key_days, has_start_offset=has_start_offset, **margins)


def carry_statuses(
    statuses: PartitionStatuses, commits: Commits, oldest_fresh_us: int, key_count: int
) -> PartitionStatuses:
    """Return the last status of each key that still counts on the next day.

    The status must be from `oldest_fresh_us` (µs since 1970) or later, and the commit must not have been deleted since.
    `key_count` is the number of keys.
    """
    is_deletion = commits.is_deletion & ~commits.is_carried
    deleted_us = last_values(commits.key, is_deletion, commits.at_us, np.full(key_count, NULL))
    is_present = statuses.at_us >= deleted_us[statuses.key]
    return statuses.take(is_segment_end(statuses.key) & (statuses.at_us >= oldest_fresh_us) & is_present)
