"""The first stage: topic partitions, day by day. The kernels in their order, from facts and state to the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.transform.kernels import lag, log_ends, segments, verdicts
from kafka_groups.pipeline.transform.kernels.commits import (
    ABSENT_MS,
    Commits,
    KeyDays,
    KeyTotals,
    in_order,
    infer_deletions,
    last_commits,
    move,
    number_lives,
)
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, EVERY, NULL, Flags, Ints
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch
from kafka_groups.pipeline.transform.state import KeyState, KeyStatuses, LogState, without_stale
from kafka_groups.verdicts import Rules

# A partition's verdict counts for its group for so long.
_FRESH_US: Final = 600_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a build goes by: its days since 1970, in order, the rules of verdicts, when facts are stale (in days).

    And days before one of them, whose rebalances may end on it.
    """

    days: Sequence[int]
    rules: Rules
    lookback_days: int
    days_before: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class ClusterDay:
    """What was read of a cluster on a day: its last commit record, its last record of any kind, its last sample.

    And the complete sampling runs, which ascend. Times are NULL where nothing was read.
    """

    commit_us: int
    record_us: int
    sample_us: int
    runs_us: Ints


@dataclass(frozen=True, slots=True)
class Context:
    """What was read of clusters by (name, day), and of groups by (cluster, group, day): last listed, last responded."""

    clusters: Mapping[tuple[str, int], ClusterDay]
    groups: Mapping[tuple[str, str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PartitionDay:
    """The results of a day, and the state at its end.

    Of partitions: the log ends that are known, what grew, the last sample, which were observed, and which more than
    once, always with the same log end. Of keys: `lags` and `statuses`, and those that the day before handed on.
    """

    day: int
    ends: LogEnds
    grown: Ints
    sampled_us: Ints
    is_observed: Flags
    is_quiet: Flags
    keys: KeyDays
    is_orphaned: Flags
    worst: lag.Worst
    removals: Commits
    lags: lag.LagRows
    statuses: KeyStatuses
    carried: KeyStatuses
    log_state: LogState
    key_state: KeyState


def transform_days(batch: PartitionBatch, settings: Settings, context: Context) -> Iterator[PartitionDay]:
    """Yield the results of each day, in order."""
    logs, keys = batch.logs, batch.keys
    for day in settings.days:
        oldest = day - settings.lookback_days
        found = _Day(batch, without_stale(logs, oldest), without_stale(keys, oldest), day, settings, context).results()
        logs, keys = found.log_state, found.key_state
        yield found


@dataclass(frozen=True, slots=True)
class _Day:
    """What a day is derived from."""

    batch: PartitionBatch
    logs: LogState
    keys: KeyState
    day: int
    settings: Settings
    context: Context

    def results(self) -> PartitionDay:
        """Return the results of the day."""
        names, end_us = self.batch.names, (self.day + 1) * DAY_US
        observed = self.batch.observations.where(self.batch.observed_on == self.day)
        observations = log_ends.observe(observed, self.logs.ends, len(self.logs.totals))
        own = observations.where(observations.is_used & ~observations.is_carried)
        ends = observations.where(observations.is_used & (observations.log_end != NULL))
        points = lag.index_points(own, self.logs.points)
        log_state = self._log_state(observed, observations, points)
        commits, totals = self._commits(own)
        days, totals = move(commits, totals)
        removals = commits.where(commits.is_removal & ~commits.is_carried)
        lags = lag.measure_lag(ends, commits, names.partition_of)
        ages = lag.measure_time_lag(lags, ends, points)
        recent, rates = lag.measure_rates(self.keys.recent, lags)
        judged, entries, lag_points = self._judge(commits, ends, lags)
        statuses = KeyStatuses.of([lags.key, lags.at_us, *judged, lags.lag, *ages, *rates])
        never = np.full(len(totals), NULL)
        removed = segments.last_of(removals.key, EVERY, removals.at_us, never)
        is_near = (statuses.at_us >= end_us - _FRESH_US) & (statuses.at_us >= removed[statuses.key])
        life = segments.last_of(commits.key, EVERY, commits.life, np.zeros_like(never))
        log = log_state.ends.last_log(len(log_state.totals))[names.partition_of]
        key_state = KeyState(
            totals=totals,
            commits=last_commits(commits),
            entries=verdicts.last_slots(entries, life, self.settings.rules.intervals),
            points=verdicts.last_points(lag_points, life, log),
            recent=recent.where(recent.at_us // 1_000 >= end_us // 1_000 - lag.SPAN_MS),
            status=statuses.where(segments.last_rows(statuses.key) & is_near),
        )
        size = len(log_state.totals)
        return PartitionDay(
            day=self.day,
            ends=ends,
            grown=log_ends.growth(ends, size),
            sampled_us=segments.last_of(own.partition, own.is_sample, own.at_us, np.full(size, NULL)),
            is_observed=np.bincount(own.partition, minlength=size) > 0,
            is_quiet=log_ends.are_quiet(observed, size),
            keys=days,
            is_orphaned=self._orphans(days, log_state.ends),
            worst=lag.find_worst(lags, statuses.time_lag_ms, len(totals)),
            removals=removals,
            lags=lags,
            statuses=statuses,
            carried=self.keys.status,
            log_state=log_state,
            key_state=key_state,
        )

    def _log_state(self, observed: log_ends.Observations, observations: LogEnds, points: lag.Points) -> LogState:
        before, now_ms = self.logs.totals.fact_day, (self.day + 1) * DAY_US // 1_000
        fact_day = segments.last_of(observed.partition, EVERY, np.full(len(observed), self.day), before)
        ends = log_ends.carry(observations, len(before), self.settings.rules.intervals)
        oldest_ms = now_ms - (self.settings.lookback_days + 1) * DAY_US // 1_000
        points = lag.thin_points(points, ends.last_log(len(before)), now_ms, oldest_ms)
        return LogState(log_ends.LogTotals(fact_day), ends, points)

    def _commits(self, observations: LogEnds) -> tuple[Commits, KeyTotals]:
        """Return the commits and removals in order, those that samples imply included, and totals with absences."""
        own, carried = self.batch.commits.where(self.batch.committed_on == self.day), self.keys.commits
        rows, size = in_order(carried, own), len(self.keys.totals)
        never = np.full(size, NULL)
        removed_us, totals = self._missed(rows)
        # A removal before a row of earlier days has changed nothing since.
        inferred = np.flatnonzero(removed_us > segments.last_of(carried.key, EVERY, carried.at_us, never))
        has_records = np.bincount(rows.key[rows.is_record], minlength=size) > 0
        keys, times = self._ended_with_logs(observations, (np.bincount(rows.key, minlength=size) > 0) & ~has_records)
        removals = _removals(np.append(inferred, keys), np.append(removed_us[inferred], times))
        commits = number_lives(in_order(rows, removals), size)
        # What ended with its log is not missed any more, unless it was seen since.
        is_unread = commits.is_removal & ~commits.is_record & ~commits.is_carried
        ended = segments.last_of(commits.key, is_unread, commits.at_us, never) >= totals.seen_us
        fact_day = segments.last_of(own.key, EVERY, np.full(len(own), self.day), totals.fact_day)
        return commits, replace(totals, fact_day=fact_day, seen_us=np.where(ended, NULL, totals.seen_us))

    def _missed(self, rows: Commits) -> tuple[Ints, KeyTotals]:
        """Return since when each commit is removed, as samples imply, and totals with absences."""
        names, clusters, totals = self.batch.names, self._clusters(), self.keys.totals
        cluster_of = names.cluster_of[names.partition_of]
        groups = zip(names.cluster_id.take(names.partition_of).to_pylist(), names.group.to_pylist(), strict=True)
        groups_us = [self.context.groups.get((*group, self.day), (NULL, NULL)) for group in groups]
        is_kept = segments.last_of(rows.key, rows.is_record, ~rows.is_removal, np.zeros(len(totals), np.bool_))
        read_us = np.array([each.commit_us for each in clusters], np.int64)[cluster_of]
        is_sample = ~rows.is_record & ~rows.is_carried
        seen_us = segments.last_of(rows.key, is_sample, rows.at_us, np.full(len(totals), NULL))
        runs = np.repeat(np.arange(len(clusters)), [len(each.runs_us) for each in clusters])
        runs_us = np.concatenate([each.runs_us for each in clusters])
        kept_us, of_groups = np.where(is_kept, read_us, NULL), np.array(groups_us, np.int64).reshape(-1, 2).T
        return infer_deletions(totals, seen_us, kept_us, of_groups, (runs, runs_us), cluster_of)

    def _clusters(self) -> list[ClusterDay]:
        nothing = ClusterDay(NULL, NULL, NULL, np.zeros(0, np.int64))
        return [self.context.clusters.get((name, self.day), nothing) for name in self.batch.names.clusters]

    def _ended_with_logs(self, observations: LogEnds, chosen: Flags) -> tuple[Ints, Ints]:
        """Return the keys of logs that ended, and when: just after the last sample of each.

        Deleting a topic deletes all commits on it; what the next sample sees was committed on the new log.
        """
        new = observations.where(observations.is_first_of_log & (observations.before_us != NULL))
        partition_of = self.batch.names.partition_of
        first = np.searchsorted(partition_of, new.partition, "left")
        place, key = segments.expand(first, np.searchsorted(partition_of, new.partition, "right") - first)
        times = (new.before_us[place] // 1_000 + 1) * 1_000
        return key[chosen[key]], times[chosen[key]]

    def _judge(
        self, commits: Commits, ends: LogEnds, lags: lag.LagRows
    ) -> tuple[Sequence[Any], verdicts.Entries, verdicts.LagPoints]:
        """Return the verdicts at each lag row, and what the next day needs for its own."""
        rules, before = self.settings.rules, self.keys
        known, wanted = (ends.partition, ends.at_us), (self.batch.names.partition_of[commits.key], commits.at_us)
        until, following = segments.last_at(known, wanted), segments.first_at(known, wanted)
        left = verdicts.lag_when_committed(commits, ends, until, following)
        is_record, is_sample = commits.is_record & ~commits.is_removal, verdicts.new_samples(commits)
        is_new = is_sample | (is_record & ~commits.is_carried)
        entries = verdicts.join_slots(before.entries, commits.where(is_new), left[is_new], rules.min_distance_ms)
        of_records = verdicts.record_points(commits.where(is_record), ends, until[is_record])
        of_samples = verdicts.sample_points(commits.where(is_sample), ends, following[is_sample])
        points = verdicts.join_points(before.points, of_records, of_samples)
        least_end = log_ends.least_ends(ends, rules.intervals)[lags.observation]
        evidence = verdicts.evidence_at(lags, entries, points, least_end, rules.intervals)
        return verdicts.judge_windows(evidence, rules), entries, points

    def _orphans(self, days: KeyDays, ends: LogEnds) -> Flags:
        """Return which commits outlived their partition: the day's last samples saw the one and not the other.

        That a sample saw the commit is needed: brokers report commits and partitions of those topics only that the user
        may describe, so a partition of a commit that was only read from `__consumer_offsets` may well exist.
        """
        names = self.batch.names
        runs_us = np.array([each.sample_us for each in self._clusters()], np.int64)
        run_ms = runs_us[names.cluster_of[names.partition_of]] // 1_000
        seen_us = segments.last_of(ends.partition, ends.is_sample, ends.at_us, np.full(len(names.partition), NULL))
        has_partition = run_ms - seen_us[names.partition_of] // 1_000 <= ABSENT_MS
        since = run_ms - days.sampled_us // 1_000
        is_orphaned: Flags = days.lives & (since >= 0) & (since <= ABSENT_MS) & ~has_partition
        return is_orphaned


def _removals(keys: Ints, times: Ints) -> Commits:
    size = len(keys)
    nothing, no = np.full(size, NULL), np.zeros(size, np.bool_)
    return Commits(keys, times, nothing, no, ~no, nothing, no, np.zeros(size, np.int64))
