"""Series of lags with fewer points: the highest lags of equal parts of a period, and the points that must be shown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from kafka_groups.pipeline.report.history import LagPoint


def highest_lags(points: Sequence[LagPoint], *, from_ms: int, to_ms: int, part_count: int) -> list[int | None]:
    """Return the highest lag in each of `part_count` equal parts of the period; None for a part without a known lag.

    Times are milliseconds since 1970, and `points` ascend in time. A point at the very end of the period belongs to the
    last part. Points outside the period are ignored.
    """
    length_ms = max(to_ms - from_ms, 1)
    bounds_ms = [from_ms + length_ms * part_index // part_count for part_index in range(part_count)]
    bounds_ms.append(max(to_ms, from_ms) + 1)
    part_bounds = [bisect_left(points, bound_ms, key=lambda point: point.at_ms) for bound_ms in bounds_ms]
    return [
        max((point.lag for point in points[start:end] if point.lag is not None), default=None)
        for start, end in pairwise(part_bounds)
    ]


def reduce_points(points: Sequence[LagPoint], *, part_count: int) -> Sequence[LagPoint]:
    """Return at most three points for each of `part_count` parts with equal numbers of points; all, if there are few.

    The points that must be shown in each part are the highest lag, the longest time lag, and a point without a known
    lag if there is one. `points` and the result ascend in time.
    """
    if len(points) <= part_count:
        return points
    reduced_points: list[LagPoint] = []
    bounds = [len(points) * part_index // part_count for part_index in range(part_count + 1)]
    for start, end in pairwise(bounds):
        part_points = points[start:end]
        necessary_points = {
            max(part_points, key=lambda point: (point.lag is not None, point.lag)),
            max(part_points, key=lambda point: (point.time_lag_ms is not None, point.time_lag_ms)),
            next((point for point in part_points if point.lag is None), part_points[0]),
        }
        reduced_points += sorted(necessary_points, key=lambda point: point.at_ms)
    return reduced_points
