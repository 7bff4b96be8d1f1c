"""A series of lags in as many cells as there is room for."""

from __future__ import annotations

import pytest

from kafka_groups.pipeline.report.history import LagPoint
from kafka_groups.pipeline.report.peaks import highest_lags, reduce_points
from kafka_groups.rendering.sparkline import DIGITS, draw_sparkline


@pytest.mark.parametrize(
    ("peaks", "drawn"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([5, 5, 5], "███"),
        ([0, 0, 0], "▁▁▁"),
        ([None, 3, None], "·█·"),
        ([0, None, 9], "▁·█"),
        ([1, 10**30], "▂█"),
        ([-7, 0, 7], "▁▁█"),
        ([-7, -3], "▁▁"),
        ([None, None], None),
        ([], None),
    ],
)
def test_blocks_rise_from_zero_to_the_highest_peak_and_gaps_are_dots(
    peaks: list[int | None], drawn: str | None
) -> None:
    assert draw_sparkline(peaks) == drawn


def test_a_stream_without_blocks_gets_digits() -> None:
    assert draw_sparkline([0, None, 4, 7], blocks=DIGITS) == "0.47"


def lags(*given: tuple[int, int | None]) -> list[LagPoint]:
    """Return points from pairs of time and lag."""
    return [LagPoint(at, lag, None) for at, lag in given]


def test_a_cell_is_the_highest_lag_of_its_part_of_the_period() -> None:
    points = lags((0, 1), (9, 8), (10, 2), (11, None), (20, None), (39, 5))
    assert highest_lags(points, from_ms=0, to_ms=40, part_count=4) == [8, 2, None, 5]


def test_the_end_of_the_period_belongs_to_its_last_part() -> None:
    points = lags((-1, 100), (0, 1), (40, 7), (41, 200))
    assert highest_lags(points, from_ms=0, to_ms=40, part_count=4) == [1, None, None, 7]


def test_a_single_point_has_a_single_cell() -> None:
    assert highest_lags(lags((25, 3)), from_ms=0, to_ms=40, part_count=4) == [None, None, 3, None]


@pytest.mark.parametrize("to_ms", [5, 4])
def test_a_period_without_length_still_has_its_point(to_ms: int) -> None:
    assert [peak for peak in highest_lags(lags((5, 3)), from_ms=5, to_ms=to_ms, part_count=4) if peak is not None] == [
        3
    ]


def test_few_points_stay_as_they_are() -> None:
    points = lags((0, 1), (1, None))
    assert reduce_points(points, part_count=2) is points


def test_peaks_and_gaps_of_many_points_are_kept_in_order() -> None:
    points = [LagPoint(at, at % 7, 7 - at % 7) for at in range(10_000)]
    points[5_001] = LagPoint(5_001, 900, 1)
    points[5_002] = LagPoint(5_002, 2, 9_000)
    points[5_003] = LagPoint(5_003, None, None)
    thin = reduce_points(points, part_count=100)
    assert {points[5_001], points[5_002], points[5_003]} <= set(thin)
    assert (100 <= len(thin) <= 300, list(thin)) == (True, sorted(thin, key=lambda point: point.at_ms))


def test_a_part_of_the_period_without_a_known_lag_stays_a_gap() -> None:
    assert reduce_points(lags(*((at, None) for at in range(8))), part_count=2) == lags((0, None), (4, None))
