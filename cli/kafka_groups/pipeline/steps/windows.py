"""The windows that verdicts are given on: a key's last commits, and a partition's last log ends."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_groups.pipeline.steps.commits import order_of
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, PARTITION_KEY, surely
from kafka_groups.verdicts import Rules

_ORIGINS: Final = ("topic", "sample")


def last_ends(observed: DataFrame, rules: Rules) -> DataFrame:
    """For each observation the last `intervals` log ends of its partition, its own included."""
    ring = Window.partitionBy(*PARTITION_KEY).orderBy("observed_at").rowsBetween(1 - rules.intervals, 0)
    ends = F.collect_list("log_end_offset").over(ring)
    return observed.select(*PARTITION_KEY, "observed_at", ends.alias("ends"))


def last_commits(lags: DataFrame, points: DataFrame, rules: Rules) -> DataFrame:
    """`lags` with `commits`: the last `intervals` commits until then, thinned as `verdicts.thin` has it.

    They are what was read from the topic, and samples where the topic told nothing; a removal begins a new window.
    `points` come from `lag_at_commits`.
    """
    looked = lags.select("*", F.col("observed_at").alias("at"), F.lit(1).alias("kind"))
    # Only commits have slots; observations come in when these are made, for they are as many again.
    events = _in_slots(points, rules).unionByName(looked, allowMissingColumns=True)
    so_far = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at", "kind")).rowsBetween(Window.unboundedPreceding, 0)
    now = F.last("life", ignorenulls=True).over(so_far)
    rings = [
        F.last(F.when(F.col("is_slot") & (F.col("from") == origin), F.struct("life", "ring")), ignorenulls=True)
        .over(so_far)
        .alias(f"by_{origin}")
        for origin in _ORIGINS
    ]
    choices = [F.when(F.col(f"by_{name}.life") == F.col("now"), F.col(f"by_{name}.ring")) for name in _ORIGINS]
    return (
        events.select("*", now.alias("now"), *rings)
        .where(F.col("kind") == 1)
        .select(*lags.columns, F.coalesce(*choices).alias("commits"))
    )


def _in_slots(points: DataFrame, rules: Rules) -> DataFrame:
    """Each commit with the window that ends with it: the slots before its own, and its own as far as it is filled."""
    sequence = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at"))
    removals = F.count(F.when(F.col("tombstone"), 1)).over(sequence.rowsBetween(Window.unboundedPreceding, 0))
    at_ms = F.unix_millis("commit_time")
    one_origin = Window.partitionBy(*COMMIT_KEY, "from")
    slots = (
        points.select(
            *COMMIT_KEY,
            F.col("commit_time").alias("at"),
            F.col("origin").alias("from"),
            "source_offset",
            F.col("committed_offset").alias("offset"),
            "commit_lag",
            "tombstone",
            (~surely(F.col("tombstone"))).alias("is_slot"),
            at_ms.alias("at_ms"),
            F.floor(at_ms / rules.min_distance_ms).alias("bucket"),
        )
        .select("*", removals.alias("life"))
        .select("*", F.dense_rank().over(one_origin.orderBy("life", "bucket")).alias("slot"))
    )
    in_slot = Window.partitionBy(*COMMIT_KEY, "from", "slot").orderBy(*order_of("at"))
    until_here = in_slot.rowsBetween(Window.unboundedPreceding, 0)
    # A removal and the commits before it may share a slot's time, never its life: it is the first of its own life.
    is_last = F.col("is_slot") & F.lead("is_slot").over(in_slot).isNull()
    opened = F.first(F.when(F.col("is_slot"), F.col("at_ms")), ignorenulls=True).over(until_here)
    slots = slots.select("*", is_last.alias("is_last"), opened.alias("opened"))
    entry = F.struct("offset", F.col("opened").alias("at_ms"), F.col("commit_lag").alias("lag"))
    before = one_origin.orderBy("slot").rangeBetween(1 - rules.intervals, -1)
    earlier = F.collect_list(F.when(F.col("is_last"), F.struct("life", entry.alias("entry")))).over(before)
    ring = F.concat(_of_this_life(earlier), F.array(entry))
    return slots.select(
        *COMMIT_KEY, "at", F.lit(0).alias("kind"), "source_offset", "from", "is_slot", "life", ring.alias("ring")
    )


def _of_this_life(slots: Column) -> Column:
    return F.transform(F.filter(slots, lambda slot: slot["life"] == F.col("life")), lambda slot: slot["entry"])
