"""Builds the derived tables of the dates whose facts changed, and of all dates after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import (
    GROUP_DAILY,
    GROUP_EVENTS,
    GROUP_STATUS,
    LAG_HISTORY,
    OFFSET_COMMITS,
    PARTITION_OFFSETS,
    REBALANCES,
    TOPIC_DAILY,
    Table,
)
from kafka_groups.verdicts import Rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOTE: Final = "build"
_SOURCES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)
_TARGETS: Final = (LAG_HISTORY, REBALANCES, GROUP_STATUS, GROUP_DAILY, TOPIC_DAILY)
# What tables were made with: other settings, or other steps, make all dates anew.
_STEPS_VERSION: Final = 1
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Built:
    """The dates that were made, the rows of each derived table on them, and what could not be told, in sentences."""

    dates: tuple[date, ...]
    rows: Mapping[str, int]
    missing: tuple[str, ...]


def build(
    spark: SparkSession,
    storage: Storage,
    *,
    rules: Rules | None = None,
    lookback_days: int = 7,
    progress: Progress | None = None,
) -> Built:
    """Makes the derived tables of all dates that changed since the last build, of the date before and of all after.

    A date is made from its own facts and those of `lookback_days` before it (membership: of all days before it), so the
    tables do not depend on when and in which order facts came. `progress` is told the table, its number and how many.
    """
    rules = rules or Rules()
    now = _state_of(storage, rules, lookback_days)
    dates = _dates_to_build(storage.note(_NOTE), now)
    if not dates:
        return Built((), {}, _missing(spark, storage))
    rows = {}
    made = _Making(spark, storage, dates, rules, lookback_days)
    for place, table in enumerate(_TARGETS):
        if progress is not None:
            progress(table.name, place, len(_TARGETS))
        rows[table.name] = made.make(table)
    if progress is not None:
        progress("", len(_TARGETS), len(_TARGETS))
    storage.save_note(_NOTE, now)
    return Built(tuple(dates), rows, _missing(spark, storage))


class _Making:
    """One build. Tables are made in order: later ones read the earlier ones as they were written."""

    def __init__(
        self, spark: SparkSession, storage: Storage, dates: Sequence[date], rules: Rules, lookback_days: int
    ) -> None:
        from kafka_groups.pipeline.steps.commits import commit_points
        from kafka_groups.pipeline.steps.horizon import seen_by
        from kafka_groups.pipeline.steps.lag import observations
        from kafka_groups.pipeline.steps.members import events_once, memberships, states

        self._spark, self._storage, self._dates, self._rules = spark, storage, list(dates), rules
        self._points = commit_points(seen_by(storage.read(spark, OFFSET_COMMITS), dates, lookback_days=lookback_days))
        seen = seen_by(storage.read(spark, PARTITION_OFFSETS), dates, lookback_days=lookback_days)
        self._observed = observations(seen)
        self._events = events_once(storage.read(spark, GROUP_EVENTS))
        self._states = states(self._events, memberships(self._events))

    def make(self, table: Table) -> int:
        """Writes one table's dates; how many rows they have."""
        rows: DataFrame = getattr(self, f"_{table.name}")()
        self._storage.replace_dates(self._spark, table, self._dates, rows)
        return self._made(table).count()

    def _lag_history(self) -> DataFrame:
        from kafka_groups.pipeline.steps.lag import lag, on_day
        from kafka_groups.pipeline.steps.rates import SPAN_MS, rates
        from kafka_groups.pipeline.steps.time_lag import index_points, time_lag

        lags = on_day(rates(lag(self._observed, self._points, since_ms=SPAN_MS)), "observed_at")
        return time_lag(lags, index_points(self._observed))

    def _rebalances(self) -> DataFrame:
        from kafka_groups.pipeline.steps.rebalances import rebalances

        commits = self._storage.read(self._spark, OFFSET_COMMITS)
        return rebalances(self._storage.read(self._spark, GROUP_EVENTS), commits, self._dates)

    def _group_status(self) -> DataFrame:
        from kafka_groups.pipeline.steps.lag import lag_at_commits
        from kafka_groups.pipeline.steps.members import at_times
        from kafka_groups.pipeline.steps.status import group_status, partition_status
        from kafka_groups.pipeline.steps.windows import last_commits, last_ends

        windows = last_commits(self._made(LAG_HISTORY), lag_at_commits(self._points, self._observed), self._rules)
        partitions = partition_status(windows, last_ends(self._observed, self._rules), self._rules)
        both = partitions.unionByName(group_status(partitions))
        return at_times(both, self._states, "evaluated_at")

    def _group_daily(self) -> DataFrame:
        from kafka_groups.pipeline.steps.daily import gone_partitions, group_daily
        from kafka_groups.pipeline.steps.members import on_days

        days = self._spark.createDataFrame([(day,) for day in self._dates], "day date")
        return group_daily(
            self._points,
            gone_partitions(self._points, self._observed),
            self._made(LAG_HISTORY),
            self._made(GROUP_STATUS),
            self._made(REBALANCES),
            on_days(self._states, days),
        )

    def _topic_daily(self) -> DataFrame:
        from kafka_groups.pipeline.steps.daily import topic_daily

        return topic_daily(self._points, self._observed)

    def _made(self, table: Table) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        rows = self._storage.read(self._spark, table).where(F.col("date").isin(self._dates))
        return rows.drop("day", "batch").withColumnRenamed("date", "day")


def _state_of(storage: Storage, rules: Rules, lookback_days: int) -> dict[str, Any]:
    """What a build is made of: batches by date, and the settings."""
    batches: dict[str, list[str]] = {}
    for table in _SOURCES:
        for found in storage.batches(table):
            batches.setdefault(found.date, []).append(f"{table.name}/{found.batch}/{found.files}/{found.bytes}")
    settings = [_STEPS_VERSION, rules.intervals, rules.allowed_lag, rules.minimum_complete, rules.min_distance_ms]
    return {
        "settings": [*settings, lookback_days],
        "batches": {day: sorted(names) for day, names in sorted(batches.items())},
    }


def _dates_to_build(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[date]:
    known = before.get("batches", {}) if before.get("settings") == now["settings"] else {}
    facts = now["batches"]
    changed = [day for day in {*known, *facts} if known.get(day) != facts.get(day)]
    if not changed:
        return []
    # A rebalance that begins before midnight may end on the next date: the date before is made again, too.
    first = date.fromisoformat(min(changed)) - timedelta(days=1)
    return [day for day in map(date.fromisoformat, sorted({*known, *facts})) if day >= first]


def _missing(spark: SparkSession, storage: Storage) -> tuple[str, ...]:
    """What the tables of facts lack, and what cannot be told for it."""
    found = {
        (table.name, row["origin"])
        for table in _SOURCES
        for row in storage.read(spark, table).select("origin").distinct().collect()
    }
    told = []
    if (OFFSET_COMMITS.name, "topic") not in found:
        told.append("No commits were read from __consumer_offsets: commit rates are unknown, verdicts rest on samples.")
    if (GROUP_EVENTS.name, "topic") not in found:
        told.append("No group records were read from __consumer_offsets: rebalances are unknown.")
    if not any(name == PARTITION_OFFSETS.name for name, _ in found):
        told.append("No log ends were sampled or backfilled: lag, time lag, rates and verdicts are unknown.")
    if (GROUP_EVENTS.name, "sample") not in found:
        told.append("No group states were sampled: states of KIP-848 groups are unknown.")
    return tuple(told)
