"""The windows that verdicts are given on: what rules ask of a key's last commits, and of a partition's last log ends.

A window is told by what the rules need of it, not by its commits: ten commits for every commit would be ten times the
work. Where a field tells of neighbours, both are in the window.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.burrow_rules import UNMOVED_MS
from kafka_groups.pipeline.steps.commits import order_of
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, PARTITION_KEY, surely
from kafka_groups.verdicts import Rules

_ORIGINS: Final = ("topic", "sample")
# Further than that no two clocks of a cluster should be apart.
_APART_MS: Final = 60_000
# Slots of one origin and one life: a removal ends a life, and no window reaches across it.
_LIFE: Final = (*COMMIT_KEY, "from", "life")
_ENTRY: Final = (*_LIFE, "at", "source_offset", "at_ms", "bucket", "offset", "commit_lag", "is_move")


def last_ends(observed: DataFrame, rules: Rules) -> DataFrame:
    """For each observation the least of the last `intervals` log ends of its partition, its own included.

    A log that was made anew has other ends.
    """
    ring = Window.partitionBy(*PARTITION_KEY, "log").orderBy("observed_at").rowsBetween(1 - rules.intervals, 0)
    return observed.select(*PARTITION_KEY, "observed_at", F.min("log_end_offset").over(ring).alias("least_end"))


def last_commits(lags: DataFrame, points: DataFrame, rules: Rules) -> DataFrame:
    """`lags` with `window`: of the last `intervals` commits until then, as `burrow_rules` has it.

    They are what was read from the topic, and samples where the topic told nothing, or nothing since samples saw
    another offset (ingest may be behind); a removal begins a new window.
    `points` come from `lag_at_commits`. A window has `slots` (how many are filled), `first_ms` and `last_ms`, the last
    `offset`, and tells whether the commits `were_behind`, whether none `has_moved` the offset, whether a `lag_fell`,
    and whether the group `was_rewound` (`is_move` is for samples). It is null where there is no commit.
    """
    looked = lags.select("*", F.col("observed_at").alias("at"), F.lit(1).alias("kind"))
    events = _in_windows(points, rules).unionByName(looked, allowMissingColumns=True)
    so_far = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at", "kind")).rowsBetween(Window.unboundedPreceding, 0)
    now = F.last("life", ignorenulls=True).over(so_far)
    rings = [
        F.last(F.when(F.col("from") == origin, F.struct("life", "window")), ignorenulls=True)
        .over(so_far)
        .alias(f"by_{origin}")
        for origin in _ORIGINS
    ]
    read, sampled = (F.when(F.col(f"by_{name}.life") == F.col("now"), F.col(f"by_{name}.window")) for name in _ORIGINS)
    # What stood there when sampling began may have been committed at any time before.
    stood_ms = F.unix_millis("observed_at") - sampled["last_ms"]
    is_told = sampled["is_move"] | (stood_ms > UNMOVED_MS)
    since_ms = sampled["last_ms"] - read["last_ms"]
    # A clock that is ahead makes an old sample look new, but it cannot make its offset higher.
    is_ahead = (sampled["offset"] > read["offset"]) & (since_ms > 0)
    is_behind = is_ahead | ((sampled["offset"] != read["offset"]) & (since_ms > _APART_MS))
    told = F.when(is_told, sampled)
    return (
        events.select("*", now.alias("now"), *rings)
        .where(F.col("kind") == 1)
        .select(*lags.columns, F.when(surely(is_behind), told).otherwise(F.coalesce(read, told)).alias("window"))
    )


def _in_windows(points: DataFrame, rules: Rules) -> DataFrame:
    """Each commit with the window that ends with it, and each removal with the life that begins."""
    entries = _entries(points, rules)
    made = _with_windows(_slots(entries.where("is_entry").select(*_ENTRY)), rules)
    removed = entries.where("tombstone").select(*COMMIT_KEY, "at", "source_offset", "life")
    return made.unionByName(removed, allowMissingColumns=True).withColumn("kind", F.lit(0))


def _entries(points: DataFrame, rules: Rules) -> DataFrame:
    """Commits in their lives; of samples only those that saw another offset than the one before."""
    before = Window.partitionBy(*COMMIT_KEY).orderBy(*order_of("at"))
    at_ms = F.unix_millis("commit_time")
    is_sample = F.col("from") == "sample"
    numbered = points.select(
        *COMMIT_KEY,
        F.col("commit_time").alias("at"),
        F.col("origin").alias("from"),
        "source_offset",
        F.col("committed_offset").alias("offset"),
        "commit_lag",
        surely(F.col("tombstone")).alias("tombstone"),
        at_ms.alias("at_ms"),
        F.floor(at_ms / rules.min_distance_ms).alias("bucket"),
    ).select(
        "*",
        F.count(F.when(F.col("tombstone"), 1)).over(before.rowsBetween(Window.unboundedPreceding, 0)).alias("life"),
    )
    sample = F.when(is_sample & ~F.col("tombstone"), F.struct("life", "offset"))
    seen = F.last(sample, ignorenulls=True).over(before.rowsBetween(Window.unboundedPreceding, -1))
    is_move = is_sample & surely(F.col("seen.life") == F.col("life"))
    is_same = is_move & surely(F.col("seen.offset") == F.col("offset"))
    return numbered.select("*", seen.alias("seen")).select(
        "*", is_move.alias("is_move"), (~F.col("tombstone") & ~is_same).alias("is_entry")
    )


def _slots(entries: DataFrame) -> DataFrame:
    """Commits with the number of their `slot`, and when it `opened`; the last of a slot `is_last`."""
    in_time = Window.partitionBy(*_LIFE).orderBy("at", "source_offset")
    so_far = in_time.rowsBetween(Window.unboundedPreceding, 0)
    opens = ~surely(F.lag("bucket").over(in_time) == F.col("bucket"))
    closes = ~surely(F.lead("bucket").over(in_time) == F.col("bucket"))
    marked = entries.select("*", opens.alias("is_first"), closes.alias("is_last"))
    return marked.select(
        "*",
        F.count(F.when(F.col("is_first"), 1)).over(so_far).alias("slot"),
        F.last(F.when(F.col("is_first"), F.col("at_ms")), ignorenulls=True).over(so_far).alias("opened"),
    )


def _with_windows(slots: DataFrame, rules: Rules) -> DataFrame:
    """`window` of each commit: the slots before its own in full, and its own as far as it is filled."""
    in_time = Window.partitionBy(*_LIFE).orderBy("at", "source_offset").rowsBetween(Window.unboundedPreceding, -1)
    is_last = F.col("is_last")
    offset = F.when(is_last, F.struct("slot", "offset"))
    lag = F.when(is_last & F.col("commit_lag").isNotNull(), F.struct("slot", "commit_lag"))
    beside = slots.select(
        "*",
        F.last(offset, ignorenulls=True).over(in_time).alias("previous"),
        F.last(lag, ignorenulls=True).over(in_time).alias("previous_lag"),
    )
    oldest = F.col("slot") - (rules.intervals - 1)
    return beside.select("*", *_of_slots_before(rules.intervals)).select(
        *COMMIT_KEY, "at", "source_offset", "from", "life", _window(oldest, rules).alias("window")
    )


def _of_slots_before(intervals: int) -> list[Column]:
    """What the earlier slots of each commit's window say, each as it was in the end."""
    in_order = Window.partitionBy(*_LIFE).orderBy("slot")

    def over(found: Column, first: int) -> Column:
        return found.over(in_order.rangeBetween(first, -1)) if first < 0 else F.lit(None)

    is_last, slot = F.col("is_last"), F.col("slot")
    told = {
        "filled": F.count(F.when(is_last, 1)),
        "first_ms": F.min(F.when(is_last, F.col("opened"))),
        "lowest": F.min(F.when(is_last, F.col("offset"))),
        "highest": F.max(F.when(is_last, F.struct("offset", "slot"))),
        "least_lag": F.min(F.when(is_last, F.col("commit_lag"))),
        "lag_fell_from": F.max(F.when(is_last & _lag_fell(), F.col("previous_lag.slot"))),
    }
    columns = [over(found, 1 - intervals).alias(name) for name, found in told.items()]
    # The first slot of the window has its neighbour outside.
    fell = F.min(F.when(is_last & _fell(), slot))
    return [*columns, over(fell, 2 - intervals).alias("fell_at")]


