"""Burrow's verdicts as expressions on windows: the same rules, in the same order, as `burrow_rules`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafka_groups.pipeline.steps.burrow_rules import VERDICTS
from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, surely
from kafka_groups.verdicts import Rules

_GROUP: Final = ("day", "cluster_id", "group")
_GROUP_KEY: Final = (*_GROUP, "evaluated_at")
# A partition that was not observed for longer is not known to be as it was.
FRESH_MS: Final = 600_000
_ERRORS: Final = ("STOP", "STALL", "REWIND")


def partition_status(windows: DataFrame, ends: DataFrame, rules: Rules) -> DataFrame:
    """A verdict for each row of `last_commits`; `ends` come from `last_ends`."""
    window = F.col("window")
    ruled = rule_of(window, F.col("least_end"), F.unix_millis("observed_at"), F.col("lag"), rules)
    return windows.join(ends, [*PARTITION_KEY, "observed_at"], "left").select(
        *COMMIT_KEY,
        F.col("observed_at").alias("evaluated_at"),
        verdict_of(ruled).alias("verdict"),
        ruled.alias("rule"),
        _complete(window, rules).alias("complete"),
        F.timestamp_millis(window["first_ms"]).alias("window_start"),
        F.timestamp_millis(window["last_ms"]).alias("window_end"),
        "lag",
    )


def group_status(partitions: DataFrame, removals: DataFrame) -> DataFrame:
    """The group's row for each time that one of its partitions has one: the worst rule, and the share of complete ones.

    Brokers answer at different times, and one may miss a round. So each partition counts with its last row until its
    next one, for at most ten minutes, and only until its commit is removed. A partition whose log was cut below its
    commit does not make up for what another has still to read. `removals` are (*COMMIT_KEY, at).
    """
    told = partitions.select(
        *COMMIT_KEY,
        "evaluated_at",
        _rank(F.col("rule")).alias("rank"),
        (F.col("complete") >= 1).alias("is_complete"),
        "window_start",
        "window_end",
        "lag",
    )
    # Numbers alone, so that Spark can add them up without sorting.
    summed = (
        _carried(told, removals)
        .groupBy(*_GROUP_KEY)
        .agg(
            F.max("rank").alias("rank"),
            F.avg(F.when(F.col("is_complete"), 1.0).otherwise(0.0)).alias("complete"),
            F.min("window_start").alias("window_start"),
            F.max("window_end").alias("window_end"),
            F.sum(F.when(F.col("lag") < 0, 0).otherwise(F.col("lag"))).alias("lag"),
        )
        .withColumn("rule", F.get(F.array(*map(F.lit, VERDICTS)), F.col("rank")))
        .withColumn("worst", verdict_of(F.col("rule")))
    )
    return summed.select(
        *_GROUP_KEY,
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.when(F.col("worst").isin(*_ERRORS), "ERR").otherwise(F.col("worst")).alias("verdict"),
        "rule",
        "complete",
        "window_start",
        "window_end",
        "lag",
    )


def removals(points: DataFrame) -> DataFrame:
    """Times at which commits were removed, of the day and just before it."""
    at_ms = F.unix_millis("commit_time")
    is_near = at_ms >= F.unix_date("day").cast("long") * DAY_MS - FRESH_MS
    return points.where(F.col("tombstone") & is_near).select(*COMMIT_KEY, F.col("commit_time").alias("at"))


def _carried(partitions: DataFrame, removals: DataFrame) -> DataFrame:
    """Rows of partitions, each once for every time of its group (in `evaluated_at`) at which it counts."""
    ended = removals.select(*COMMIT_KEY, F.col("at").alias("evaluated_at"))
    in_group = Window.partitionBy(*_GROUP)
    # Times are numbered within the group: a row counts from its own number up to the next one of its partition.
    number = F.dense_rank().over(in_group.orderBy("evaluated_at"))
    following = F.lead("number").over(Window.partitionBy(*COMMIT_KEY).orderBy("number", F.desc("rank")))
    numbered = partitions.unionByName(ended, allowMissingColumns=True).select("*", number.alias("number"))
    numbered = numbered.select("*", F.max("number").over(in_group).alias("newest"))
    until = F.greatest(F.col("number"), F.coalesce(F.col("following") - 1, F.col("newest")))
    times = F.explode(F.sequence("number", until)).alias("number")
    spread = (
        numbered.select("*", following.alias("following"))
        .where(F.col("rank").isNotNull())
        .select(*(name for name in partitions.columns), F.col("number").alias("own"), times)
    )
    own_time = F.when(F.col("own") == F.col("number"), F.col("evaluated_at"))
    now = F.max(own_time).over(Window.partitionBy(*_GROUP, "number"))
    is_fresh = F.unix_millis("now") - F.unix_millis("evaluated_at") <= FRESH_MS
    return (
        spread.select("*", now.alias("now"))
        .where(is_fresh)
        .drop("evaluated_at")
        .withColumnRenamed("now", "evaluated_at")
    )


def rule_of(window: Column, least_end: Column, now_ms: Column, lag: Column, rules: Rules) -> Column:
    """The name of the first rule that holds for a window of `last_commits`; `least_end` is of the last log ends."""
    is_silent = now_ms - window["last_ms"] > window["last_ms"] - window["first_ms"]
    return (
        F.when(lag <= rules.allowed_lag, "no_lag")
        .when(window.isNull(), "no_commits")
        .when(_complete(window, rules) < rules.minimum_complete, "incomplete")
        .when(is_silent & ~surely(least_end <= window["offset"]), "stopped")
        .when(window["was_rewound"], "rewound")
        .when(window["were_behind"] & ~window["has_moved"], "stalled")
        .when(window["were_behind"] & ~window["lag_fell"], "falling_behind")
        .otherwise("keeping_up")
    )


def verdict_of(rule: Column) -> Column:
    """The verdict that a rule gives."""
    return _looked_up(rule, {name: F.lit(verdict) for name, verdict in VERDICTS.items()})


def _rank(rule: Column) -> Column:
    return _looked_up(rule, {name: F.lit(place) for place, name in enumerate(VERDICTS)})


def _looked_up(key: Column, values: dict[str, Column]) -> Column:
    return F.coalesce(*(F.when(key == name, value) for name, value in values.items()))


def _complete(window: Column, rules: Rules) -> Column:
    return F.coalesce(window["slots"], F.lit(0)) / F.lit(float(rules.intervals))
