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
    made = points.select(
        *COMMIT_KEY,
        F.col("commit_time").alias("at"),
        F.lit(0).alias("kind"),
        F.col("origin").alias("from"),
        F.col("source_offset"),
        F.col("committed_offset").alias("made_offset"),
        "commit_lag",
        "tombstone",
    )
    events = _in_slots(made.unionByName(looked, allowMissingColumns=True), rules)
    so_far = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at", "kind")).rowsBetween(Window.unboundedPreceding, 0)
    for origin in _ORIGINS:
        own = F.when(F.col("is_slot") & (F.col("from") == origin), F.struct("life", "ring"))
        events = events.withColumn(f"by_{origin}", F.last(own, ignorenulls=True).over(so_far))
    choices = [F.when(F.col(f"by_{name}.life") == F.col("life"), F.col(f"by_{name}.ring")) for name in _ORIGINS]
    return events.where(F.col("kind") == 1).select(*lags.columns, F.coalesce(*choices).alias("commits"))


def _in_slots(events: DataFrame, rules: Rules) -> DataFrame:
    """Each commit with the window that ends with it: the slots before its own, and its own as far as it is filled."""
    sequence = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at", "kind"))
    removals = F.count(F.when(F.col("tombstone"), 1)).over(sequence.rowsBetween(Window.unboundedPreceding, 0))
    one_origin = Window.partitionBy(*COMMIT_KEY, "from")
    slots = (
        events.withColumn("at_ms", F.unix_millis("at"))
        .withColumn("life", removals)
        .withColumn("is_slot", (F.col("kind") == 0) & ~surely(F.col("tombstone")))
        .withColumn("bucket", F.floor(F.col("at_ms") / rules.min_distance_ms))
        .withColumn("slot", F.dense_rank().over(one_origin.orderBy("life", "bucket")))
    )
    one_slot = Window.partitionBy(*COMMIT_KEY, "from", "slot")
    # A removal and the commits before it may share a slot's time, never its life: it is the first of its own life.
    is_last = F.col("is_slot") & F.lead("is_slot").over(one_slot.orderBy(*order_of("at"))).isNull()
    slots = slots.withColumn("opened", F.min(F.when(F.col("is_slot"), F.col("at_ms"))).over(one_slot))
    slots = slots.withColumn("is_last", is_last)
    entry = F.struct(
        F.col("made_offset").alias("offset"), F.col("opened").alias("at_ms"), F.col("commit_lag").alias("lag")
    )
    before = one_origin.orderBy("slot").rangeBetween(1 - rules.intervals, -1)
    earlier = F.collect_list(F.when(F.col("is_last"), F.struct("life", entry.alias("entry")))).over(before)
    return slots.withColumn("ring", F.concat(_of_this_life(earlier), F.array(entry)))


def _of_this_life(slots: Column) -> Column:
    return F.transform(F.filter(slots, lambda slot: slot["life"] == F.col("life")), lambda slot: slot["entry"])
