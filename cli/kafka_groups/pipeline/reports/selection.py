"""Which rows a report reads: a period, and the selected groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.queries import Queries, Row, quote

DAY_MS: Final = 86_400_000
# As in build: an observation counts for so long.
FRESH_MS: Final = 600_000
GROUP: Final = 'cluster_id, "group"'
_MOST_LITERALS: Final = 1_000
_EPOCH: Final = date(1970, 1, 1)
_LAST_DAY: Final = (date(2100, 1, 1) - _EPOCH).days
# The id of a cluster and the id of a group.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Period:
    """A time span in milliseconds since 1970, both ends included."""

    since_ms: int
    until_ms: int

    def from_midnight(self) -> Period:
        """Return the period with all of its first day."""
        return Period(self.since_ms // DAY_MS * DAY_MS, self.until_ms)

    def until_midnight(self) -> Period:
        """Return the period with all of its last day."""
        return Period(self.since_ms, self.until_ms // DAY_MS * DAY_MS + DAY_MS - 1)

    def with_days_before(self, days: int) -> Period:
        """Return the period with so many days before it."""
        return Period(self.since_ms - days * DAY_MS, self.until_ms)

    def dates(self) -> str:
        """Return the condition on the partition of a table."""
        first, last = (day_literal(ms // DAY_MS) for ms in (self.since_ms, self.until_ms))
        return f"date BETWEEN {first} AND {last}"


def day_literal(day: int) -> str:
    """Return a day since 1970 as SQL writes a date, within the dates that tables may have."""
    return f"DATE '{_EPOCH + timedelta(days=min(max(day, 0), _LAST_DAY))}'"


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected groups: `groups` by id, and those whose whole id matches `match`; all if neither is given.

    Groups whose whole id matches `exclude` are excluded.
    """

    groups: Collection[str] = ()
    match: str | None = None
    exclude: str | None = None

    def is_all(self) -> bool:
        """Return whether nothing was selected or excluded."""
        return not self.groups and self.match is None and self.exclude is None

    def has(self, group: str) -> bool:
        """Return whether the group is selected, by the regular expressions of Python as everywhere in this tool."""
        if self.exclude is not None and re.fullmatch(self.exclude, group):
            return False
        is_matched = self.match is not None and bool(re.fullmatch(self.match, group))
        return is_matched or group in self.groups or (not self.groups and self.match is None)


class Tables:
    """The tables of a storage in the period of a report."""

    def __init__(self, storage: Storage, period: Period) -> None:
        self.storage, self.period = storage, period
        self.queries = Queries(storage)

    def select(self, table: Table, sql: str, period: Period | None = None) -> list[Row]:
        """Return what SQL selects from {rows}: those of the period, of this report or of another one.

        `at_ms` is the time of a row in milliseconds since 1970.
        """
        within = period or self.period
        timed = f"(SELECT *, CAST({table.dated_by} AS BIGINT) / 1000 AS at_ms FROM {{rows}} WHERE {within.dates()})"
        rows = f"(SELECT * FROM {timed} WHERE at_ms BETWEEN {within.since_ms} AND {within.until_ms})"
        return self.queries.select(table, sql.replace("{rows}", rows))

    def select_groups(self, table: Table, sql: str, keys: Collection[Key], period: Period | None = None) -> list[Row]:
        """Return what SQL selects from the rows of these groups; each row that it returns has the group's columns."""
        # The engine ends the process if a query has very many literals.
        is_filtered = len(keys) <= _MOST_LITERALS
        rows = f"(SELECT * FROM {{rows}} WHERE {_is_one_of(keys)})" if is_filtered else "{rows}"
        found = self.select(table, sql.replace("{rows}", rows), period)
        wanted = frozenset(keys)
        return found if is_filtered else [row for row in found if key_of(row) in wanted]


def _is_one_of(keys: Iterable[Key]) -> str:
    by_cluster: dict[str, list[str]] = {}
    for cluster, group in sorted(keys):
        by_cluster.setdefault(cluster, []).append(quote(group))
    conditions = [
        f'(cluster_id = {quote(cluster)} AND "group" IN ({", ".join(groups)}))'
        for cluster, groups in by_cluster.items()
    ]
    return f"({' OR '.join(conditions)})" if conditions else "FALSE"


def key_of(row: Row) -> Key:
    """Return the group of a row."""
    return row["cluster_id"], row["group"]
