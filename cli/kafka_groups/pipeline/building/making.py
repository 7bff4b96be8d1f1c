"""The derived tables of some dates, each made by the steps and written whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import TYPE_CHECKING, Final

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

Progress = Callable[[str, int, int], None]
TARGETS: Final = (LAG_HISTORY, REBALANCES, GROUP_STATUS, TOPIC_DAILY, GROUP_DAILY)
# Tables of a round are made at once; they read none of each other.
_SMALL_ROUNDS: Final = ((LAG_HISTORY, REBALANCES, TOPIC_DAILY), (GROUP_STATUS,), (GROUP_DAILY,))
_LARGE_ROUNDS: Final = tuple((table,) for table in TARGETS)


def kept_rebalances(spark: SparkSession, storage: Storage, dates: Sequence[date], *, is_small: bool) -> DataFrame:
    """Rebalances that began on `dates`, kept, for they tell which dates are made, too."""
    from kafka_groups.pipeline.steps.rebalances import rebalances

    events = storage.read(spark, GROUP_EVENTS)
    if not is_small:
        return rebalances(events, dates).persist()
    return rebalances(events.coalesce(1), dates, keep=lambda rows: rows.localCheckpoint()).localCheckpoint()


class Making:
    """One build. Later tables read the earlier ones as they were written, and small ones are kept between them."""

    def __init__(
        self,
        spark: SparkSession,
        storage: Storage,
        dates: Sequence[date],
        rules: Rules,
        lookback_days: int,
        rebalances: DataFrame,
        *,
        is_small: bool,
    ) -> None:
        from kafka_groups.pipeline.steps.commits import commit_points
        from kafka_groups.pipeline.steps.days import days_read, key_days, partition_days
        from kafka_groups.pipeline.steps.history import seen_commits
        from kafka_groups.pipeline.steps.horizon import seen_by
        from kafka_groups.pipeline.steps.members import events_once, memberships, states
        from kafka_groups.pipeline.steps.observations import observations
        from kafka_groups.pipeline.steps.vanished import vanished, with_vanished

        self._spark, self._storage, self._dates, self._rules = spark, storage, list(dates), rules
        self._is_small, self._lookback_days, self._rebalanced = is_small, lookback_days, rebalances
        self._kept = [rebalances]
        commits = storage.read(spark, OFFSET_COMMITS)
        if is_small:
            commits = seen_by(commits, dates, lookback_days=lookback_days)
        else:
            commits = seen_commits(commits, dates, lookback_days=lookback_days, rules=rules, keep=self._keep)
        seen = seen_by(storage.read(spark, PARTITION_OFFSETS), dates, lookback_days=lookback_days)
        points = self._keep(commit_points(self._together(commits)))
        self._observed = self._keep(observations(self._together(seen)))
        events = self._events = self._keep(events_once(self._in_one_piece(storage.read(spark, GROUP_EVENTS))))
        gone = self._keep(vanished(points, self._observed, events))
        # Of many commits one copy is enough, where nothing is added.
        is_same = not is_small and gone.isEmpty()
        self._points = points if is_same else self._keep(self._together(with_vanished(points, gone)))
        self._states = self._keep(states(events, memberships(events)))
        self._keys = self._keep(key_days(self._points))
        self._partitions = self._keep(partition_days(self._observed))
        self._read = self._keep(days_read(self._keys, self._partitions, events))

    def make_all(self, progress: Progress | None) -> dict[str, int]:
        """Writes all tables' dates; how many rows they have."""
        done = 0
        try:
            for tables in _SMALL_ROUNDS if self._is_small else _LARGE_ROUNDS:
                if progress is not None:
                    progress(tables[0].name, done, len(TARGETS))
                if self._is_small:
                    # Most of the time is Spark's planning, which uses one core.
                    with ThreadPoolExecutor(max_workers=len(tables)) as pool:
                        list(pool.map(self._make, tables))
                else:
                    # Here, where whoever ends the program ends it at once.
                    self._make(*tables)
                done += len(tables)
        finally:
            for rows in self._kept:
                rows.unpersist()
        return {table.name: self._storage.rows(table, self._dates) for table in TARGETS}

    def _make(self, table: Table) -> None:
        rows: DataFrame = getattr(self, f"_{table.name}")()
        self._storage.replace_dates(table, self._dates, rows)

    def _lag_history(self) -> DataFrame:
        from kafka_groups.pipeline.steps.lag import lag, on_day
        from kafka_groups.pipeline.steps.rates import SPAN_MS, rates
        from kafka_groups.pipeline.steps.time_lag import index_points, time_lag

        lags = on_day(rates(lag(self._observed, self._points, since_ms=SPAN_MS)), "observed_at")
        return time_lag(lags, index_points(self._observed))

    def _rebalances(self) -> DataFrame:

        from kafka_groups.pipeline.steps.horizon import date_of

        return self._rebalanced.where(date_of(REBALANCES.dated_by).isin(self._dates))

    def _group_status(self) -> DataFrame:
        from kafka_groups.pipeline.steps.horizon import with_evening
        from kafka_groups.pipeline.steps.lag import lag_at_commits, on_day
        from kafka_groups.pipeline.steps.members import at_times
        from kafka_groups.pipeline.steps.status import FRESH_MS, group_status, partition_status, removals
        from kafka_groups.pipeline.steps.windows import last_commits, last_ends

        made = self._in_one_piece(self._storage.read(self._spark, LAG_HISTORY))
        lags = self._beside(with_evening(made, "observed_at", self._dates, before_ms=FRESH_MS))
        windows = last_commits(lags, lag_at_commits(self._points, self._observed), self._rules)
        partitions = self._keep(partition_status(windows, last_ends(self._observed, self._rules), self._rules))
        both = partitions.unionByName(group_status(partitions, removals(self._points)))
        return at_times(on_day(both, "evaluated_at"), self._states, "evaluated_at")

    def _group_daily(self) -> DataFrame:
        from kafka_groups.pipeline.steps.daily import Told, group_daily
        from kafka_groups.pipeline.steps.days import gone_partitions, untold_groups
        from kafka_groups.pipeline.steps.members import on_days
        from kafka_groups.pipeline.steps.retention import worst_lags

        return group_daily(
            self._keys,
            gone_partitions(self._keys, self._partitions, self._read),
            worst_lags(self._made(LAG_HISTORY)),
            self._made(GROUP_STATUS),
            Told(self._made(REBALANCES), untold_groups(self._events), on_days(self._states, self._dates)),
            self._read,
            self._partitions,
        )

    def _topic_daily(self) -> DataFrame:
        from kafka_groups.pipeline.steps.daily import topic_daily
        from kafka_groups.pipeline.steps.readers import subscriptions

        events = self._in_one_piece(self._storage.read(self._spark, GROUP_EVENTS))
        subscribed = subscriptions(events, self._dates)
        return topic_daily(self._keys, self._partitions, self._read, subscribed, lookback_days=self._lookback_days)

    def _made(self, table: Table) -> DataFrame:
        from pyspark.sql import functions as F

        rows = self._storage.read(self._spark, table).where(F.col("date").isin(self._dates))
        return self._in_one_piece(rows).drop("day", "batch").withColumnRenamed("date", "day")

    def _keep(self, rows: DataFrame) -> DataFrame:
        """What is read more than once is made once; of few facts at once, so that Spark forgets how it came about."""
        if self._is_small:
            return rows.localCheckpoint()
        self._kept.append(rows.persist())
        return rows

    def _beside(self, rows: DataFrame) -> DataFrame:
        """What belongs to a topic's partition lies together: all that follows is done by partition, or by less."""
        from kafka_groups.pipeline.steps.horizon import PARTITION_KEY

        return rows if self._is_small else rows.repartition(*PARTITION_KEY)

    def _together(self, facts: DataFrame) -> DataFrame:
        return self._beside(self._in_one_piece(facts))

    def _in_one_piece(self, rows: DataFrame) -> DataFrame:
        """Of few facts one task makes all: what is in one piece need not be moved to be sorted or joined."""
        return rows.coalesce(1) if self._is_small else rows
