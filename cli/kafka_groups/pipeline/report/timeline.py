"""The history of groups over the period of a report: points of lag, the start of a lag, rebalances."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kafka_groups.pipeline.report.history import LagPoint, Rebalance
from kafka_groups.pipeline.report.period import FRESH_MS, GroupKey, PeriodTables
from kafka_groups.pipeline.tables import GROUP_STATUS, REBALANCES

_MAX_POINTS: Final = 1_000
# Build reads events until the end of the day after a rebalance began.
_REBALANCE_DAYS: Final = 2
# The query returns the last of the rows with the largest lag.
_POINTS: Final = """
    SELECT cluster_id, "group", peak['at_ms'] AS at_ms, peak['lag'] AS lag, peak['time_lag_ms'] AS time_lag_ms
    FROM (
        SELECT cluster_id, "group", last_value(
                named_struct('at_ms', at_ms, 'lag', lag, 'time_lag_ms', time_lag_ms) ORDER BY lag, at_ms
            ) AS peak
        FROM period_rows GROUP BY cluster_id, "group", (at_ms - {since_ms}) / {part_ms}
    ) ORDER BY at_ms
"""
# `zero_ms` is the last time without lag, so that only later rows count.
_LAG_STARTS: Final = """
    SELECT cluster_id, "group", min(at_ms) AS since_ms,
        coalesce(min(at_ms) - max(zero_ms) > {fresh_ms}, TRUE) AS is_bound
    FROM (
        SELECT cluster_id, "group", at_ms,
            max(CASE WHEN lag = 0 THEN at_ms END) OVER (PARTITION BY cluster_id, "group") AS zero_ms
        FROM period_rows
    ) WHERE zero_ms IS NULL OR at_ms > zero_ms GROUP BY cluster_id, "group"
"""
_REBALANCES: Final = """
    SELECT cluster_id, "group", at_ms AS started_ms, CAST(ended_at AS BIGINT) / 1000 AS ended_ms, duration_ms,
        duration_quality, generation,
        CASE WHEN joined IS NOT NULL THEN CAST(cardinality(joined) AS BIGINT) END AS joined,
        CASE WHEN "left" IS NOT NULL THEN CAST(cardinality("left") AS BIGINT) END AS "left"
    FROM period_rows WHERE CAST(coalesce(ended_at, started_at) AS BIGINT) / 1000 >= {since_ms}
    ORDER BY started_ms, generation
"""
_REBALANCED_GROUPS: Final = """
    SELECT DISTINCT cluster_id, "group" FROM period_rows
    WHERE CAST(coalesce(ended_at, started_at) AS BIGINT) / 1000 >= {since_ms}
"""


class GroupPoint(NamedTuple):
    """A point of a group's lag, as in `LagPoint`."""

    cluster_id: str
    group: str
    at_ms: int
    lag: int | None
    time_lag_ms: int | None


class LagStart(NamedTuple):
    """The time when the lag of a group began, in milliseconds since 1970; with `is_bound`, it began then or earlier."""

    cluster_id: str
    group: str
    since_ms: int
    is_bound: bool


class GroupRebalance(NamedTuple):
    """A rebalance of a group, as in `Rebalance`."""

    cluster_id: str
    group: str
    started_ms: int
    ended_ms: int | None
    duration_ms: int | None
    duration_quality: str
    generation: int
    joined: int | None
    left: int | None


def read_points(tables: PeriodTables, groups: Collection[GroupKey]) -> dict[GroupKey, list[LagPoint]]:
    """Return by group at most a thousand points, ascending in time: the largest lag of each part of the period.

    If there is no row for more than ten minutes (or for two parts of a long period), a point without a lag is added, so
    that charts have a gap there.
    """
    since_ms, until_ms = tables.period
    part_ms = max(1, -(-(until_ms - since_ms + 1) // _MAX_POINTS))
    # Two points of neighbouring parts may be up to two parts apart.
    gap_ms = max(FRESH_MS, 2 * part_ms)
    rows = tables.select_groups(GroupPoint, GROUP_STATUS, _POINTS, groups, since_ms=since_ms, part_ms=part_ms)
    points: dict[GroupKey, list[LagPoint]] = {}
    for row in rows:
        group_points = points.setdefault(GroupKey(row.cluster_id, row.group), [])
        if group_points and row.at_ms - group_points[-1].at_ms > gap_ms:
            group_points.append(LagPoint(group_points[-1].at_ms + FRESH_MS, None, None))
        group_points.append(LagPoint(row.at_ms, row.lag, row.time_lag_ms))
    return points


def find_lag_starts(tables: PeriodTables, groups: Collection[GroupKey]) -> dict[GroupKey, LagStart]:
    """Return by group when its lag began: the time from which on it always had one. All groups must have a lag now.

    The time is a bound if no earlier row of the period shows the group without a lag, or if the last such row is more
    than ten minutes older.
    """
    lag_starts = tables.select_groups(LagStart, GROUP_STATUS, _LAG_STARTS, groups, fresh_ms=FRESH_MS)
    return {GroupKey(lag_start.cluster_id, lag_start.group): lag_start for lag_start in lag_starts}


def read_rebalances(tables: PeriodTables, groups: Collection[GroupKey]) -> dict[GroupKey, list[Rebalance]]:
    """Return by group the rebalances that began or ended in the period, in the order in which they began."""
    period = tables.period.from_midnight(days_before=_REBALANCE_DAYS)
    since_ms = tables.period.since_ms
    rows = tables.select_groups(GroupRebalance, REBALANCES, _REBALANCES, groups, period, since_ms=since_ms)
    rebalances: dict[GroupKey, list[Rebalance]] = {}
    for row in rows:
        rebalance = Rebalance(
            started_ms=row.started_ms,
            ended_ms=row.ended_ms,
            duration_ms=row.duration_ms,
            duration_quality=row.duration_quality,
            generation=row.generation,
            joined=row.joined,
            left=row.left,
        )
        rebalances.setdefault(GroupKey(row.cluster_id, row.group), []).append(rebalance)
    return rebalances


def find_rebalanced_groups(tables: PeriodTables) -> list[GroupKey]:
    """Return the groups with rebalances that began or ended in the period."""
    period = tables.period.from_midnight(days_before=_REBALANCE_DAYS)
    return tables.select(GroupKey, REBALANCES, _REBALANCED_GROUPS, period, since_ms=tables.period.since_ms)
