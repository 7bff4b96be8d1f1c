"""The partition stage, day by day: the kernels in their order, from facts and state to the results of a day.

Names of rows state what was done with them. Each kernel needs rows of a certain step:

    log ends   observed   the day's rows of `partition_offsets`, by partition and time
            -> numbered   these and the carried ones, with the number of their log (`number_logs`)
            -> used       those that contradict no other row; `ends` are the used rows with a known log end
            -> carried    the last ones of each kind, for the next day (`carry_log_ends`)

    commits    ordered    the day's rows and the carried ones, each once, in the order of the log (`order_commits`),
                          with inferred deletions (`infer_deletions`) and topic ids (`find_topic_ids`)
            -> numbered   these with their incarnations (`number_incarnations`)
            -> carried    the last ones of each kind, for the next day (`carry_commits`)

    `measure_lag` joins numbered commits with `ends`; rates, time lags and verdicts follow from its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.fact_summary import NOTHING_READ, ClusterDay, FactSummary, SampledGroup
from kafka_groups.pipeline.build.frames import (
    Commits,
    KeyActivity,
    KeySummary,
    LagRows,
    LogEnds,
    PartitionStatuses,
    PartitionSummary,
    TimePoints,
)
from kafka_groups.pipeline.build.kernels import committed_offsets, log_ends
from kafka_groups.pipeline.build.kernels.consumption import measure_activity, measure_clock_jumps
from kafka_groups.pipeline.build.kernels.inferred_deletions import ABSENT_MS, ReadTimes, SampleTimes, infer_deletions
from kafka_groups.pipeline.build.kernels.lag import measure_lag
from kafka_groups.pipeline.build.kernels.lag_extremes import find_lag_extremes
from kafka_groups.pipeline.build.kernels.observations import find_unseen_highest_offset, make_observations
from kafka_groups.pipeline.build.kernels.progress import carry_progress
from kafka_groups.pipeline.build.kernels.rates import RATE_WINDOW_MS, measure_rates_of_day
from kafka_groups.pipeline.build.kernels.segments import (
    DAY_US,
    expand_ranges,
    is_segment_start,
    last_values,
)
from kafka_groups.pipeline.build.kernels.time_index import index_points, thin_points
from kafka_groups.pipeline.build.kernels.time_lag import measure_time_lag
from kafka_groups.pipeline.build.kernels.verdicts import judge_observations
from kafka_groups.pipeline.build.partition_batch import PartitionBatch
from kafka_groups.pipeline.build.partition_results import (
    PartitionDay,
    add_share_groups,
    carry_statuses,
    join_key_days,
    observe_topics,
)
from kafka_groups.pipeline.build.partition_state import KeyState, LogState
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints

_NOT_SAMPLED: Final = SampledGroup(listed_us=NULL, commit_us=NULL)


def build_partition_days(
    batch: PartitionBatch, settings: StageSettings, summary: FactSummary
) -> Iterator[PartitionDay]:
    """Yield the results of each day of the settings, ascending; each day begins with the state of the one before."""
    log_state = batch.log_state
    key_state = batch.key_state
    for day in settings.days:
        oldest_day = day - settings.lookback_days
        log_state = log_state.without_stale(oldest_day)
        key_state = key_state.without_stale(oldest_day)
        partition_day = _DayBuilder(batch, log_state, key_state, day, settings, summary).build()
        partition_day = add_share_groups(partition_day, batch, settings)
        log_state = partition_day.log_state
        key_state = partition_day.key_state
        yield partition_day


@dataclass(frozen=True, slots=True)
class _DayBuilder:
    """A builder of one day of a batch; `log_state` and `key_state` are the state before that day."""

    batch: PartitionBatch
    log_state: LogState
    key_state: KeyState
    day: int
    settings: StageSettings
    summary: FactSummary

    def build(self) -> PartitionDay:
        """Return the results of the day, with the state at its end."""
        partition_count = len(self.batch.partition)
        observed_ends = self.batch.observations.take(self.batch.day_of_observation == self.day)
        numbered_ends = log_ends.number_logs(
            observed_ends, carried_ends=self.log_state.log_ends, partition_count=partition_count
        )
        usable_ends = numbered_ends.take(numbered_ends.is_used & (numbered_ends.log_end != NULL))
        used_ends_of_day = numbered_ends.take(numbered_ends.is_used & ~numbered_ends.is_carried)
        points = index_points(used_ends_of_day, self.log_state.time_points)
        commits, key_summary = self._order_commits(numbered_ends)
        activity, key_summary = measure_activity(commits, key_summary, self._measure_clock_jumps())
        lag_rows = measure_lag(usable_ends, commits, self.batch.partition_of_key)
        log_state = self._carry_log_state(observed_ends, numbered_ends, points)
        statuses, offset_before_reset, key_state = self._judge_keys(commits, key_summary, usable_ends, lag_rows, points)
        extremes = find_lag_extremes(lag_rows, statuses.time_lag_ms, len(key_summary))
        is_idle_partition = log_ends.find_idle_partitions(observed_ends, partition_count)[self.batch.partition_of_key]
        is_orphaned = self._find_orphans(activity, log_state.log_ends)
        return PartitionDay(
            day=self.day,
            log_ends=usable_ends,
            lag_rows=lag_rows,
            statuses=statuses,
            offset_before_reset=offset_before_reset,
            carried_statuses=self.key_state.last_status,
            deletions=commits.take(commits.is_deletion & ~commits.is_carried),
            key_days=join_key_days(
                activity, key_summary, extremes, is_orphaned=is_orphaned, is_idle_partition=is_idle_partition
            ),
            has_key_day=self._find_keys_to_report(commits),
            topic_activity=observe_topics(used_ends_of_day, usable_ends, partition_count),
            log_state=log_state,
            key_state=key_state,
        )

    def _measure_clock_jumps(self) -> Ints:
        day_commits = self.batch.commits.take(self.batch.day_of_commit == self.day)
        return measure_clock_jumps(day_commits, self.key_state.commits, len(self.key_state.summary))

    def _order_commits(self, numbered_ends: LogEnds) -> tuple[Commits, KeySummary]:
        """Return the day's commits and the carried ones, and each key's new summary.

        Commits are ordered and numbered. They include all deletions: those that were read, those that samples imply,
        and those that ended logs imply. `numbered_ends` are the numbered log ends.
        """
        key_count = len(self.key_state.summary)
        day_commits = self.batch.commits.take(self.batch.day_of_commit == self.day)
        is_superseded = committed_offsets.find_superseded(day_commits, self.key_state.commits, key_count)
        commits = committed_offsets.order_commits(self.key_state.commits, day_commits.take(~is_superseded))
        inferred_deletions, key_summary = self._infer_deletions(commits)
        ended_log_deletions = self._infer_deletions_of_ended_logs(numbered_ends, commits)
        commits = committed_offsets.order_commits(commits, inferred_deletions, ended_log_deletions)
        commits = committed_offsets.find_topic_ids(commits, numbered_ends, self.batch.partition_of_key)
        commits = committed_offsets.number_incarnations(commits, key_count)
        # A commit that ended with its log is no longer expected in samples, unless one has seen it since.
        is_unrecorded_deletion = commits.is_deletion & ~commits.is_record & ~commits.is_carried
        deleted_us = last_values(commits.key, is_unrecorded_deletion, commits.at_us, np.full(key_count, NULL))
        has_facts = np.bincount(day_commits.key, minlength=key_count) > 0
        return commits, replace(
            key_summary,
            last_fact_day=np.where(has_facts, self.day, key_summary.last_fact_day),
            last_seen_us=np.where(deleted_us >= key_summary.last_seen_us, NULL, key_summary.last_seen_us),
        )

    def _infer_deletions(self, commits: Commits) -> tuple[Commits, KeySummary]:
        """Return the deletions that the day's samples imply, and each key's new summary.

        `commits` are the ordered commits of the day and the carried ones, with the deletions that were read.
        """
        cluster_days = self._list_cluster_days()
        samples = SampleTimes(
            cluster=np.repeat(
                np.arange(len(cluster_days)), [len(cluster_day.complete_samples_us) for cluster_day in cluster_days]
            ),
            at_us=np.concatenate([cluster_day.complete_samples_us for cluster_day in cluster_days]),
        )
        sampled_groups = self._list_sampled_groups()
        last_commit_record_us = np.array([cluster_day.last_commit_record_us for cluster_day in cluster_days], np.int64)
        read_times = ReadTimes(
            cluster_of_key=self.batch.cluster_of_key,
            last_commit_record_us=last_commit_record_us[self.batch.cluster_of_key],
            group_listed_us=np.array([group.listed_us for group in sampled_groups], np.int64),
            group_commit_us=np.array([group.commit_us for group in sampled_groups], np.int64),
        )
        return infer_deletions(commits, self.key_state.summary, samples, read_times)

    def _list_cluster_days(self) -> list[ClusterDay]:
        """Return the times at which each cluster of the batch was read on the day."""
        return [self.summary.clusters.get((cluster, self.day), NOTHING_READ) for cluster in self.batch.clusters]

    def _list_sampled_groups(self) -> list[SampledGroup]:
        """Return for each key when samples saw its group on the day."""
        cluster_of_key = self.batch.cluster_id.take(self.batch.partition_of_key).to_pylist()
        clusters_and_groups = zip(cluster_of_key, self.batch.group.to_pylist(), strict=True)
        return [
            self.summary.groups.get((cluster, group, self.day), _NOT_SAMPLED) for cluster, group in clusters_and_groups
        ]

    def _infer_deletions_of_ended_logs(self, numbered_ends: LogEnds, commits: Commits) -> Commits:
        """Return a deletion, at the end of its log, for each commit known only from samples.

        Deleting a topic deletes all commits on it. The time is a millisecond after the last sample of the ended log: a
        commit that the next sample sees is on the new log.
        """
        is_log_start = is_segment_start(numbered_ends.partition, numbered_ends.log_number) & ~numbered_ends.is_carried
        new_logs = numbered_ends.take(is_log_start & (numbered_ends.previous_sample_us != NULL))
        first_key = np.searchsorted(self.batch.partition_of_key, new_logs.partition, "left")
        end_key = np.searchsorted(self.batch.partition_of_key, new_logs.partition, "right")
        log_index, key = expand_ranges(first_key, end_key - first_key)
        at_us = (new_logs.previous_sample_us[log_index] // 1_000 + 1) * 1_000
        has_samples_only = np.isin(key, commits.key) & ~np.isin(key, commits.key[commits.is_record])
        return committed_offsets.new_deletions(key, at_us).take(has_samples_only)

    def _carry_log_state(self, observed_ends: LogEnds, numbered_ends: LogEnds, points: TimePoints) -> LogState:
        """Return the state of the logs at the end of the day; `points` is the time index."""
        partition_count = len(self.batch.partition)
        end_of_day_us = (self.day + 1) * DAY_US
        oldest_us = (self.day - self.settings.lookback_days) * DAY_US
        carried_ends = log_ends.carry_log_ends(numbered_ends, partition_count=partition_count)
        has_facts = np.bincount(observed_ends.partition, minlength=partition_count) > 0
        return LogState(
            summary=PartitionSummary(last_fact_day=np.where(has_facts, self.day, self.log_state.summary.last_fact_day)),
            log_ends=carried_ends,
            time_points=thin_points(
                points,
                log_ends.last_log_numbers(carried_ends, partition_count),
                now_ms=end_of_day_us // 1_000,
                oldest_ms=oldest_us // 1_000,
            ),
        )

    def _judge_keys(
        self,
        commits: Commits,
        key_summary: KeySummary,
        usable_ends: LogEnds,
        lag_rows: LagRows,
        points: TimePoints,
    ) -> tuple[PartitionStatuses, Ints, KeyState]:
        """Return the status and `offset_before_reset` at each lag row, and the state of the keys at the end of the day.

        `commits` are numbered, and `points` is the time index of the day.
        """
        observations = make_observations(lag_rows, usable_ends, commits)
        progress, lag_minima, log_starts = judge_observations(
            observations,
            self.key_state.progress,
            self.key_state.lag_minima,
            self.key_state.log_starts,
            self.settings.limits,
        )
        time_lags = measure_time_lag(lag_rows, usable_ends, points)
        rate_rows, rates = measure_rates_of_day(self.key_state.rate_rows, lag_rows)
        statuses = PartitionStatuses(
            key=lag_rows.key,
            at_us=lag_rows.at_us,
            rule=progress.rule,
            verdict_since_ms=progress.verdict_since_ms,
            lag=lag_rows.lag,
            time_lag_ms=time_lags.time_lag_ms,
            time_lag_quality=time_lags.quality,
            consume_rate=rates.consume_rate,
            produce_rate=rates.produce_rate,
            catch_up_ms=rates.catch_up_ms,
        )
        oldest_fresh_us = (self.day + 1) * DAY_US - RATE_WINDOW_MS * 1_000
        key_state = KeyState(
            summary=key_summary,
            commits=committed_offsets.carry_commits(
                replace(commits, unseen_highest_offset=find_unseen_highest_offset(lag_rows, commits))
            ),
            progress=carry_progress(self.key_state.progress, progress),
            lag_minima=lag_minima,
            log_starts=log_starts,
            rate_rows=rate_rows.take(rate_rows.at_us >= oldest_fresh_us),
            last_status=carry_statuses(statuses, commits, oldest_fresh_us, len(key_summary)),
        )
        return statuses, progress.offset_before_reset, key_state

    def _find_keys_to_report(self, commits: Commits) -> Flags:
        """Return for each key whether it has rows of commits, and its cluster was read on the day."""
        clusters = self.batch.clusters
        is_cluster_read = np.array([(cluster, self.day) in self.summary.clusters for cluster in clusters], np.bool_)
        has_commit_rows = np.bincount(commits.key, minlength=len(self.batch.group)) > 0
        return is_cluster_read[self.batch.cluster_of_key] & has_commit_rows

    def _find_orphans(self, activity: KeyActivity, carried_ends: LogEnds) -> Flags:
        """Return for each key whether its partition no longer exists: the last samples saw the commit alone.

        If only a record shows the commit, its partition may still exist, because samples see only topics that the user
        may describe. `carried_ends` are the carried rows of the day.
        """
        partition_count = len(self.batch.partition)
        last_seen_us = last_values(
            carried_ends.partition, carried_ends.is_sample, carried_ends.at_us, np.full(partition_count, NULL)
        )
        last_sample_us = np.array([cluster_day.last_sample_us for cluster_day in self._list_cluster_days()], np.int64)
        last_sample_ms = last_sample_us[self.batch.cluster_of_key] // 1_000
        is_partition_seen = last_sample_ms - last_seen_us[self.batch.partition_of_key] // 1_000 <= ABSENT_MS
        commit_seen_ago_ms = last_sample_ms - activity.last_seen_us // 1_000
        is_commit_seen = (commit_seen_ago_ms >= 0) & (commit_seen_ago_ms <= ABSENT_MS)
        is_orphaned: Flags = activity.has_commit & is_commit_seen & ~is_partition_seen
        return is_orphaned
