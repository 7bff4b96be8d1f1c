"""The history of groups in a period: lag over time, since when there is lag, rebalances."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafka_groups.history import LagPoint, Rebalance
from kafka_groups.pipeline.reports.period import FRESH_MS, GROUP, Key, Tables, key_of
from kafka_groups.pipeline.schemas import GROUP_STATUS, REBALANCES
from kafka_groups.pipeline.storage import Row

_POINTS: Final = 1_000
# Build reads events until the end of the day after a rebalance began.
_DAYS_OF_A_REBALANCE: Final = 2


def read_points(tables: Tables, keys: Collection[Key]) -> dict[Key, list[LagPoint]]:
    """Return by group at most a thousand points: of each stretch of the period the row with the largest lag.

    If nothing is known for longer than a stretch, a point without a lag is between them, so that no line is drawn.
    """
    since_ms, until_ms = tables.period
    stretch = max(1, -(-(until_ms - since_ms + 1) // _POINTS))
    sql = f"""
        SELECT {GROUP}, last_value(named_struct('at_ms', at_ms, 'lag', lag, 'time_lag_ms', time_lag_ms)
            ORDER BY lag, at_ms) AS point
        FROM {{rows}} GROUP BY {GROUP}, (at_ms - {since_ms}) / {stretch}
    """
    points: dict[Key, list[LagPoint]] = {}
    for row in sorted(tables.select(GROUP_STATUS, sql, keys=keys), key=lambda row: row["point"]["at_ms"]):
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
        SELECT {GROUP}, min(at_ms) AS since_ms, coalesce(min(at_ms) - max(zero_ms) > {FRESH_MS}, TRUE) AS is_bound
        FROM (
            SELECT {GROUP}, at_ms, max(CASE WHEN lag = 0 THEN at_ms END) OVER (PARTITION BY {GROUP}) AS zero_ms
            FROM {{rows}}
        ) WHERE zero_ms IS NULL OR at_ms > zero_ms GROUP BY {GROUP}
    """
    return {key_of(row): (row["since_ms"], row["is_bound"]) for row in tables.select(GROUP_STATUS, sql, keys=keys)}


def read_rebalances(tables: Tables, keys: Collection[Key]) -> dict[Key, list[Rebalance]]:
    """Return by group the rebalances that began or ended in the period, in the order in which they began."""
    sql = f"""
        SELECT {GROUP}, at_ms AS started_ms, CAST(ended_at AS BIGINT) / 1000 AS ended_ms, duration_ms, duration_quality,
            generation, CASE WHEN joined IS NOT NULL THEN CAST(cardinality(joined) AS BIGINT) END AS joined,
            CASE WHEN "left" IS NOT NULL THEN CAST(cardinality("left") AS BIGINT) END AS "left"
        FROM {{rows}} WHERE {{in_period}} ORDER BY started_ms, generation
    """
    found: dict[Key, list[Rebalance]] = {}
    for row in _select_rebalances(tables, sql, keys):
        found.setdefault((row.pop("cluster_id"), row.pop("group")), []).append(Rebalance(**row))
    return found


def select_rebalanced(tables: Tables) -> list[Row]:
    """Return a row for each group with rebalances that began or ended in the period."""
    return _select_rebalances(tables, f"SELECT DISTINCT {GROUP} FROM {{rows}} WHERE {{in_period}}")


def _select_rebalances(tables: Tables, sql: str, keys: Collection[Key] | None = None) -> list[Row]:
    in_period = f"CAST(coalesce(ended_at, started_at) AS BIGINT) >= {tables.period.since_ms * 1_000}"
    period = tables.period.days_before(_DAYS_OF_A_REBALANCE)
    return tables.select(REBALANCES, sql.replace("{in_period}", in_period), period, keys)
