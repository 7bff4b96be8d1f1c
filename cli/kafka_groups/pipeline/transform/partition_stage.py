"""The first stage: topic partitions, day by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.deletions import Absence
from kafka_groups.pipeline.transform.kernels.lag_points import (
    KnownEnds,
    LagPoints,
    join_points,
    last_points,
    points_at,
    record_points,
    sample_points,
)
from kafka_groups.pipeline.transform.kernels.log_ends import least_ends
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Ints, last_rows
from kafka_groups.pipeline.transform.kernels.verdicts import Evidence, Verdicts, judge_windows
from kafka_groups.pipeline.transform.kernels.windows import (
    Entries,
    join_slots,
    lag_when_committed,
    last_slots,
    record_entries,
    sample_entries,
    windows_at,
)
from kafka_groups.pipeline.transform.partition_batch import PartitionBatch
from kafka_groups.pipeline.transform.partition_commits import day_commits
from kafka_groups.pipeline.transform.partition_day import (
    ClusterDay,
    GroupDays,
    KeyDay,
    LogDay,
    key_totals,
    last_commits,
    last_recent,
    transform_keys,
    transform_logs,
)
from kafka_groups.pipeline.transform.state import (
    KeyState,
    KeyStatuses,
    LogState,
    without_stale_keys,
    without_stale_logs,
)
from kafka_groups.verdicts import COMMIT_POINTS, SAMPLE_POINTS, Rules

# A partition's verdict counts for its group for so long.
_FRESH_US: Final = 600_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a build goes by: its days since 1970, in order, the rules of verdicts, when facts are stale (in days)."""

    days: Sequence[int]
    rules: Rules
    lookback_days: int


