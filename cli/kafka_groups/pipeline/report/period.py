"""The period of a report, and queries on the rows of the tables in it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import Final, NamedTuple, TypeVar

from kafka_groups.pipeline.store import Queries, Row, Storage
from kafka_groups.pipeline.tables import Table
from kafka_groups.pipeline.tables.sql import Identifier, SqlValue, render_sql

DAY_MS: Final = 86_400_000
# An observation counts for ten minutes, as in a build.
FRESH_MS: Final = 600_000
# A query with many thousand literals ends the process, so that many groups are selected after the query.
_MAX_LITERALS: Final = 1_000
# The last date for which a table may have rows, 2100-01-01, in days since 1970.
_LAST_DAY: Final = 47_482
_PERIOD_ROWS: Final = """
    WITH period_rows AS (
        SELECT * FROM (SELECT *, CAST({time} AS BIGINT) / 1000 AS at_ms FROM {rows} WHERE {conditions})
        WHERE at_ms BETWEEN {since_ms} AND {until_ms}
    ) {query}
"""

T = TypeVar("T")


class GroupKey(NamedTuple):
    """The ids of a cluster and of a group on it."""

    cluster_id: str
    group: str


class Period(NamedTuple):
    """A time span in milliseconds since 1970, both ends included."""

    since_ms: int
    until_ms: int

    def from_midnight(self, *, days_before: int = 0) -> Period:
        """Return the period from the midnight (UTC) before its start, or from some days before that midnight."""
        return Period((self.since_ms // DAY_MS - days_before) * DAY_MS, self.until_ms)

    def to_midnight(self) -> Period:
        """Return the period extended to the end of its last day (UTC)."""
        return Period(self.since_ms, self.until_ms // DAY_MS * DAY_MS + DAY_MS - 1)


class PeriodTables:
    """The tables of a storage in the period of a report, and in others around it.

    A query reads from `period_rows`: the rows of one table in a period, with the column `at_ms`, the time of the row in
    milliseconds since 1970. Methods raise StorageError.
    """

    def __init__(self, storage: Storage, period: Period) -> None:
        self.storage = storage
        self.period = period
        self.queries = Queries(storage)

    def select(
        self, row_type: Callable[..., T], table: Table, template: str, period: Period | None = None, **values: SqlValue
    ) -> list[T]:
        """Return the rows that a query selects, each as a `row_type` made from the row's columns by name.

        `period` is the report's period by default. `values` fill in the fields of the template.
        """
        return [row_type(**row) for row in self._select(table, template, period, None, values)]

    def select_groups(
        self,
        row_type: Callable[..., T],
        table: Table,
        template: str,
        groups: Collection[GroupKey],
        period: Period | None = None,
        **values: SqlValue,
    ) -> list[T]:
        """Return only the rows of these groups; the query has to select `cluster_id` and `group`."""
        if not groups:
            return []
        group_keys = frozenset(groups)
        rows = self._select(table, template, period, group_keys, values)
        return [row_type(**row) for row in rows if (row["cluster_id"], row["group"]) in group_keys]

    def _select(
        self,
        table: Table,
        template: str,
        period: Period | None,
        groups: Collection[GroupKey] | None,
        values: dict[str, SqlValue],
    ) -> list[Row]:
        """Return each row as a dict; with `groups`, also rows of groups with the same ids on other clusters."""
        since_ms, until_ms = period or self.period
        conditions = render_sql("date BETWEEN {first} AND {last}", first=date_of(since_ms), last=date_of(until_ms))
        if groups is not None and len(groups) <= _MAX_LITERALS:
            ids = sorted({key.group for key in groups})
            conditions = render_sql('{conditions} AND "group" IN ({ids})', conditions=conditions, ids=ids)
        return self.queries.select(
            table,
            _PERIOD_ROWS,
            time=Identifier(table.time_column),
            conditions=conditions,
            since_ms=since_ms,
            until_ms=until_ms,
            query=render_sql(template, **values),
        )


def date_of(time_ms: int) -> date:
    """Return the date (UTC) of a time in ms since 1970, or the nearest date for which tables may have rows."""
    return date(1970, 1, 1) + timedelta(days=min(max(time_ms // DAY_MS, 0), _LAST_DAY))
