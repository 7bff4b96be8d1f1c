"""Builds the derived tables of the dates whose facts changed, and of all dates after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from kafka_groups.pipeline.building.changes import date_before, dates_to_build, save_state, state_of
from kafka_groups.pipeline.building.evening import told_otherwise
from kafka_groups.pipeline.building.making import TARGETS, Making, Progress, kept_rebalances
from kafka_groups.pipeline.building.missing import missing
from kafka_groups.pipeline.building.sizing import SMALL_ROWS, as_small
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.rereading import reread
from kafka_groups.pipeline.tables import REBALANCES
from kafka_groups.verdicts import Rules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    small_rows: int = SMALL_ROWS,
    progress: Progress | None = None,
) -> Built:
    """Makes the derived tables of all dates that changed since the last build, and of all after.

    The date before the first of them, and days without facts between them, are made, too, where their rebalances are
    others.

    A date is made from its own facts and those of `lookback_days` before it (membership: of all days before it that are
    kept; members that came earlier count from the day on which they wrote), so the tables do not depend on when and in
    which order facts came. Facts that retention removed make nothing anew, and
    neither does a compaction. Up to `small_rows` facts are worked on in one piece, which is quicker, to the same rows.
    `progress` is told the table, its number and how many. StorageError if another build is under way: it reads what it
    wrote before.
    """
    with storage.lock("build"):
        return reread(lambda: _build(spark, storage, rules or Rules(), lookback_days, small_rows, progress))


def is_small(storage: Storage, *, rules: Rules | None = None, lookback_days: int = 7) -> bool:
    """Whether the next build has so few facts to read that its session may be a brief one. Needs no Spark."""
    now = state_of(storage, rules or Rules(), lookback_days)
    dates = dates_to_build(storage, now)
    return not dates or now.rows_until(dates, lookback_days) <= SMALL_ROWS


def _build(
    spark: SparkSession,
    storage: Storage,
    rules: Rules,
    lookback_days: int,
    small_rows: int,
    progress: Progress | None,
) -> Built:
    now = state_of(storage, rules, lookback_days)
    dates = dates_to_build(storage, now)
    rows: Mapping[str, int] = {}
    if dates:
        before = date_before(now, dates)
        is_small = now.rows_until([*before, *dates], lookback_days) <= small_rows
        with as_small(spark, is_small):
            made = kept_rebalances(spark, storage, [*before, *dates], is_small=is_small)
            dates = [*told_otherwise(made, storage.read(spark, REBALANCES), before), *dates]
            rows = Making(spark, storage, dates, rules, lookback_days, made, is_small=is_small).make_all(progress)
        save_state(storage, now)
    if dates and progress is not None:
        progress(TARGETS[-1].name, len(TARGETS), len(TARGETS))
    return Built(tuple(dates), rows, missing(spark, storage, now, lookback_days))
