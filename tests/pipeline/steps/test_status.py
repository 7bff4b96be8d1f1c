"""The Spark step says what the pure rules say."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.verdicts import Commit, Rules, Window, judge, judge_group, thin
from tests.pipeline.steps.verdict_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
COMMIT = "struct<offset: bigint, at_ms: bigint, lag: bigint>"
SHAPE = f"id int, commits array<{COMMIT}>, ends array<bigint>, now_ms bigint, lag bigint"


def row_of(place: int, window: Window) -> tuple[Any, ...]:
    commits = [(commit.offset, commit.at_ms, commit.lag) for commit in window.commits]
    return (place, commits, list(window.ends), window.now_ms, window.current_lag)


def rules_by_spark(spark: SparkSession, windows: list[Window], rules: Rules) -> list[str]:
    from pyspark.sql import functions as F  # noqa: N812

    from kafka_groups.pipeline.steps.status import rule_of

    rows = spark.createDataFrame([row_of(place, window) for place, window in enumerate(windows)], SHAPE)
    rule = rule_of(F.col("commits"), F.col("ends"), F.col("now_ms"), F.col("lag"), rules)
    return [row["rule"] for row in rows.select("id", rule.alias("rule")).orderBy("id").collect()]


def some_window(chance: random.Random) -> Window:
    times = sorted(chance.sample(range(40_000), chance.randint(0, 5)))
    commits = [Commit(chance.randint(0, 6), at_ms, chance.choice((None, 0, 1, 2, 3, 6))) for at_ms in times]
    now = (times[-1] if times else 0) + chance.choice((0, 1, 20_000, 90_000))
    return Window(
        commits, [chance.randint(0, 9) for _ in range(chance.randint(0, 3))], now, chance.choice((None, -1, 0, 1, 9))
    )


@pytest.mark.parametrize("rules", sorted({case.rules for case in CASES}, key=str), ids=str)
def test_spark_calls_the_windows_of_the_table_and_any_other_what_the_rules_call_them(
    spark: SparkSession, rules: Rules
) -> None:
    chance = random.Random(20261120)
    windows = [case.window for case in CASES if case.rules == rules] + [some_window(chance) for _ in range(1_500)]

    assert rules_by_spark(spark, windows, rules) == [judge(window, rules).rule for window in windows]


def test_windows_cut_from_a_log_of_commits_are_those_of_the_rules(spark: SparkSession) -> None:
    """Thinning, removals, what was known when, and topic before samples: against a walk over the same commits."""
    from pyspark.sql import functions as F  # noqa: N812

    from kafka_groups.pipeline.steps.status import group_status, partition_status
    from kafka_groups.pipeline.steps.windows import last_commits, last_ends

    chance, rules = random.Random(7), Rules(intervals=4, min_distance_ms=1_000)
    points, looks, logs = [], [], []
    for partition in range(12):
        times = sorted(chance.sample(range(60_000), 25))
        for place, at_ms in enumerate(times):
            origin = "topic" if partition % 3 and place % 4 else "sample"
            removed = origin == "topic" and chance.random() < 0.1
            points.append(
                (
                    partition,
                    origin,
                    at_ms,
                    place,
                    None if removed else chance.randint(0, 40),
                    removed,
                    chance.choice((None, 0, 3, 5)),
                )
            )
        for at_ms in range(5_000, 80_000, 5_000):
            logs.append((partition, at_ms, chance.randint(20, 60)))
            looks.append((partition, at_ms, chance.choice((0, 1, 9))))
    key = [
        F.lit("2026-11-20").cast("date").alias("day"),
        *(F.lit(name[0]).alias(name) for name in ("cluster_id", "group", "topic")),
    ]
    made = spark.createDataFrame(
        points,
        "partition int, origin string, at bigint, source_offset bigint, committed_offset bigint, "
        "tombstone boolean, commit_lag bigint",
    )
    made = made.select(*key, "*", F.timestamp_millis("at").alias("commit_time")).drop("at")
    looked = (
        spark.createDataFrame(looks, "partition int, at bigint, lag bigint")
        .select(*key, "*", F.timestamp_millis("at").alias("observed_at"))
        .drop("at")
    )
    observed = (
        spark.createDataFrame(logs, "partition int, at bigint, log_end_offset bigint")
        .select(*key, "*", F.timestamp_millis("at").alias("observed_at"))
        .drop("at", "group")
    )

    partitions = partition_status(last_commits(looked, made, rules), last_ends(observed, rules), rules)
    removals = made.where("tombstone").withColumnRenamed("commit_time", "at")
    both = partitions.unionByName(group_status(partitions, removals))
    rows = both.withColumn("at", F.unix_millis("evaluated_at")).collect()

    found = {(row["partition"], row["at"]): (row["verdict"], row["rule"], row["complete"]) for row in rows}
    expected = {}
    for partition, now, lag in looks:
        before = [point for point in points if point[0] == partition and point[2] <= now]
        removed_at = max((place for place, point in enumerate(before) if point[5]), default=-1)
        life = before[removed_at + 1 :]
        chosen = [point for point in life if point[1] == "topic"] or life
        thinned = thin([Commit(offset, at_ms, left) for _, _, at_ms, _, offset, _, left in chosen], 1_000)
        ends = [end for where, at_ms, end in logs if where == partition and at_ms <= now]
        expected[partition, now] = judge(Window(thinned[-4:], ends[-4:], now, lag), rules)
    for now in sorted({now for _, now, _ in looks}):
        expected[None, now] = judge_group(
            verdict for (where, at_ms), verdict in expected.items() if at_ms == now and where is not None
        )
    assert found == {where: tuple(asdict(verdict).values()) for where, verdict in expected.items()}
    assert len({rule for _, rule, _ in found.values()}) > 4