@dataclass(frozen=True, slots=True)
class Context:
    """What was read of clusters by (name, day), and of groups by (cluster, group, day): last listed, last responded."""

    clusters: Mapping[tuple[str, int], ClusterDay]
    groups: Mapping[tuple[str, str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class PartitionDay:
    """The results of a day, and the state at its end."""

    day: int
    logs: LogDay
    keys: KeyDay
    verdicts: Verdicts
    statuses: KeyStatuses
    carried: KeyStatuses
    log_state: LogState
    key_state: KeyState


def transform_days(batch: PartitionBatch, settings: Settings, context: Context) -> Iterator[PartitionDay]:
    """Yield the results of each day, in order."""
    logs, keys = batch.logs, batch.keys
    for day in settings.days:
        oldest = day - settings.lookback_days
        logs, keys = without_stale_logs(logs, oldest), without_stale_keys(keys, oldest)
        found = _transform_day(batch, (logs, keys), day, settings, context)
        logs, keys = found.log_state, found.key_state
        yield found


def _transform_day(
    batch: PartitionBatch, before: tuple[LogState, KeyState], day: int, settings: Settings, context: Context
) -> PartitionDay:
    log_state, key_state = before
    clusters = {name: context.clusters[name, day] for name in batch.names.clusters if (name, day) in context.clusters}
    kept = settings.rules.intervals
    logs, logs_after = transform_logs(batch, log_state, day, lookback_days=settings.lookback_days, kept=kept)
    groups = _group_days(batch, day, context)
    commits, absence = day_commits(batch, key_state, logs, day, clusters, groups)
    keys, life = transform_keys(batch, key_state, logs, logs_after, commits, day, clusters)
    judged = _judge(batch, before, (logs, logs_after), (commits, life), keys, day, settings.rules)
    verdicts, records, samples, of_records, of_samples = judged
    statuses = _statuses(keys, verdicts)
    own = np.unique(batch.commits.key[batch.committed_on == day])
    totals = key_totals(key_state, commits, day, own)
    current = logs_after.logs.log[batch.names.partition_of]
    key_after = KeyState(
        totals=totals,
        moves=keys.moves,
        absence=_forget(absence, commits),
        commits=last_commits(commits),
        records=last_slots(records, totals.life, kept),
        samples=last_slots(samples, totals.life, kept),
        record_points=last_points(of_records, totals.life, current, COMMIT_POINTS),
        sample_points=last_points(of_samples, totals.life, current, SAMPLE_POINTS),
        recent=last_recent(key_state.recent, keys.lags, day),
        status=_last_status(statuses, keys, day),
    )
    return PartitionDay(day, logs, keys, verdicts, statuses, key_state.status, logs_after, key_after)


def _forget(absence: Absence, commits: Commits) -> Absence:
    """Return the absences; what ended with its log is not missed any more unless it was seen since."""
    last = np.full(len(absence.seen_us), NULL)
    removals = commits.is_removal & ~commits.is_record & ~commits.is_carried
    last[commits.key[removals]] = commits.at_us[removals]
    return Absence(np.where(last >= absence.seen_us, NULL, absence.seen_us), absence.runs, absence.missed_us)


def _judge(
    batch: PartitionBatch,
    before: tuple[LogState, KeyState],
    logs: tuple[LogDay, LogState],
    of_day: tuple[Commits, Ints],
    keys: KeyDay,
    day: int,
    rules: Rules,
) -> tuple[Verdicts, Entries, Entries, LagPoints, LagPoints]:
    (log_state, key_state), (commits, life), base_us = before, of_day, day * DAY_US
    partition_of = batch.names.partition_of
    ends = KnownEnds.of(logs[0].ends, _ends_before(log_state))
    lag = lag_when_committed(commits, partition_of, ends, base_us)
    records = join_slots(key_state.records, record_entries(commits, life, lag), rules.min_distance_ms)
    seen = sample_entries(commits, life, lag, key_state.totals.seen_offset)
    samples = join_slots(key_state.samples, seen, rules.min_distance_ms)
    chosen = commits.is_record & ~commits.is_removal
    found = record_points(commits.where(chosen), life[chosen], partition_of, ends, base_us)
    of_records = join_points(key_state.record_points, found)
    of_samples = join_points(key_state.sample_points, sample_points(seen, partition_of, ends, base_us))
    least = least_ends(logs[0].ends, log_state.logs.log, log_state.ends, rules.intervals)
    evidence = Evidence(
        keys.lags,
        windows_at(keys.lags, records, samples, rules.intervals, base_us),
        least[keys.lags.observation],
        points_at(keys.lags, of_records, COMMIT_POINTS, base_us),
        points_at(keys.lags, of_samples, SAMPLE_POINTS, base_us),
    )
    return judge_windows(evidence, rules), records, samples, of_records, of_samples


def _ends_before(state: LogState) -> KnownEnds:
    rows = state.ends
    last = rows.where(last_rows(rows.partition))
    return KnownEnds(last.partition, last.at_us, last.log_end, state.logs.log[last.partition])


def _statuses(keys: KeyDay, verdicts: Verdicts) -> KeyStatuses:
    """Return the day's verdicts, with what groups add up."""
    rows, ages, rates = keys.lags, keys.time_lags, keys.rates
    return KeyStatuses(
        rows.key,
        rows.at_us,
        verdicts.rank,
        verdicts.complete >= 1,
        verdicts.window_start_ms,
        verdicts.window_end_ms,
        rows.lag,
        ages.time_lag_ms,
        ages.quality,
        rates.consume,
        rates.produce,
        rates.catch_up_ms,
    )


def _last_status(rows: KeyStatuses, keys: KeyDay, day: int) -> KeyStatuses:
    """Return each key's last verdict of the day's last ten minutes, unless its commit was removed since."""
    removed = np.full(len(keys.lives), NULL)
    removed[keys.removals.key] = keys.removals.at_us
    is_near = rows.at_us >= (day + 1) * DAY_US - _FRESH_US
    return rows.where(np.flatnonzero(last_rows(rows.key) & is_near & (rows.at_us >= removed[rows.key])))


def _group_days(batch: PartitionBatch, day: int, context: Context) -> GroupDays:
    names = batch.names
    clusters = names.cluster_id.take(names.partition_of).to_pylist() if len(names.group) else []
    found = [
        context.groups.get((cluster, group, day), (NULL, NULL))
        for cluster, group in zip(clusters, names.group.to_pylist(), strict=True)
    ]
    pairs = np.array(found, np.int64).reshape(-1, 2)
    return GroupDays(pairs[:, 0], pairs[:, 1])
