"""What is left out of the days before a date changes none of its rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.commits import commit_points
from kafka_groups.pipeline.steps.days import key_days
from kafka_groups.pipeline.steps.history import seen_commits
from kafka_groups.pipeline.steps.horizon import seen_by
from kafka_groups.pipeline.steps.lag import lag, lag_at_commits
from kafka_groups.pipeline.steps.observations import observations
from kafka_groups.pipeline.steps.status import removals
from kafka_groups.pipeline.steps.windows import last_commits
from kafka_groups.pipeline.tables import OFFSET_COMMITS, PARTITION_OFFSETS
from kafka_groups.verdicts import Rules
from tests.pipeline.fact_rows import NOON, Row, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
HOUR = 3_600
DAY = 24 * HOUR
DAYS = [NOON.date(), NOON.date() + timedelta(days=1)]
LOOKBACK = 3


def a_key(chance: random.Random, group: str) -> Iterator[Row]:
    """A life of some days: stretches of commits, of standing still, of samples, with removals and holes between."""
    now, offset, source = -4.5 * DAY, 100, chance.randrange(1_000) * 10_000
    while now < 1.5 * DAY:
        kind = chance.choice(["records", "samples", "both", "still", "still", "hole", "removal"])
        length = chance.expovariate(1 / 8)
        every = chance.choice([20, 300, 2_000, 7_000])
        until = now + length * HOUR
        most = 60
        while now < until and most and kind != "hole":
            most -= 1
            now += every * chance.choice([0.01, 1, 1, 2])
            source += 1
            offset += 0 if kind == "still" else chance.choice([0, 1, 1, 5, -3])
            if kind in {"records", "both"}:
                yield commit(now, offset, source=source, group=group)
            if kind in {"samples", "both", "still"}:
                yield commit(now, offset, group=group)
            if kind == "removal":
                yield commit(now, None, source=source, group=group)
                break
        now = max(now, until)


def rows_from(commits: DataFrame, observed: DataFrame, rules: Rules) -> dict[str, list[str]]:
    """All that is made of commits for the two days."""
    points = commit_points(commits).localCheckpoint()
    lags = lag(observed, points, since_ms=600_000)
    made = {
        "lag": lags,
        "windows": last_commits(lags, lag_at_commits(points, observed), rules),
        "key_days": key_days(points),
        "removals": removals(points),
    }
    return {name: sorted(map(str, rows.collect())) for name, rows in made.items()}


@pytest.mark.parametrize("rules", [Rules(), Rules(intervals=3, min_distance_ms=60_000)])
def test_rows_of_a_date_are_the_same_without_the_commits_that_it_does_not_need(
    spark: SparkSession, tmp_path: Path, rules: Rules
) -> None:
    chance, storage = random.Random(rules.intervals), new_storage(tmp_path)
    commits = [row for number in range(40) for row in a_key(chance, f"g{number}")]
    log_ends = [ends(seconds, int(seconds + 5 * DAY) // 500) for seconds in range(-5 * DAY, 2 * DAY, 5 * HOUR // 2)]
    put_all(storage, "all", {"offset_commits": commits, "partition_offsets": log_ends})
    read = storage.read(spark, OFFSET_COMMITS)
    seen = seen_by(storage.read(spark, PARTITION_OFFSETS), DAYS, lookback_days=LOOKBACK)
    observed = observations(seen).localCheckpoint()

    whole = seen_by(read, DAYS, lookback_days=LOOKBACK)
    needed = seen_commits(read, DAYS, lookback_days=LOOKBACK, rules=rules)

    found, expected = rows_from(needed, observed, rules), rows_from(whole, observed, rules)
    assert {name: len(rows) for name, rows in found.items()} == {name: len(rows) for name, rows in expected.items()}
    for name, rows in expected.items():
        assert found[name] == rows


def test_what_stands_after_a_removal_is_not_the_last_change(spark: SparkSession, tmp_path: Path) -> None:
    storage, rules = new_storage(tmp_path), Rules(intervals=1)
    offsets = {-40: 5, -36: 6, -32: 6, -28: 6, -27.9: None, -24: 7, -20: 7, -16: 7}
    commits = [commit(hours * HOUR, offset, source=9 if offset is None else None) for hours, offset in offsets.items()]
    put_all(storage, "all", {"offset_commits": commits})

    needed = seen_commits(storage.read(spark, OFFSET_COMMITS), DAYS[:1], lookback_days=LOOKBACK, rules=rules)

    changed = key_days(commit_points(needed)).collect()[0]["last_commit_time"]
    assert changed.replace(tzinfo=NOON.tzinfo) == NOON + timedelta(hours=-36)


def test_of_a_busy_past_some_hours_are_left_and_of_a_quiet_one_its_change_and_both_ends(
    spark: SparkSession, tmp_path: Path
) -> None:
    storage = new_storage(tmp_path)
    minutes = range(-3 * DAY, 0, 60)
    busy = [commit(seconds, seconds + 10 * DAY, source=seconds + 10 * DAY, group="busy") for seconds in minutes]
    quiet = [commit(seconds, int(seconds > -2 * DAY), group="quiet") for seconds in minutes]
    put_all(storage, "all", {"offset_commits": [*busy, *quiet]})

    needed = seen_commits(storage.read(spark, OFFSET_COMMITS), [NOON.date()], lookback_days=LOOKBACK, rules=Rules())

    times: dict[str, list[date]] = {"busy": [], "quiet": []}
    for row in needed.select("group", "commit_time").collect():
        times[row["group"]].append(row["commit_time"])
    # Noon back to midnight and the evening are wanted whole, and cells of 24 minutes: ten, the one before, the first.
    assert len(times["busy"]) == 12 * 60 + 24 + 12 * 24
    # One is the last, two saw the change, and one is the first.
    assert len(times["quiet"]) == 12 * 60 + 24 + 4 * 24


@pytest.mark.parametrize("min_distance_ms", [7_001, 86_400_001])
def test_with_slots_that_fit_into_no_day_all_commits_are_needed(
    spark: SparkSession, tmp_path: Path, min_distance_ms: int
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "all", {"offset_commits": [commit(-60 * n, n, source=n) for n in range(2_000)]})
    rules = Rules(min_distance_ms=min_distance_ms)

    needed = seen_commits(storage.read(spark, OFFSET_COMMITS), [NOON.date()], lookback_days=LOOKBACK, rules=rules)

    assert needed.count() == 2_000
