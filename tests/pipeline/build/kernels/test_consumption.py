"""The furthest that a commit record's time lies behind an earlier record's, in ms: the column `clock_jump_ms`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits
from kafka_groups.pipeline.build.kernels.committed_offsets import (
    new_commits,
    order_commits,
)
from kafka_groups.pipeline.build.kernels.consumption import measure_clock_jumps
from kafka_groups.pipeline.frames.arrays import NULL

SAMPLED: Final = NULL


def commits_at(*seconds: float, key: int = 0, source_offsets: Sequence[int] | None = None) -> Commits:
    """Return commits at these times, in the order of the log unless other offsets in `__consumer_offsets` are given."""
    count = len(seconds)
    return new_commits(
        key=np.full(count, key),
        at_us=np.array([round(second * 1_000_000) for second in seconds]),
        committed_offset=np.arange(count),
        source_offset=np.arange(count) if source_offsets is None else np.array(source_offsets),
    )


def jumps_ms(*parts: Commits, carried: Commits | None = None, keys: int = 1) -> list[int]:
    """Return the jump of each key."""
    jumps = measure_clock_jumps(Commits.join(*parts), Commits.empty() if carried is None else carried, keys)
    return [*map(int, jumps)]


def test_times_that_rise_in_the_log_have_no_jump() -> None:
    assert jumps_ms(commits_at(1, 2, 2, 3)) == [0]


def test_the_jump_is_the_fall_from_the_latest_time_before() -> None:
    assert jumps_ms(commits_at(10, 30, 12.5, 13)) == [17_500]


def test_the_largest_of_several_jumps_counts() -> None:
    assert jumps_ms(commits_at(10, 7, 30, 22, 40, 39)) == [8_000]


def test_each_key_has_its_own_jump() -> None:
    assert jumps_ms(commits_at(10, 7, key=1), commits_at(5, 6), keys=3) == [0, 3_000, 0]


def test_a_sample_between_two_records_is_no_jump() -> None:
    assert jumps_ms(commits_at(10, 20, 15, source_offsets=[0, 1, SAMPLED])) == [0]


def test_a_jump_on_an_earlier_day_does_not_count_again() -> None:
    earlier = commits_at(30, 12)
    carried = replace(order_commits(earlier), is_carried=np.ones(2, np.bool_))

    assert jumps_ms(commits_at(40, source_offsets=[5]), carried=carried) == [0]


def test_a_record_before_a_carried_one_has_a_time_that_jumps() -> None:
    """A clock that was ahead dated it to the next day, so that the record after it in the log has the date before."""
    carried = replace(commits_at(30, source_offsets=[7]), is_carried=np.ones(1, np.bool_))

    assert jumps_ms(commits_at(50, 60, source_offsets=[6, 8]), carried=carried) == [20_000]
