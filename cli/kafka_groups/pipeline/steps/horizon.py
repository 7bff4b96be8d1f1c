"""Which facts a date sees: its own, and those of the days before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

CLUSTER_KEY: Final = ("day", "cluster_id")
PARTITION_KEY: Final = ("day", "cluster_id", "topic", "partition")
COMMIT_KEY: Final = ("day", "cluster_id", "group", "topic", "partition")
DAY_MS: Final = 86_400_000
# What the last rounds of sampling did not see any more is gone; one missed round is a hiccup.
GONE_AFTER_MS: Final = 600_000


def seen_by(facts: DataFrame, dates: Sequence[date], *, lookback_days: int) -> DataFrame:
    """Each fact once for every one of `dates` that sees it, which stands in `day`; what none sees is left out."""
    first, last = min(dates) - timedelta(days=lookback_days), max(dates)
    wanted = F.array(*(F.lit(day) for day in sorted(dates)))
    days = F.filter(
        wanted, lambda day: (day >= F.col("date")) & (day <= F.date_add(F.col("date"), F.lit(lookback_days)))
    )
    return facts.where(F.col("date").between(first, last)).select("*", F.explode(days).alias("day"))


def surely(condition: Column) -> Column:
    """False where the condition cannot be told."""
    return F.coalesce(condition, F.expr("false"))


def date_of(time: str) -> Column:
    """The UTC date of a time, whatever the session's time zone is."""
    return F.date_from_unix_date(F.floor(F.unix_millis(time) / DAY_MS).cast("int"))


def midnight(day: str) -> Column:
    """The time at which a date begins, UTC."""
    return F.timestamp_millis(F.unix_date(day).cast("long") * DAY_MS)


def with_evening(rows: DataFrame, time: str, dates: Sequence[date], *, before_ms: int) -> DataFrame:
    """Rows of a derived table for each of `dates`, in `day`: its own, and the last moments' of the day before."""
    first = min(dates) - timedelta(days=1)
    wanted = F.array(*(F.lit(day) for day in sorted(dates)))
    until_midnight = (F.unix_date("date").cast("long") + 1) * DAY_MS - F.unix_millis(time)
    sees = F.filter(
        wanted,
        lambda day: (day == F.col("date")) | ((day == F.date_add("date", 1)) & (until_midnight <= before_ms)),
    )
    seen = rows.where(F.col("date").between(first, max(dates))).select("*", F.explode(sees).alias("day"))
    return seen.drop("date", "batch")