def _window(oldest: Column, rules: Rules) -> Column:
    is_alone = F.coalesce("filled", F.lit(0)) == 0
    highest = F.greatest("highest", F.struct("offset", "slot"))
    has_moved = F.least("lowest", "offset") != highest["offset"]
    least_lag = F.least("least_lag", "commit_lag")
    lag_fell = surely(F.col("lag_fell_from") >= oldest) | surely(_lag_fell() & (F.col("previous_lag.slot") >= oldest))
    # Up to the first fall offsets only rise: it was made good if the last of the highest ones comes after it.
    fell_at = F.coalesce("fell_at", F.when(~is_alone & _fell(), F.col("slot")))
    return F.struct(
        (F.coalesce("filled", F.lit(0)) + 1).alias("slots"),
        F.coalesce("first_ms", "opened").alias("first_ms"),
        F.col("opened").alias("last_ms"),
        F.col("offset"),
        F.coalesce(least_lag > rules.allowed_lag, F.expr("true")).alias("were_behind"),
        has_moved.alias("has_moved"),
        lag_fell.alias("lag_fell"),
        surely(highest["slot"] <= fell_at).alias("was_rewound"),
        F.col("is_move"),
    )


def _fell() -> Column:
    return surely(F.col("offset") < F.col("previous.offset"))


def _lag_fell() -> Column:
    return surely(F.col("commit_lag") < F.col("previous_lag.commit_lag"))
