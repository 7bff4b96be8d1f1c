"""The Spark step says what the pure rules say."""

from __future__ import annotations

import random
from dataclasses import asdict, astuple, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kafka_groups.pipeline.steps.burrow_rules import Commit, Verdict, Window, judge, judge_group, seen, thin
from kafka_groups.verdicts import Rules
from tests.pipeline.steps.verdict_cases import CASES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
Where = tuple[int | None, int]  # partition (None: of the group) and time


def log_of(windows: list[Window]) -> Log:
    """A log that has each window on a partition of its own."""
    log = Log([], [], [])
    for partition, window in enumerate(windows):
        for place, each in enumerate(window.commits):
            log.points.append((partition, "topic", each.at_ms, place, each.offset, False, each.lag))
        for place, end in enumerate(reversed(window.ends)):
            log.ends.append((partition, window.now_ms - place, end))
        log.looks.append((partition, window.now_ms, window.current_lag))
    return log


def some_window(chance: random.Random, most: int) -> Window:
    times = sorted(chance.sample(range(40_000), chance.randint(0, most)))
    commits = [Commit(chance.randint(0, 6), at_ms, chance.choice((None, 0, 1, 2, 3, 6))) for at_ms in times]
    now = (times[-1] if times else 0) + chance.choice((0, 1, 20_000, 90_000))
    return Window(
        commits, [chance.randint(0, 9) for _ in range(chance.randint(0, most))], now, chance.choice((None, -1, 0, 1, 9))
    )


ONE, TWO = Rules(intervals=1), Rules(intervals=2, allowed_lag=2)


@pytest.mark.parametrize("rules", [*sorted({case.rules for case in CASES}, key=str), ONE, TWO], ids=str)
def test_spark_calls_the_windows_of_the_table_and_any_other_what_the_rules_call_them(
    spark: SparkSession, rules: Rules
) -> None:
    chance = random.Random(20261120)
    windows = [case.window for case in CASES if case.rules == rules]
    windows += [some_window(chance, rules.intervals) for _ in range(1_500)]

    found = judged_by_spark(spark, log_of(windows), replace(rules, min_distance_ms=1), of_groups=False)

    expected = {(place, window.now_ms): judge(window, rules) for place, window in enumerate(windows)}
    assert found == {where: astuple(verdict) for where, verdict in expected.items()}


class Log(NamedTuple):
    """What happened on some partitions: commits, times that are looked at, and log ends."""

    points: list[tuple[int, str, int, int, int | None, bool, int | None]]
    looks: list[tuple[int, int, int | None]]
    ends: list[tuple[int, int, int]]


def some_log(chance: random.Random) -> Log:
    log = Log([], [], [])
    for partition in range(12):
        for place, at_ms in enumerate(sorted(chance.sample(range(60_000), 25))):
            origin = "topic" if partition % 3 and place % 4 else "sample"
            removed = origin == "topic" and chance.random() < 0.1
            offset = None if removed else chance.randint(0, 40)
            log.points.append((partition, origin, at_ms, place, offset, removed, chance.choice((None, 0, 3, 5))))
        for at_ms in range(5_000, 80_000, 5_000):
            log.ends.append((partition, at_ms, chance.randint(20, 60)))
            log.looks.append((partition, at_ms, chance.choice((0, 1, 9))))
    return log


def frame(spark: SparkSession, rows: list[Any], schema: str, time: str) -> DataFrame:
    """Rows of one group and day, whose `at` is the time of that name."""
    from pyspark.sql import functions as F

    names = (F.lit(name[0]).alias(name) for name in ("cluster_id", "group", "topic"))
    key = [F.lit("2026-11-20").cast("date").alias("day"), *names]
    made = spark.createDataFrame(rows, f"partition int, {schema}")
    return made.select(*key, "*", F.timestamp_millis("at").alias(time)).drop("at")


def judged_by_spark(
    spark: SparkSession, log: Log, rules: Rules, *, of_groups: bool = True
) -> dict[Where, tuple[Any, ...]]:
    from pyspark.sql import functions as F

    from kafka_groups.pipeline.steps.status import group_status, partition_status
    from kafka_groups.pipeline.steps.windows import last_commits, last_ends

    schema = "origin string, at bigint, source_offset bigint, committed_offset bigint, tombstone boolean, "
    made = frame(spark, log.points, schema + "commit_lag bigint", "commit_time")
    looked = frame(spark, log.looks, "at bigint, lag bigint", "observed_at")
    observed = (
        frame(spark, log.ends, "at bigint, log_end_offset bigint", "observed_at")
        .drop("group")
        .withColumn("log", F.lit(0))
    )
    partitions = partition_status(last_commits(looked, made, rules), last_ends(observed, rules), rules)
    removals = made.where("tombstone").withColumnRenamed("commit_time", "at")
    both = partitions.unionByName(group_status(partitions, removals)) if of_groups else partitions
    rows = both.withColumn("at", F.unix_millis("evaluated_at")).collect()
    return {(row["partition"], row["at"]): (row["verdict"], row["rule"], row["complete"]) for row in rows}


def is_ahead(sampled: list[Commit], read: list[Commit], rules: Rules) -> bool:
    """Whether samples saw a later offset since the last commit that was read."""
    moves = [next(equal) for _, equal in groupby(sampled, key=lambda commit: commit.offset)]
    if not moves:
        return False
    newest, last = (thin(commits, rules.min_distance_ms)[-1] for commits in (moves, read))
    return newest.offset > last.offset and newest.at_ms > last.at_ms


def judged_by_walking(log: Log, rules: Rules) -> dict[Where, Verdict]:
    found: dict[Where, Verdict] = {}
    for partition, now, lag in log.looks:
        before = [point for point in log.points if point[0] == partition and point[2] <= now]
        removed_at = max((place for place, point in enumerate(before) if point[5]), default=-1)
        life = before[removed_at + 1 :]
        read, sampled = (
            [
                Commit(offset, at_ms, left)
                for _, of, at_ms, _, offset, _, left in life
                if of == origin and offset is not None
            ]
            for origin in ("topic", "sample")
        )
        commits = seen(sampled, now) if not read or is_ahead(sampled, read, rules) else read
        ends = [end for where, at_ms, end in log.ends if where == partition and at_ms <= now]
        window = Window(thin(commits, rules.min_distance_ms)[-4:], ends[-4:], now, lag)
        found[partition, now] = judge(window, rules)
    for now in sorted({now for _, now, _ in log.looks}):
        found[None, now] = judge_group(
            verdict for (where, at_ms), verdict in found.items() if at_ms == now and where is not None
        )
    return found


def test_windows_cut_from_a_log_of_commits_are_those_of_the_rules(spark: SparkSession) -> None:
    """Thinning, removals, what was known when, and topic before samples: against a walk over the same commits."""
    log, rules = some_log(random.Random(7)), Rules(intervals=4, min_distance_ms=1_000)

    found = judged_by_spark(spark, log, rules)

    expected = judged_by_walking(log, rules)
    assert found == {where: tuple(asdict(verdict).values()) for where, verdict in expected.items()}
    assert len({rule for _, rule, _ in found.values()}) > 4
