"""What verdicts are made of: the commits that a window keeps, their lags, and offsets between two commits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.verdicts import (
    Commit,
    LogEnd,
    Point,
    commit_lag,
    lag_points,
    thin,
)
from tests.verdict_strategies import commits, ends


def test_the_lag_of_a_commit_is_against_the_last_log_end_that_was_known_then() -> None:
    observed = [LogEnd(100, 1_000), LogEnd(160, 2_000)]

    assert [commit_lag(90, at_ms, observed) for at_ms in (999, 1_000, 1_999, 2_000)] == [None, 10, 10, 70]
    assert commit_lag(170, 3_000, observed) == 0


def test_a_slot_has_the_time_of_its_first_and_the_offset_and_lag_of_its_last_commit() -> None:
    history = [Commit(1, 999, 9), Commit(2, 1_000, 8), Commit(3, 1_999, None), Commit(4, 2_000, 6)]

    assert thin(history, 1_000) == [Commit(1, 999, 9), Commit(3, 1_000, None), Commit(4, 2_000, 6)]


@given(commits, st.integers(0, 20_000), st.integers(1, 5_000))
def test_earlier_commits_do_not_change_which_later_ones_are_kept(
    history: list[Commit], since: int, distance: int
) -> None:
    since -= since % distance
    later = [commit for commit in history if commit.at_ms >= since]

    assert thin(later, distance) == [commit for commit in thin(history, distance) if commit.at_ms >= since]


@given(commits, st.integers(1, 5_000))
def test_thinning_twice_changes_nothing(history: list[Commit], distance: int) -> None:
    once = thin(history, distance)

    assert thin(once, distance) == once


def test_the_committed_offset_at_a_log_end_is_between_the_commits_around_it() -> None:
    history = [Commit(100, 1_000), Commit(131, 4_000), Commit(131, 5_000)]
    observed = [LogEnd(150, 2_000), LogEnd(170, 4_500), LogEnd(125, 4_800)]

    # Offset 110, rounded down, at 2,000; at 4,800 the group has read more than the log had when it was observed.
    assert lag_points(history, observed) == [Point(150, 40, 4_000), Point(125, 0, 5_000)]


def test_log_ends_without_a_commit_on_both_sides_are_no_points() -> None:
    history = [Commit(10, 1_000), Commit(20, 2_000)]

    assert lag_points(history, [LogEnd(30, 999), LogEnd(40, 2_001)]) == []
    assert lag_points([], [LogEnd(30, 999)]) == []


def test_the_offset_at_the_time_of_a_commit_is_its_own_and_of_several_that_of_the_last() -> None:
    history = [Commit(10, 1_000), Commit(20, 2_000), Commit(25, 2_000), Commit(40, 3_000)]

    assert lag_points(history, [LogEnd(30, 1_000), LogEnd(30, 2_000)]) == [Point(30, 20, 1_000), Point(30, 5, 2_000)]


def test_the_offset_falls_between_two_commits_when_the_group_is_rewound() -> None:
    assert lag_points([Commit(30, 0), Commit(1, 4)], [LogEnd(50, 1)]) == [Point(50, 28, 4)]


def test_offsets_as_large_as_kafka_allows_are_interpolated() -> None:
    largest = 2**63 - 1

    assert lag_points([Commit(0, 0), Commit(largest, 3)], [LogEnd(largest, 1)]) == [
        Point(largest, largest - 3_074_457_345_618_258_432, 3)
    ]


@given(commits, ends)
def test_points_ascend_and_are_known_when_the_second_commit_is(history: list[Commit], observed: list[LogEnd]) -> None:
    points = lag_points(history, observed)

    known = [point.known_ms for point in points]
    assert known == sorted(set(known))
    for until in known:
        earlier = [commit for commit in history if commit.at_ms <= until]
        assert lag_points(earlier, observed) == [point for point in points if point.known_ms <= until]
