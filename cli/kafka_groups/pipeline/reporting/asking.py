"""What a report reads: the rows of a period, all of them or those of some groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DAY_MS: Final = 86_400_000
# As in build: what was not observed for longer is not known to be as it was.
FRESH_MS: Final = 600_000
GROUP: Final = ("cluster_id", "group")
PARTITION: Final = (*GROUP, "topic", "partition")
# What is itself in a literal of SQL; how the rest is to be quoted depends on settings of the session.
_PLAIN: Final = re.compile(r"[\w .:/@#%+=,;~-]*")
# A cluster's id and a group's.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Period:
    """From one millisecond to another, both included."""

    since_ms: int
    until_ms: int

    def of(self, rows: DataFrame, column: str) -> DataFrame:
        """Rows of the period; only its dates are read."""
        from pyspark.sql import functions as F

        days = [F.date_from_unix_date(F.lit(ms // DAY_MS)) for ms in (self.since_ms, self.until_ms)]
        inside = F.unix_millis(column).between(self.since_ms, self.until_ms)
        return rows.where(F.col("date").between(*days) & inside)

    def from_midnight(self) -> Period:
        """The same, with all of its first day."""
        return Period(self.since_ms // DAY_MS * DAY_MS, self.until_ms)

    def until_midnight(self) -> Period:
        """The same, and the rest of its last day."""
        return Period(self.since_ms, self.until_ms // DAY_MS * DAY_MS + DAY_MS - 1)

    def with_days_before(self, days: int) -> Period:
        """The same, and so many days before it."""
        return Period(self.since_ms - days * DAY_MS, self.until_ms)

    def with_carried(self) -> Period:
        """The same, and what was observed so shortly before that it counts in it."""
        return Period(self.since_ms - FRESH_MS, self.until_ms)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which groups: those named, and those whose whole id matches; all of them if neither is given.

    Those whose whole id matches `exclude` are left out.
    """

    groups: Collection[str] = ()
    match: str | None = None
    exclude: str | None = None

    def is_all(self) -> bool:
        """Whether nothing was selected."""
        return not self.groups and self.match is None and self.exclude is None

    def has(self, group: str) -> bool:
        """Python's dialect decides, as everywhere in this tool: Java's differs."""
        if self.exclude is not None and re.fullmatch(self.exclude, group):
            return False
        is_matched = self.match is not None and bool(re.fullmatch(self.match, group))
        return is_matched or group in self.groups or (not self.groups and self.match is None)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables in a period."""

    spark: SparkSession
    storage: Storage
    period: Period

    def read(self, table: Table, time: str, *, period: Period | None = None) -> DataFrame:
        """The table's rows of the report's period, or of another one."""
        return (period or self.period).of(self.storage.read(self.spark, table), time)


def among(keys: Iterable[Key]) -> Column:
    """Whether a row is of one of these groups."""
    from pyspark.sql import functions as F

    by_cluster: dict[str, list[str]] = {}
    for cluster, group in sorted(keys):
        by_cluster.setdefault(cluster, []).append(group)
    is_one = F.expr("false")
    for cluster, groups in by_cluster.items():
        is_one = is_one | ((F.col("cluster_id") == cluster) & _is_in("group", groups))
    return is_one


def _is_in(column: str, texts: list[str]) -> Column:
    """`isin` as one piece of SQL: value by value, 60,000 of them take Python a minute, and this takes seconds."""
    from pyspark.sql import functions as F

    plain = [text for text in texts if _PLAIN.fullmatch(text)]
    listed = ", ".join(f"'{text}'" for text in plain)
    is_plain = F.expr(f"`{column}` IN ({listed})") if plain else F.lit(False)  # noqa: FBT003 - a literal of Spark's
    others = [text for text in texts if not _PLAIN.fullmatch(text)]
    return is_plain | F.col(column).isin(others) if others else is_plain
