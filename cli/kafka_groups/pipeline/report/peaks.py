"""Series of lags with fewer points: the peaks of equal parts of a period, and the points that must be seen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from kafka_groups.pipeline.report.history import LagPoint


def highest_lags(points: Sequence[LagPoint], *, from_ms: int, to_ms: int, cells: int) -> list[int | None]:
    """Return the highest lag in each of so many equal stretches of the period; None where no lag is known.

    `points` ascend in time; one at the very end belongs to the last stretch.
    """
    span = max(to_ms - from_ms, 1)
    bounds = [from_ms + span * cell // cells for cell in range(cells)] + [max(to_ms, from_ms) + 1]
    places = [bisect_left(points, bound, key=lambda point: point.at_ms) for bound in bounds]
    return [
        max((point.lag for point in points[start:end] if point.lag is not None), default=None)
        for start, end in pairwise(places)
    ]


def reduce_points(points: Sequence[LagPoint], *, most: int) -> Sequence[LagPoint]:
    """Return the points if they are no more than `most`; else of each of `most` stretches those that must be seen.

    These are the highest lag, the longest time lag, and one where the lag is not known.
    """
    if len(points) <= most:
        return points
    kept: list[LagPoint] = []
    for start, end in pairwise([len(points) * part // most for part in range(most + 1)]):
        stretch = points[start:end]
        wanted = {
            max(stretch, key=lambda point: (point.lag is not None, point.lag)),
            max(stretch, key=lambda point: (point.time_lag_ms is not None, point.time_lag_ms)),
            next((point for point in stretch if point.lag is None), stretch[0]),
        }
        kept += sorted(wanted, key=lambda point: point.at_ms)
    return kept
