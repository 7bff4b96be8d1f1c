"""Burrow's verdicts as expressions on windows: the same rules, in the same order, as `kafka_groups.verdicts`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from kafka_groups.pipeline.steps.horizon import COMMIT_KEY, DAY_MS, PARTITION_KEY, surely
from kafka_groups.verdicts import VERDICTS, Rules

_GROUP: Final = ("day", "cluster_id", "group")
_GROUP_KEY: Final = (*_GROUP, "evaluated_at")
# A partition that was not observed for longer is not known to be as it was.
FRESH_MS: Final = 600_000
_ERRORS: Final = ("STOP", "STALL", "REWIND")


def partition_status(windows: DataFrame, ends: DataFrame, rules: Rules) -> DataFrame:
    """A verdict for each row of `last_commits`; `ends` come from `last_ends`."""
    ruled = rule_of(F.col("commits"), F.col("ends"), F.unix_millis("observed_at"), F.col("lag"), rules)
    return windows.join(ends, [*PARTITION_KEY, "observed_at"], "left").select(
        *COMMIT_KEY,
        F.col("observed_at").alias("evaluated_at"),
        verdict_of(ruled).alias("verdict"),
        ruled.alias("rule"),
        _complete(F.col("commits"), rules).alias("complete"),
        F.timestamp_millis(F.get("commits", F.lit(0))["at_ms"]).alias("window_start"),
        F.timestamp_millis(_last(F.col("commits"))["at_ms"]).alias("window_end"),
        "lag",
    )


def group_status(partitions: DataFrame, removals: DataFrame) -> DataFrame:
    """The group's row for each time that one of its partitions has one: the worst rule, and the share of complete ones.

    Brokers answer at different times, and one may miss a round. So each partition counts with its last row until its
    next one, for at most ten minutes, and only until its commit is removed. `removals` are (*COMMIT_KEY, at).
    """
    counted = _carried(partitions, removals)
    worst = F.max(F.struct(_rank(F.col("rule")).alias("rank"), "rule", "verdict")).alias("worst")
    is_complete = F.avg(F.when(F.col("complete") >= 1, 1.0).otherwise(0.0)).alias("complete")
    summed = counted.groupBy(*_GROUP_KEY).agg(
        worst,
        is_complete,
        F.min("window_start").alias("window_start"),
        F.max("window_end").alias("window_end"),
        F.sum("lag").alias("lag"),
    )
    verdict = F.when(F.col("worst.verdict").isin(*_ERRORS), "ERR").otherwise(F.col("worst.verdict"))
    return summed.select(
        *_GROUP_KEY,
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        verdict.alias("verdict"),
        "worst.rule",
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
    following = F.lead("number").over(Window.partitionBy(*COMMIT_KEY).orderBy("number", F.desc("rule")))
    numbered = partitions.unionByName(ended, allowMissingColumns=True).select("*", number.alias("number"))
    numbered = numbered.select("*", F.max("number").over(in_group).alias("newest"))
    until = F.greatest(F.col("number"), F.coalesce(F.col("following") - 1, F.col("newest")))
    times = F.explode(F.sequence("number", until)).alias("number")
    spread = (
        numbered.select("*", following.alias("following"))
        .where(F.col("rule").isNotNull())
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


def rule_of(commits: Column, ends: Column, now_ms: Column, lag: Column, rules: Rules) -> Column:
    """The name of the first rule that holds. Each commit is a struct of offset, at_ms and lag; ascending in time."""
    lags = F.filter(F.transform(commits, lambda commit: commit["lag"]), lambda value: value.isNotNull())
    were_behind = F.forall(lags, lambda value: value > rules.allowed_lag)
    return (
        F.when(F.coalesce(F.size(commits), F.lit(0)) == 0, "no_commits")
        .when(_complete(commits, rules) < rules.minimum_complete, "incomplete")
        .when(lag <= rules.allowed_lag, "no_lag")
        .when(_has_stopped(commits, ends, now_ms), "stopped")
        .when(_was_rewound(commits), "rewound")
        .when(were_behind & F.forall(commits, lambda commit: commit["offset"] == _first(commits)["offset"]), "stalled")
        .when(
            were_behind & ~F.exists(_with_previous(lags), lambda pair: pair["value"] < pair["previous"]),
            "falling_behind",
        )
        .otherwise("keeping_up")
    )


def verdict_of(rule: Column) -> Column:
    """The verdict that a rule gives."""
    return _looked_up(rule, {name: F.lit(verdict) for name, verdict in VERDICTS.items()})


def _rank(rule: Column) -> Column:
    return _looked_up(rule, {name: F.lit(place) for place, name in enumerate(VERDICTS)})


def _looked_up(key: Column, values: dict[str, Column]) -> Column:
    return F.coalesce(*(F.when(key == name, value) for name, value in values.items()))


def _first(commits: Column) -> Column:
    return F.get(commits, F.lit(0))


def _last(commits: Column) -> Column:
    return F.get(commits, F.size(commits) - 1)


def _complete(commits: Column, rules: Rules) -> Column:
    return F.least(F.lit(1.0), F.coalesce(F.size(commits), F.lit(0)) / F.lit(float(rules.intervals)))


def _has_stopped(commits: Column, ends: Column, now_ms: Column) -> Column:
    first, last = _first(commits), _last(commits)
    is_silent = now_ms - last["at_ms"] > last["at_ms"] - first["at_ms"]
    return is_silent & ~surely(F.exists(ends, lambda end: end <= last["offset"]))


def _was_rewound(commits: Column) -> Column:
    offsets = _with_previous(F.transform(commits, lambda commit: commit["offset"]))
    fall = F.get(F.filter(offsets, lambda pair: pair["value"] < pair["previous"]), F.lit(0))
    came_back = F.exists(offsets, lambda pair: (pair["place"] > fall["place"]) & (pair["value"] >= fall["previous"]))
    return fall.isNotNull() & ~surely(came_back)


def _with_previous(values: Column) -> Column:
    """Each value with its place and the one before it; the first one, which has none, is left out."""
    pairs = F.transform(
        values,
        lambda value, place: F.struct(
            place.alias("place"), value.alias("value"), F.get(values, place - 1).alias("previous")
        ),
    )
    return F.filter(pairs, lambda pair: pair["place"] > 0)
