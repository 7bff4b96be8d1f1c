"""The stage of topic partitions, day by day: the kernels in their order, from facts and state to the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafka_groups.pipeline.build.group_rows import TOTALS
from kafka_groups.pipeline.build.kernels import lag_rows, offset_history, segments, verdicts
from kafka_groups.pipeline.build.kernels.offset_history import ABSENT_MS, Commits, KeyDays, KeyTotals, LogEnds
from kafka_groups.pipeline.build.kernels.segments import DAY_US, EVERY, NULL, Flags, Ints
from kafka_groups.pipeline.build.kernels.verdicts import KeyStatuses
from kafka_groups.pipeline.build.partition_batch import KeyState, LogState, PartitionBatch, PartitionDay
from kafka_groups.verdicts import Rules


@dataclass(frozen=True, slots=True)
class Settings:
    """What a build goes by."""

    days: Sequence[int]  # since 1970, in order
    rules: Rules
    lookback_days: int  # facts that are older are stale
    days_before: Sequence[int] = ()  # days before one of `days`, whose rebalances may end on it


@dataclass(frozen=True, slots=True)
class ClusterDay:
    """What was read of a cluster on a day; times are NULL where nothing was read."""

    commit_us: int  # the last commit record
    record_us: int  # the last record of any kind
    sample_us: int  # the last sample
    runs_us: Ints  # the complete sampling runs, which ascend


@dataclass(frozen=True, slots=True)
class Context:
    """What was read of clusters by (name, day), and of groups by (cluster, group, day): last listed, last responded."""

    clusters: Mapping[tuple[str, int], ClusterDay]
    groups: Mapping[tuple[str, str, int], tuple[int, int]]


def transform_days(batch: PartitionBatch, settings: Settings, context: Context) -> Iterator[PartitionDay]:
    """Yield the results of each day, in order."""
    logs, keys = batch.logs, batch.keys
    for day in settings.days:
        oldest = day - settings.lookback_days
        found = _Day(batch, logs.without_stale(oldest), keys.without_stale(oldest), day, settings, context).results()
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
        batch, size, end_us = self.batch, len(self.logs.totals), (self.day + 1) * DAY_US
        observed = batch.observations.where(batch.observed_on == self.day)
        observations = offset_history.observe(observed, self.logs.ends, size)
        own = observations.where(observations.is_used & ~observations.is_carried)
        ends = observations.where(observations.is_used & (observations.log_end != NULL))
        index = lag_rows.index_points(own, self.logs.points)
        last_ends = offset_history.carry(observations, size, self.settings.rules.intervals)
        last_log, oldest_us = last_ends.last_log(size), end_us - (self.settings.lookback_days + 1) * DAY_US
        rows, totals = self._commits(observations)
        days, totals = offset_history.move(rows, totals)
        lags = lag_rows.measure_lag(ends, rows, batch.partition_of)
        statuses, key_state = self._judge(rows, totals, ends, lags, index, last_log[batch.partition_of])
        numbers_of_keys = [
            *(*days.columns().values(), *(getattr(totals, name) for name in TOTALS)),
            *(self._orphans(days, last_ends), offset_history.are_quiet(observed, size)[batch.partition_of]),
            *lag_rows.find_worst(lags, statuses.time_lag_ms, len(totals)).columns().values(),
        ]
        is_read = np.array([(name, self.day) in self.context.clusters for name in batch.clusters], np.bool_)
        is_chosen = is_read[batch.cluster_of] & (np.bincount(rows.key, minlength=len(totals)) > 0)
        keys, topics = np.flatnonzero(is_chosen), np.unique(own.partition[batch.with_log[own.partition]])
        sampled_us = segments.last_of(own.partition, own.is_sample, own.at_us, np.full(size, NULL))
        numbers_of_topics = np.ones(size, np.int64), offset_history.growth(ends, size), sampled_us
        fact_day = np.where(np.bincount(observed.partition, minlength=size) > 0, self.day, self.logs.totals.fact_day)
        points = lag_rows.thin_points(index, last_log, end_us // 1_000, oldest_us // 1_000)
        return PartitionDay(
            day=self.day,
            ends=ends,
            lags=lags,
            statuses=statuses,
            carried=self.keys.status,
            removals=rows.where(rows.is_removal & ~rows.is_carried),
            keys=(keys, [numbers[keys] for numbers in numbers_of_keys]),
            topics=(topics, [numbers[topics] for numbers in numbers_of_topics]),
            log_state=LogState(offset_history.LogTotals(fact_day), last_ends, points),
            key_state=key_state,
        )

    def _commits(self, observations: LogEnds) -> tuple[Commits, KeyTotals]:
        """Return the commits and removals in order, those that samples imply included, and totals with absences."""
        own, size = self.batch.commits.where(self.batch.committed_on == self.day), len(self.keys.totals)
        rows = offset_history.in_order(self.keys.commits, own)
        inferred, totals = self._infer_deletions(rows)
        rows = offset_history.number_lives(
            offset_history.in_order(rows, inferred, self._ended_with_logs(observations, rows)), size
        )
        # What ended with its log is not missed any more, unless it was seen since.
        is_unread = rows.is_removal & ~rows.is_record & ~rows.is_carried
        ended = segments.last_of(rows.key, is_unread, rows.at_us, np.full(size, NULL)) >= totals.seen_us
        fact_day = np.where(np.bincount(own.key, minlength=size) > 0, self.day, totals.fact_day)
        return rows, replace(totals, fact_day=fact_day, seen_us=np.where(ended, NULL, totals.seen_us))

    def _infer_deletions(self, rows: Commits) -> tuple[Commits, KeyTotals]:
        batch, clusters = self.batch, self._clusters()
        names = zip(batch.cluster_id.take(batch.partition_of).to_pylist(), batch.group.to_pylist(), strict=True)
        groups_us = [self.context.groups.get((*name, self.day), (NULL, NULL)) for name in names]
        read_us = np.array([each.commit_us for each in clusters], np.int64)[batch.cluster_of]
        runs = np.repeat(np.arange(len(clusters)), [len(each.runs_us) for each in clusters])
        runs_us = np.concatenate([each.runs_us for each in clusters])
        of_groups = np.array(groups_us, np.int64).reshape(-1, 2).T
        return offset_history.infer_deletions(
            rows, self.keys.totals, read_us, of_groups, (runs, runs_us), batch.cluster_of
        )

    def _clusters(self) -> list[ClusterDay]:
        nothing = ClusterDay(NULL, NULL, NULL, np.zeros(0, np.int64))
        return [self.context.clusters.get((name, self.day), nothing) for name in self.batch.clusters]

    def _ended_with_logs(self, observations: LogEnds, rows: Commits) -> Commits:
        """Return removals of commits without records just after the last sample of each log that ended.

        Deleting a topic deletes all commits on it; what the next sample sees was committed on the new log.
        """
        begins = segments.first_rows(observations.partition, observations.log) & ~observations.is_carried
        new = observations.where(begins & (observations.before_us != NULL))
        first = np.searchsorted(self.batch.partition_of, new.partition, "left")
        until = np.searchsorted(self.batch.partition_of, new.partition, "right")
        place, key = segments.expand(first, until - first)
        is_sampled = np.isin(key, rows.key) & ~np.isin(key, rows.key[rows.is_record])
        return offset_history.removals_at(key, (new.before_us[place] // 1_000 + 1) * 1_000).where(is_sampled)

    def _judge(
        self,
        rows: Commits,
        totals: KeyTotals,
        ends: LogEnds,
        lags: lag_rows.LagRows,
        index: lag_rows.Points,
        last_log: Ints,
    ) -> tuple[KeyStatuses, KeyState]:
        """Return the statuses at each lag row, and the state of keys at the end of the day."""
        rules, before, since_us = self.settings.rules, self.keys, (self.day + 1) * DAY_US - lag_rows.SPAN_MS * 1_000
        known, partition = (before.entries, before.points), self.batch.partition_of[rows.key]
        entries, points = verdicts.join_evidence(*known, rows, ends, partition, rules.min_distance_ms)
        evidence = verdicts.evidence_at(lags, ends, entries, points, rules.intervals)
        judged, ages = verdicts.judge_windows(evidence, rules), lag_rows.measure_time_lag(lags, ends, index)
        recent, rates = lag_rows.measure_rates(before.recent, lags)
        statuses = KeyStatuses(lags.key, lags.at_us, *judged, lags.lag, *ages, *rates)
        is_removal, never = rows.is_removal & ~rows.is_carried, np.full(len(totals), NULL)
        removed_us = segments.last_of(rows.key, is_removal, rows.at_us, never)[statuses.key]
        is_near = (statuses.at_us >= since_us) & (statuses.at_us >= removed_us)
        life = segments.last_of(rows.key, EVERY, rows.life, np.zeros_like(never))
        return statuses, KeyState(
            totals=totals,
            commits=offset_history.last_commits(rows),
            entries=verdicts.last_slots(entries, life, rules.intervals),
            points=verdicts.last_points(points, life, last_log),
            recent=recent.where(recent.at_us >= since_us),
            status=statuses.where(segments.last_rows(statuses.key) & is_near),
        )

    def _orphans(self, days: KeyDays, ends: LogEnds) -> Flags:
        """Return which commits outlived their partition: the day's last samples saw the one and not the other.

        A partition of a commit that only a record shows may exist: samples see topics only that the user may describe.
        """
        batch = self.batch
        run_ms = np.array([each.sample_us for each in self._clusters()], np.int64)[batch.cluster_of] // 1_000
        seen_us = segments.last_of(ends.partition, ends.is_sample, ends.at_us, np.full(len(batch.partition), NULL))
        has_partition = run_ms - seen_us[batch.partition_of] // 1_000 <= ABSENT_MS
        since = run_ms - days.sampled_us // 1_000
        is_orphaned: Flags = days.lives & (since >= 0) & (since <= ABSENT_MS) & ~has_partition
        return is_orphaned
