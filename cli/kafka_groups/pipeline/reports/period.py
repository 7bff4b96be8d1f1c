"""What a report is about: the tables in its period, and the selected groups."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, timedelta
from typing import Final, NamedTuple

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage import Queries, Row, Storage, quote

DAY_MS: Final = 86_400_000
# As in build: an observation counts for so long.
FRESH_MS: Final = 600_000
GROUP: Final = 'cluster_id, "group"'
# The engine ends the process if a query has very many literals.
_MOST_LITERALS: Final = 1_000
# The last day that a table may have rows of.
_LAST_DAY: Final = 47_482
# The id of a cluster and the id of a group.
Key = tuple[str, str]


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
