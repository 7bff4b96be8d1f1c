"""Commits that both records and samples show, with clocks that differ: each record is counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import Row, commit

MIDNIGHT: Final = 12 * 3_600


def sampled(seconds: float, offset: int) -> Row:
    return commit(seconds, offset)


def consumed_in_all(directory: Path, *commits: Row) -> int:
    days = read(built(directory, {"offset_commits": [*commits]}), "group_daily")
    return sum(day["records_consumed"] for day in days)


def test_commits_that_samples_of_the_day_before_have_seen_are_counted_once(tmp_path: Path) -> None:
    """A clock that is ahead dates the commits 110 and 120 to the next day; a sample of the day has seen them."""
    assert consumed_in_all(
        tmp_path,
        commit(MIDNIGHT - 90, 100, source=1),
        sampled(MIDNIGHT - 30, 120),
        commit(MIDNIGHT + 5, 110, source=2),
        commit(MIDNIGHT + 20, 120, source=3),
        commit(MIDNIGHT + 90, 150, source=4),
    ) == (50)


def test_a_sampled_rewind_at_midnight_is_compared_with_its_record(tmp_path: Path) -> None:
    """From 100 back to 98 and 95, and on to 120: 25 records were consumed, and a sample had seen 95."""
    assert consumed_in_all(
        tmp_path,
        commit(MIDNIGHT - 90, 100, source=1),
        sampled(MIDNIGHT - 30, 95),
        commit(MIDNIGHT + 5, 98, source=2),
        commit(MIDNIGHT + 20, 95, source=3),
        commit(MIDNIGHT + 90, 120, source=4),
    ) == (25)


def test_samples_long_after_the_last_record_count_until_the_next_one(tmp_path: Path) -> None:
    """Records between 100 and 130 were lost. The group was set back to 50 meanwhile, and read 10 records since."""
    assert consumed_in_all(
        tmp_path,
        commit(0, 100, source=1),
        sampled(MIDNIGHT - 30, 50),
        commit(MIDNIGHT + 90, 60, source=9),
    ) == (10)


def test_samples_before_the_first_record_of_a_fast_clock_count_nothing(tmp_path: Path) -> None:
    assert consumed_in_all(
        tmp_path,
        sampled(10, 23),
        sampled(40, 26),
        commit(60, 23, source=1),
        commit(90, 26, source=2),
        commit(120, 32, source=3),
    ) == (9)


def test_a_sample_between_a_removal_and_a_record_counts_nothing(tmp_path: Path) -> None:
    assert consumed_in_all(
        tmp_path,
        commit(0, 100, source=1),
        commit(60, None, source=2),
        sampled(70, 50),
        commit(80, 60, source=3),
        commit(90, 65, source=4),
    ) == (5)


def test_samples_after_the_last_record_of_a_slow_clock_count_nothing(tmp_path: Path) -> None:
    """The commit 30 was made before the sample of 20 by the sampler's clock, which is right."""
    assert consumed_in_all(
        tmp_path,
        commit(60, 10, source=1),
        commit(90, 20, source=2),
        commit(120, 30, source=3),
        sampled(125, 20),
        sampled(155, 30),
    ) == (20)
