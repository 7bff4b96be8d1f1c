"""Points of a time index that are kept from day to day."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import TimePoints
from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
from kafka_groups.pipeline.build.kernels.time_index import index_points, thin_points

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE


def points_after(*days: list[int], hours: int) -> TimePoints:
    """Return the index at the end of each day in turn, `hours` in all, of samples at these seconds, a record each."""
    points = TimePoints.empty()
    for number, seconds in enumerate(days, 1):
        at_us = np.array(seconds, np.int64) * 1_000_000
        day = new_log_ends(partition=np.zeros(len(seconds), np.int64), at_us=at_us, log_end=np.array(seconds, np.int64))
        now_ms = hours * HOUR * 1_000 * number // len(days)
        points = thin_points(index_points(day, points), np.zeros(1, np.int64), now_ms=now_ms, oldest_ms=0)
    return points


def test_the_points_of_the_last_hour_are_all_kept() -> None:
    seconds = [*range(23 * HOUR, 24 * HOUR, MINUTE)]

    assert points_after(seconds, hours=24).offset.tolist() == seconds


def test_older_points_are_one_for_each_part_of_the_age() -> None:
    kept = points_after([*range(0, 24 * HOUR, MINUTE)], hours=24).offset

    before_last_hour = kept[kept < 23 * HOUR]
    ages = 24 * HOUR - before_last_hour
    assert len(before_last_hour) < 32 * 5
    assert (np.diff(before_last_hour) <= 0.03 * ages[:-1] + MINUTE).all()


def test_the_first_point_after_a_pause_is_kept() -> None:
    """Sampling paused from 6:00 to 23:30. Days later, 23:30 and 23:59 are as old as each other."""
    seconds = [*range(5 * HOUR, 6 * HOUR, MINUTE), *range(23 * HOUR + 30 * MINUTE, 24 * HOUR, MINUTE)]

    kept = points_after(seconds, [], [], hours=72).offset.tolist()

    assert 23 * HOUR + 30 * MINUTE in kept
    assert 24 * HOUR - MINUTE in kept
