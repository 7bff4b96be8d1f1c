"""Series of lags with fewer points: the highest lags of equal parts of a period, and the points that must be shown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from kafka_groups.pipeline.report.history import LagPoint


def highest_lags(points: Sequence[LagPoint], *, from_ms: int, to_ms: int, parts: int) -> list[int | None]:
    """Return the highest lag in each of `parts` equal parts of the period; None for a part without a known lag.

    Times are milliseconds since 1970, and `points` ascend in time. A point at the very end of the period belongs to the
    last part. Points outside the period are ignored.
    """
    length_ms = max(to_ms - from_ms, 1)
    bounds = [from_ms + length_ms * part // parts for part in range(parts)]
    bounds.append(max(to_ms, from_ms) + 1)
    indexes = [bisect_left(points, bound, key=lambda point: point.at_ms) for bound in bounds]
    return [
        max((point.lag for point in points[start:end] if point.lag is not None), default=None)
        for start, end in pairwise(indexes)
    ]


def reduce_points(points: Sequence[LagPoint], *, parts: int) -> Sequence[LagPoint]:
    """Return at most three points for each of `parts` parts with equal numbers of points; all, if there are few.

    The points that must be shown in each part are the highest lag, the longest time lag, and a point without a known
    lag if there is one. `points` and the result ascend in time.
    """
    if len(points) <= parts:
        return points
    reduced: list[LagPoint] = []
    bounds = [len(points) * part // parts for part in range(parts + 1)]
    for start, end in pairwise(bounds):
        part_points = points[start:end]
        shown = {
            max(part_points, key=lambda point: (point.lag is not None, point.lag)),
            max(part_points, key=lambda point: (point.time_lag_ms is not None, point.time_lag_ms)),
            next((point for point in part_points if point.lag is None), part_points[0]),
        }
        reduced += sorted(shown, key=lambda point: point.at_ms)
    return reduced
