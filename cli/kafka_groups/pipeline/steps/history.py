"""Which commits of the days before it a date still needs: the few that tell something on it, not all of them.

A day of a busy key has thousands of commits, and the days before a date hold most of what there is. So time is cut into
cells, each cell of a key is summed up without sorting, and only cells that matter are read again: those with the last
windows that a verdict can look at, the last change, and removals. What follows gives the same rows as on all commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.commits import is_removal
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, seen_by, surely
from kafka_groups.verdicts import Rules

# A date's rows look back ten minutes before midnight, at every commit and removal.
EVENING_MS: Final = 600_000
# Cells to a day, at most: less than half an hour each, so that ten of them are some hours of a busy key.
_CELLS: Final = 60
# As many rows of three strings and some numbers as any executor can be sent.
_FEW: Final = 200_000
_KEY: Final = COMMIT_KEY[1:]
_COUNTED: Final = ("has_record", "has_sample", "has_moved", "was_moved")


def seen_commits(
    offset_commits: DataFrame,
    dates: Sequence[date],
    *,
    lookback_days: int,
    rules: Rules,
    keep: Callable[[DataFrame], DataFrame] = DataFrame.persist,
) -> DataFrame:
    """`seen_by`, without the commits before the date (in `day`) that no step can tell from their absence.

    Cells are counted and then read: `keep` keeps them in between.
    """
    cell_ms = _cell_ms(rules)
    if cell_ms is None:
        return seen_by(offset_commits, dates, lookback_days=lookback_days)
    facts = offset_commits.withColumn("cell", F.floor(F.unix_millis("commit_time") / cell_ms))
    wanted = F.array(*(F.lit(day) for day in sorted(dates)))
    of_the_day = F.filter(wanted, lambda day: (day >= F.col("date")) & (F.col("cell") >= _edge(day, cell_ms)))
    evening = min(dates) - timedelta(days=1)
    near = facts.where(F.col("date").between(evening, max(dates)))
    present = near.select("*", F.explode(of_the_day).alias("day"))
    cells = keep(needed_cells(facts, dates, cell_ms, lookback_days=lookback_days, rules=rules))
    few = F.broadcast(cells) if cells.count() <= _FEW else cells
    before = facts.join(few, [*_KEY, "date", "cell"])
    return present.unionByName(before).drop("cell")


def needed_cells(
    facts: DataFrame, dates: Sequence[date], cell_ms: int, *, lookback_days: int, rules: Rules
) -> DataFrame:
    """(*COMMIT_KEY, date, cell) of what each of `dates`, in `day`, needs of the time before its evening.

    Ten cells with records are ten slots of a window or more, for a slot lies in one cell. Samples tell by changes: the
    last ten cells with one, and the oldest cell, where what never changed was first seen. Removals, and what they part,
    are kept all.
    """
    summed = seen_by(_summed(facts), dates, lookback_days=lookback_days).where(F.col("cell") < _edge("day", cell_ms))
    back = _newest_first()
    so_far = back.rowsBetween(Window.unboundedPreceding, 0)
    older_is_removal, newer_is_removal = (surely(move("has_removal").over(back)) for move in (F.lead, F.lag))
    moved_here = surely(F.col("least") != F.col("most"))
    moved_since = surely(F.lead("most").over(back) != F.col("least")) & ~older_is_removal
    told = summed.select(
        "*",
        (older_is_removal | newer_is_removal | F.col("has_removal")).alias("is_parted"),
        F.lead("cell").over(back).isNull().alias("is_oldest"),
        (~F.col("has_removal") & (moved_here | moved_since)).alias("has_moved"),
        F.count(F.when(F.col("has_removal"), 1)).over(so_far).alias("life"),
    )
    counted = _with_samples(told).select(
        "*", *(F.count(F.when(F.col(name), 1)).over(so_far).alias(f"{name}_until") for name in _COUNTED)
    )
    is_move, is_sampled_move, is_record = (
        F.col(name) & (F.col(f"{name}_until") <= rules.intervals) for name in ("has_moved", "was_moved", "has_record")
    )
    before_it = surely(F.lag(is_move).over(back))
    newer = back.rowsBetween(Window.unboundedPreceding, -1)
    before_sampled = surely(F.last(F.when(F.col("has_sample"), is_sampled_move), ignorenulls=True).over(newer))
    is_seen = F.col("has_sample") & (is_sampled_move | before_sampled | (F.col("has_sample_until") == 1))
    is_needed = F.col("is_parted") | F.col("is_oldest") | F.col("begins") | is_move | before_it | is_record | is_seen
    kept = counted.select("*", is_needed.alias("is_needed"))
    return kept.where("is_needed").select(*COMMIT_KEY, "date", "cell")


def _with_samples(cells: DataFrame) -> DataFrame:
    """Cells with what their samples alone tell: whether the offset `was_moved`, and whether a life `begins`."""
    back = _newest_first()
    told = F.when(F.col("has_sample"), F.struct("life", "most_seen"))
    older = F.first(told, ignorenulls=True).over(back.rowsBetween(1, Window.unboundedFollowing))
    is_one_life = surely(F.col("older.life") == F.col("life"))
    moved_since = is_one_life & surely(F.col("older.most_seen") != F.col("least_seen"))
    moved_here = surely(F.col("least_seen") != F.col("most_seen"))
    return cells.select("*", older.alias("older")).select(
        "*",
        (F.col("has_sample") & (moved_here | moved_since)).alias("was_moved"),
        (F.col("has_sample") & ~is_one_life).alias("begins"),
    )


def _newest_first() -> WindowSpec:
    return Window.partitionBy(*COMMIT_KEY).orderBy(F.desc("cell"))


def _summed(facts: DataFrame) -> DataFrame:
    removed = is_removal()
    is_record = F.col("origin") == "topic"
    offset = F.when(~removed, F.col("committed_offset"))
    return facts.groupBy(*_KEY, "date", "cell").agg(
        F.min(offset).alias("least"),
        F.max(offset).alias("most"),
        F.min(F.when(~is_record, offset)).alias("least_seen"),
        F.max(F.when(~is_record, offset)).alias("most_seen"),
        F.max(removed).alias("has_removal"),
        F.max(is_record & ~removed).alias("has_record"),
        F.max(~is_record & ~removed).alias("has_sample"),
    )


def _cell_ms(rules: Rules) -> int | None:
    """A cell holds whole slots and a day whole cells; None where no length does both."""
    lengths = (DAY_MS // cells for cells in range(_CELLS, 0, -1) if DAY_MS % cells == 0)
    return next((length for length in lengths if length % rules.min_distance_ms == 0), None)


def _edge(day: Column | str, cell_ms: int) -> Column:
    """The cell in which the day's evening before begins."""
    return F.floor((F.unix_date(day).cast("long") * DAY_MS - EVENING_MS) / cell_ms)
