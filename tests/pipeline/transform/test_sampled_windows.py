"""What samples tell of commits, and log ends of the lag that a commit left."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.burrow_rules import Commit, seen
from kafka_groups.pipeline.steps.commits import commit_points
from kafka_groups.pipeline.steps.horizon import seen_by
from kafka_groups.pipeline.steps.lag import lag, lag_at_commits
from kafka_groups.pipeline.steps.observations import observations
from kafka_groups.pipeline.steps.status import partition_status
from kafka_groups.pipeline.steps.windows import last_commits, last_ends
from kafka_groups.pipeline.tables import OFFSET_COMMITS, PARTITION_OFFSETS
from kafka_groups.verdicts import Rules
from tests.pipeline.fact_rows import NOON, Row, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTE = 60
DAYS = [NOON.date()]
BEFORE = 0.1  # a sample asks for commits first, and for log ends then


def facts(spark: SparkSession, into: Path, commits: list[Row], log_ends: list[Row]) -> tuple[DataFrame, DataFrame]:
    """The points and the observations of the day."""
    storage = new_storage(into)
    put_all(storage, "all", {"offset_commits": commits, "partition_offsets": log_ends})
    points = commit_points(seen_by(storage.read(spark, OFFSET_COMMITS), DAYS, lookback_days=7))
    return points, observations(seen_by(storage.read(spark, PARTITION_OFFSETS), DAYS, lookback_days=7))


def rules_at(spark: SparkSession, into: Path, commits: list[Row], log_ends: list[Row]) -> dict[float, str]:
    """The rule that fired, by minutes since noon."""
    points, observed = facts(spark, into, commits, log_ends)
    rules = Rules()
    windows = last_commits(lag(observed, points, since_ms=0), lag_at_commits(points, observed), rules)
    rows = partition_status(windows, last_ends(observed, rules), rules).collect()
    return {
        (row["evaluated_at"].replace(tzinfo=NOON.tzinfo) - NOON) / timedelta(minutes=1): row["rule"] for row in rows
    }


def lags_left(spark: SparkSession, into: Path, commits: list[Row], log_ends: list[Row]) -> list[int | None]:
    points, observed = facts(spark, into, commits, log_ends)
    return [row["commit_lag"] for row in lag_at_commits(points, observed).orderBy("commit_time").collect()]


@pytest.mark.spark
def test_a_commit_leaves_the_lag_to_the_log_end_of_its_own_time(spark: SparkSession, tmp_path: Path) -> None:
    commits = [commit(seconds, 10, source=place) for place, seconds in enumerate((-30, 0, 15, 45, 60, 90, 150))]
    log_ends = [ends(0, 100), ends(60, 160), ends(120, 40), ends(180, 70)]

    # Nothing was seen before the first; from the second minute on it is another log, and its growth starts there.
    assert lags_left(spark, tmp_path, commits, log_ends) == [None, 90, 105, 135, 150, 150, 45]


@pytest.mark.spark
def test_a_group_that_falls_behind_is_told_though_it_commits_more_often_than_it_is_sampled(
    spark: SparkSession, tmp_path: Path
) -> None:
    commits = [commit(5 * place, 60 * place, source=place) for place in range(1, 60)]
    log_ends = [ends(MINUTE * minute, 60 * MINUTE * minute) for minute in range(6)]

    found = rules_at(spark, tmp_path, commits, log_ends)

    assert [found[minute] for minute in (1, 2, 3, 4)] == ["falling_behind"] * 4


@pytest.mark.spark
def test_a_first_sample_calls_nobody_stopped_and_after_ten_minutes_it_does(spark: SparkSession, tmp_path: Path) -> None:
    commits = [commit(MINUTE * minute - BEFORE, 10) for minute in range(13)]
    log_ends = [ends(MINUTE * minute, 50) for minute in range(13)]

    found = rules_at(spark, tmp_path, commits, log_ends)

    assert [found[minute] for minute in range(10)] == ["no_commits"] * 10
    assert [found[minute] for minute in (10, 11, 12)] == ["stopped"] * 3


@pytest.mark.spark
def test_a_group_that_ended_is_stopped_though_samples_go_on(spark: SparkSession, tmp_path: Path) -> None:
    commits = [commit(MINUTE * minute - BEFORE, 10 * min(minute, 5)) for minute in range(25)]
    log_ends = [ends(MINUTE * minute, 1_000 + 20 * minute) for minute in range(25)]

    found = rules_at(spark, tmp_path, commits, log_ends)

    assert [found[minute] for minute in range(1, 10)] == ["falling_behind"] * 9
    assert {found[minute] for minute in range(10, 25)} == {"stopped"}


def test_samples_tell_of_a_commit_when_they_first_see_it() -> None:
    samples = [Commit(offset, at_ms, None) for at_ms, offset in enumerate((7, 7, 8, 8, 7, 9))]

    assert [(each.offset, each.at_ms) for each in seen(samples, 5)] == [(7, 0), (8, 2), (7, 4), (9, 5)]


@pytest.mark.parametrize(("now_ms", "commits"), [(600_000, 0), (600_001, 1)])
def test_what_never_moved_is_a_commit_after_ten_minutes(now_ms: int, commits: int) -> None:
    assert len(seen([Commit(7, 0, None), Commit(7, 60_000, None)], now_ms)) == commits


def test_no_samples_tell_nothing() -> None:
    assert seen([], 0) == []
