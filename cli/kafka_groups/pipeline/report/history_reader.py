"""The history of groups in a period, read from the tables with the other modules of this package."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.report.findings import find_findings
from kafka_groups.pipeline.report.gaps import describe_gaps
from kafka_groups.pipeline.report.history import GroupHistory, History, Rebalance
from kafka_groups.pipeline.report.known_groups import KnownGroups, read_known_groups
from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.report.missing_data import describe_missing_data
from kafka_groups.pipeline.report.period import DAY_MS, GroupKey, Period, PeriodTables
from kafka_groups.pipeline.report.summaries import severity_order, summarize
from kafka_groups.pipeline.report.task_rows import read_tasks
from kafka_groups.pipeline.report.timeline import find_lag_starts, read_points, read_rebalances
from kafka_groups.pipeline.store import Storage
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.suggestions import nearest_names

_NO_LIMIT: Final = GroupLimit()
_STEPS: Final = 7


def read_history(  # noqa: PLR0913 - the options of the command
    storage: Storage,
    *,
    since_ms: int,
    until_ms: int,
    groups: Collection[str] = (),
    match: str | None = None,
    exclude: str | None = None,
    shown: GroupLimit = _NO_LIMIT,
    drawn: GroupLimit = _NO_LIMIT,
    now_ms: int | None = None,
    progress: Progress = ignore_progress,
) -> History:
    """Read the history of selected groups in a period. Raises StorageError.

    The selection has `groups` and all groups whose full id matches `match`, or all groups without either, minus those
    that match `exclude`. Times are milliseconds since 1970; both ends of the period are included. The history has the
    groups that `shown` keeps, the worst first. Only those that `drawn` keeps have points: the points of all groups of a
    large cluster would not fit into memory. `progress` gets the number of finished steps.
    """
    tables = PeriodTables(storage, Period(since_ms, until_ms))
    selectors = select_groups(groups, match, exclude)
    made_ms = int(time.time() * 1_000) if now_ms is None else now_ms

    def finish_step(step: int) -> None:
        progress("reading the tables", step, _STEPS)

    return _read_tables(tables, selectors, shown, drawn, made_ms, finish_step)


def _read_tables(
    tables: PeriodTables,
    selectors: Selectors,
    shown_limit: GroupLimit,
    drawn_limit: GroupLimit,
    made_ms: int,
    finish_step: Callable[[int], None],
) -> History:
    """Read the history of the selected groups in the period of the tables."""
    finish_step(0)
    known_groups = read_known_groups(tables)
    summaries = [summarize(group) for group in known_groups.by_key.values() if selectors.selects(group.key.group)]
    summaries.sort(key=severity_order)
    finish_step(1)
    histories = _read_timelines(tables, known_groups, shown_limit.first(summaries), drawn_limit, finish_step)
    findings = find_findings(tables, selectors, known_groups)
    finish_step(5)
    gaps = describe_gaps(tables.queries, known_groups.coverages)
    finish_step(6)
    selected_groups = [known_groups.by_key[_key_of(summary)] for summary in summaries]
    missing_data = tuple(describe_missing_data(tables, known_groups, selected_groups, selectors))
    finish_step(_STEPS)
    known_ids = {key.group for key in known_groups.by_key}
    unknown_ids = tuple(group for group in selectors.named if group not in known_ids)
    cluster_ids = {summary.cluster_id for summary in summaries} | {finding.cluster_id for finding in findings}
    return History(
        made_ms=made_ms,
        from_ms=tables.period.since_ms,
        to_ms=tables.period.until_ms,
        evaluated_ms=max(known_groups.evaluated_ms.values(), default=None),
        clusters=tuple(sorted(cluster_ids)),
        groups=histories,
        selected=tuple(summaries),
        unknown=unknown_ids,
        nearest=nearest_names(unknown_ids, known_ids) if unknown_ids else {},
        findings=findings,
        gaps=gaps,
        missing=missing_data,
    )


def select_groups(groups: Collection[str], match: str | None, exclude: str | None) -> Selectors:
    """Return the selectors of groups by id or by patterns of their full id; all are selected without either."""
    match_pattern = None if match is None else re.compile(match)
    exclude_pattern = None if exclude is None else re.compile(exclude)
    return Selectors(tuple(groups), match_pattern, exclude=exclude_pattern)


def _read_timelines(
    tables: PeriodTables,
    known_groups: KnownGroups,
    summaries: Collection[GroupHistory],
    drawn_limit: GroupLimit,
    finish_step: Callable[[int], None],
) -> tuple[GroupHistory, ...]:
    """Return the summaries with points, the start of the lag, rebalances and tasks, in the same order."""
    # A group that was deleted in the period has points, too.
    drawn_keys = map(_key_of, drawn_limit.first(summaries))
    points_by_group = read_points(tables, [key for key in drawn_keys if known_groups.by_key[key].status is not None])
    finish_step(2)
    lag_starts = find_lag_starts(tables, [_key_of(summary) for summary in summaries if summary.lag])
    finish_step(3)
    rebalances_by_group = read_rebalances(tables, [_key_of(summary) for summary in summaries])
    last_record_ms = {cluster: coverage.last_record_ms for cluster, coverage in known_groups.coverages.items()}
    tasks_by_group = read_tasks(tables, [_key_of(summary) for summary in summaries], last_record_ms)
    finish_step(4)
    histories = []
    for summary in summaries:
        key = _key_of(summary)
        lag_start = lag_starts.get(key)
        group_rebalances = tuple(rebalances_by_group[key]) if key in rebalances_by_group else summary.rebalances
        histories.append(
            replace(
                summary,
                points=tuple(points_by_group.get(key, ())),
                rebalances=group_rebalances,
                rebalancing_ms=None
                if summary.deleted_ms is not None
                else _measure_open_rebalance(group_rebalances, known_groups.coverages[key.cluster_id].last_record_ms),
                tasks=tasks_by_group.get(key),
                lagging_since_ms=None if lag_start is None else lag_start.since_ms,
                lagging_since_is_bound=lag_start is not None and lag_start.is_bound,
            )
        )
    return tuple(histories)


def _measure_open_rebalance(rebalances: Sequence[Rebalance] | None, last_record_ms: int | None) -> int | None:
    """Return how long the last rebalance had lasted, in ms, at the cluster's last record; None if it had ended.

    Records of a rebalance are read until the end of the day after it began.
    """
    if not rebalances or last_record_ms is None or rebalances[-1].duration_quality != "open":
        return None
    started_ms = rebalances[-1].started_ms
    read_until_ms = (started_ms // DAY_MS + 2) * DAY_MS
    return max(0, min(last_record_ms, read_until_ms) - started_ms)


def _key_of(group: GroupHistory) -> GroupKey:
    return GroupKey(group.cluster_id, group.group)
