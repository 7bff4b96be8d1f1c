"""Log ends that fall: which of them begin another log, also across midnight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LogEnds
from kafka_groups.pipeline.build.kernels.log_ends import carry_log_ends, new_log_ends, number_logs

DAY_US: Final = 86_400_000_000


def numbered_days(*days: Sequence[int], step_s: int = 60) -> list[tuple[int, int]]:
    """Return log end and log number of the rows that are used, of one topic and days with these ends at midnight.

    The samples of a day are `step_s` seconds apart.
    """
    step_us = step_s * 1_000_000
    carried = LogEnds.empty()
    used: list[tuple[int, int]] = []
    for number, log_ends in enumerate(days):
        size = len(log_ends)
        first_us = (number + 1) * DAY_US - (size * step_us if number == 0 else DAY_US)
        day = new_log_ends(
            partition=np.zeros(size, np.int64),
            at_us=first_us + np.arange(size) * step_us,
            log_end=np.array(log_ends, np.int64),
            topic_id=np.ones(size, np.int64),
        )
        rows = number_logs(day, carried_ends=carried, partition_count=1)
        of_day = rows.take(rows.is_used & ~rows.is_carried)
        used += zip(of_day.log_end.tolist(), of_day.log_number.tolist(), strict=True)
        carried = carry_log_ends(rows, partition_count=1)
    return used


def test_ends_that_stay_below_are_of_another_log() -> None:
    assert numbered_days([100, 130, 40, 60]) == [(100, 0), (130, 0), (40, 1), (60, 1)]


def test_a_single_end_below_those_before_and_after_it_is_not_used() -> None:
    assert numbered_days([100, 130, 40, 140]) == [(100, 0), (130, 0), (140, 0)]


def test_a_log_truncated_before_midnight_is_another_one_from_then_on() -> None:
    assert numbered_days([100, 130, 40], [45, 50]) == [(100, 0), (130, 0), (40, 1), (45, 1), (50, 1)]


def test_a_late_sample_right_before_midnight_is_not_used() -> None:
    assert numbered_days([100, 130, 128], [135, 140], step_s=20) == [(100, 0), (130, 0), (135, 0), (140, 0)]


def test_one_end_of_the_next_day_shows_that_a_fall_was_a_truncation() -> None:
    assert numbered_days([100, 130, 40], [45], [50], step_s=20) == [(100, 0), (130, 0), (45, 1), (50, 1)]
