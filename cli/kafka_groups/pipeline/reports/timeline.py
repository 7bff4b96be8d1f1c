"""The history of groups in a period: lag over time, since when there is lag, rebalances."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafka_groups.history import LagPoint, Rebalance
from kafka_groups.pipeline.reports.selection import FRESH_MS, GROUP, Key, Tables, key_of
from kafka_groups.pipeline.schemas import GROUP_STATUS, REBALANCES

_POINTS: Final = 1_000
# Build reads events until the end of the day after a rebalance began.
_DAYS_OF_A_REBALANCE: Final = 2


def read_points(tables: Tables, keys: Collection[Key]) -> dict[Key, list[LagPoint]]:
    """Return by group at most a thousand points: of each stretch of the period the row with the largest lag.

    If nothing is known for longer than a stretch, a point without a lag is between them, so that no line is drawn.
    """
    period = tables.period
    stretch = max(1, -(-(period.until_ms - period.since_ms + 1) // _POINTS))
    sql = f"""
        SELECT {GROUP}, last_value(named_struct('at_ms', at_ms, 'lag', lag, 'time_lag_ms', time_lag_ms)
            ORDER BY lag, at_ms) AS point
        FROM {{rows}} GROUP BY {GROUP}, (at_ms - {period.since_ms}) / {stretch}
    """
    points: dict[Key, list[LagPoint]] = {}
    for row in sorted(tables.select_groups(GROUP_STATUS, sql, keys), key=lambda row: row["point"]["at_ms"]):
        point = LagPoint(**row["point"])
        found = points.setdefault(key_of(row), [])
        # Two points of neighbouring stretches may be nearly two stretches apart.
        if found and point.at_ms - found[-1].at_ms > max(FRESH_MS, 2 * stretch):
            found.append(LagPoint(found[-1].at_ms + FRESH_MS, None, None))
        found.append(point)
    return points


def find_lag_starts(tables: Tables, keys: Collection[Key]) -> dict[Key, tuple[int, bool]]:
    """Return by group since when it has had a lag (ms), and whether that is only a bound.

    It is a bound without a row without lag before, or if that row is more than ten minutes older.
    """
    sql = f"""
        SELECT {GROUP}, min(at_ms) AS since_ms, max(zero_ms) AS zero_ms FROM (
            SELECT {GROUP}, at_ms, max(CASE WHEN lag = 0 THEN at_ms END) OVER (PARTITION BY {GROUP}) AS zero_ms
            FROM {{rows}}
        ) WHERE zero_ms IS NULL OR at_ms > zero_ms GROUP BY {GROUP}
    """
    found = {}
    for row in tables.select_groups(GROUP_STATUS, sql, keys):
        is_bound = row["zero_ms"] is None or row["since_ms"] - row["zero_ms"] > FRESH_MS
        found[key_of(row)] = (row["since_ms"], is_bound)
    return found


def read_rebalances(tables: Tables, keys: Collection[Key]) -> dict[Key, list[Rebalance]]:
    """Return by group the rebalances that began or ended in the period, in the order in which they began."""
    sql = f"""
        SELECT {GROUP}, at_ms AS started_ms, CAST(ended_at AS BIGINT) / 1000 AS ended_ms, duration_ms, duration_quality,
            generation, CASE WHEN joined IS NOT NULL THEN CAST(cardinality(joined) AS BIGINT) END AS joined,
            CASE WHEN "left" IS NOT NULL THEN CAST(cardinality("left") AS BIGINT) END AS "left"
        FROM {{rows}} ORDER BY started_ms, generation
    """
    found: dict[Key, list[Rebalance]] = {}
    rows = f"(SELECT * FROM {{rows}} WHERE {_in_period(tables)})"
    period = tables.period.with_days_before(_DAYS_OF_A_REBALANCE)
    for row in tables.select_groups(REBALANCES, sql.replace("{rows}", rows), keys, period):
        key = row.pop("cluster_id"), row.pop("group")
        found.setdefault(key, []).append(Rebalance(**row))
    return found


def rebalanced_groups(tables: Tables) -> set[Key]:
    """Return the groups with rebalances that began or ended in the period."""
    sql = f"SELECT DISTINCT {GROUP} FROM {{rows}} WHERE {_in_period(tables)}"
    rows = tables.select(REBALANCES, sql, tables.period.with_days_before(_DAYS_OF_A_REBALANCE))
    return {key_of(row) for row in rows}


def _in_period(tables: Tables) -> str:
    return f"CAST(coalesce(ended_at, started_at) AS BIGINT) >= {tables.period.since_ms * 1_000}"
