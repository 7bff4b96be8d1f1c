"""The tables in the period of a report: rows of groups, their lag over time, their rebalances."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, timedelta
from typing import Final, NamedTuple

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.report.history import LagPoint, Rebalance
from kafka_groups.pipeline.store import Queries, Row, Storage, quote
from kafka_groups.pipeline.tables import GROUP_STATUS, REBALANCES, Table

DAY_MS: Final = 86_400_000
FRESH_MS: Final = 600_000  # as in build: an observation counts for so long
GROUP: Final = 'cluster_id, "group"'
_DAYS_OF_A_REBALANCE: Final = 2  # build reads events until the end of the day after a rebalance began
_POINTS: Final = 1_000
_MOST_LITERALS: Final = 1_000  # the engine ends the process if a query has very many
_LAST_DAY: Final = 47_482  # that a table may have rows of
Key = tuple[str, str]  # the id of a cluster and the id of a group


class Period(NamedTuple):
    """A time span in milliseconds since 1970, both ends included."""

    since_ms: int
    until_ms: int

    def days_before(self, days: int) -> Period:
        """Return the period with all of its first day, and with so many days before it."""
        return Period((self.since_ms // DAY_MS - days) * DAY_MS, self.until_ms)


class Tables:
    """The tables of a storage in the period of a report; `days` is the period with all of its first day."""

    def __init__(self, storage: Storage, period: Period) -> None:
        self.storage, self.period, self.days = storage, period, period.days_before(0)
        self.queries = Queries(storage)

    def select(
        self, table: Table, sql: str, period: Period | None = None, keys: Collection[Key] | None = None
    ) -> list[Row]:
        """Return what SQL selects from {rows}: those of the period, of this report or of another one, and of `keys`.

        `at_ms` is the time of a row in milliseconds since 1970. With `keys`, each result has the columns of its group.
        """
        if keys is not None and not keys:
            return []
        since_ms, until_ms = period or self.period
        begin, end = (date_of(ms).isoformat() for ms in (since_ms, until_ms))
        conditions = f"date BETWEEN DATE '{begin}' AND DATE '{end}'"
        if keys is not None and len(keys) <= _MOST_LITERALS:
            conditions += f' AND "group" IN ({", ".join(sorted({quote(group) for _, group in keys}))})'
        timed = f"(SELECT *, CAST({table.dated_by} AS BIGINT) / 1000 AS at_ms FROM {{rows}} WHERE {conditions})"
        rows = f"(SELECT * FROM {timed} WHERE at_ms BETWEEN {since_ms} AND {until_ms})"
        found = self.queries.select(table, sql.replace("{rows}", rows))
        wanted = frozenset(keys or ())
        return found if keys is None else [row for row in found if key_of(row) in wanted]


def select_groups(groups: Collection[str], match: str | None, exclude: str | None) -> Selectors:
    """Return the selectors of groups by id or by patterns of their whole id; all are selected without either."""
    matched, excluded = (None if pattern is None else re.compile(pattern) for pattern in (match, exclude))
    return Selectors(tuple(groups), matched, exclude=excluded)


def date_of(ms: int) -> date:
    """Return the date of a time, within the dates that tables may have."""
    return date(1970, 1, 1) + timedelta(days=min(max(ms // DAY_MS, 0), _LAST_DAY))


def key_of(row: Row) -> Key:
    """Return the group of a row."""
    return row["cluster_id"], row["group"]


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


def find_lag_starts(tables: Tables, keys: Collection[Key]) -> dict[Key, Row]:
    """Return by group `lagging_since_ms`, since when it has had a lag, and whether that `is_bound` only.

    It is a bound without a row without lag before, or if that row is more than ten minutes older.
    """
    sql = f"""
        SELECT {GROUP}, min(at_ms) AS lagging_since_ms,
            coalesce(min(at_ms) - max(zero_ms) > {FRESH_MS}, TRUE) AS lagging_since_is_bound
        FROM (
            SELECT {GROUP}, at_ms, max(CASE WHEN lag = 0 THEN at_ms END) OVER (PARTITION BY {GROUP}) AS zero_ms
            FROM {{rows}}
        ) WHERE zero_ms IS NULL OR at_ms > zero_ms GROUP BY {GROUP}
    """
    return {(row.pop("cluster_id"), row.pop("group")): row for row in tables.select(GROUP_STATUS, sql, keys=keys)}


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
