"""Time lag: the age of the oldest record that is not yet processed, which is the one at the committed offset.

The index of a log says when its offsets were written. It consists of points: a backfilled record with its own time
(exact), and log ends that were observed at a time, which mean that the record at that offset came later, and all before
it earlier. Lag is interpolated between the two points around the committed offset, never outside.

Where a log starts, a backfill cannot distinguish what was never written from what was deleted: it returns the first
record that is kept as the log's end of all times before. Such an end limits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    last_rows,
    least_known,
    reduce,
)

EXACT, INTERPOLATED, LOWER_BOUND, DATA_LOSS, UNKNOWN = range(5)
QUALITIES: Final = ("exact", "interpolated", "lower_bound", "data_loss", "unknown")
_LARGEST: Final = int(np.iinfo(np.int64).max)
# Of points older than an hour so many are handed on for each doubling of the age: they are 2 % of their age apart.
_POINTS_AN_OCTAVE: Final = 32
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Points(Rows):
    """Points by log (partition and number) and offset, in milliseconds; `exact`, `seen` and `log_start` may be NULL.

    `latest` and `earliest`: the last and the first time that the offset was the log's end, or its record's own time.
    `seen`: the first time that a sample saw it as the end. `log_start`: the highest that samples saw meanwhile.
    """

    partition: Ints
    log: Ints
    offset: Ints
    exact: Ints
    latest: Ints
    earliest: Ints
    seen: Ints
    log_start: Ints


def index_points(ends: LogEnds, carried: Points) -> Points:
    """Return a point for each offset of each log: those of the day and those that earlier days handed on."""
    rows = ends.rows
    is_end, is_record = rows.log_end != NULL, (rows.point_offset != NULL) & (rows.point_ms != NULL)
    at_ms = rows.at_us // 1_000
    nothing = np.full(len(rows), NULL)
    of_ends = Points(
        rows.partition,
        ends.log,
        rows.log_end,
        nothing,
        at_ms,
        at_ms,
        np.where(rows.is_sample, at_ms, NULL),
        rows.log_start,
    ).where(is_end)
    time = rows.point_ms
    of_records = Points(rows.partition, ends.log, rows.point_offset, time, time, time, nothing, nothing).where(
        is_record
    )
    joined = Points.join(carried, of_ends, of_records)
    order = np.lexsort((joined.offset, joined.log, joined.partition))
    return _merge(joined.where(order))


def _merge(rows: Points) -> Points:
    begins = first_rows(rows.partition, rows.log, rows.offset)

    def least(values: Ints) -> Ints:
        found = reduce(np.minimum, np.where(values == NULL, _LARGEST, values), begins)
        return np.where(found == _LARGEST, NULL, found)

    return Points(
        rows.partition[begins],
        rows.log[begins],
        rows.offset[begins],
        least(rows.exact),
        reduce(np.maximum, rows.latest, begins),
        reduce(np.minimum, rows.earliest, begins),
        least(rows.seen),
        reduce(np.maximum, rows.log_start, begins),
    )


def thin_points(points: Points, log: Ints, now_ms: int, oldest_ms: int) -> Points:
    """Return the points to hand on at `now_ms`: of each partition's current log (`log`), the denser the younger.

    Points whose last time is before `oldest_ms` are removed, except the newest of them.
    """
    kept = points.where(points.log == log[points.partition])
    age = np.maximum(now_ms - kept.latest, _HOUR_MS) / _HOUR_MS
    bucket = np.floor(_POINTS_AN_OCTAVE * np.log2(age)).astype(np.int64)
    is_too_old = kept.latest < oldest_ms
    bucket = np.where(is_too_old, np.iinfo(np.int32).max, bucket)
    # Without the oldest point nothing could be interpolated up to the one after it.
    is_oldest = first_rows(kept.partition) & ~is_too_old
    return kept.where((now_ms - kept.latest <= _HOUR_MS) | last_rows(kept.partition, bucket) | is_oldest)


@dataclass(frozen=True, slots=True)
class TimeLags:
    """Milliseconds (NULL: not known) and a quality, the place in QUALITIES, for each lag row."""

    time_lag_ms: Ints
    quality: Ints


def measure_time_lag(rows: LagRows, ends: LogEnds, points: Points, kept_from: Ints) -> TimeLags:
    """Return the time lag at each lag row.

    `kept_from` is the highest log start that earlier days saw of each observation's log. exact: nothing is left to
    process (0), or the record's own time is known. interpolated: linear between two points. lower_bound: written before
    the oldest point; or 0, at a last stable offset before the log end. data_loss: committed below the log start; the
    value is a lower bound, too. unknown: no point says anything. A record whose own time is later than the observation
    has none that counts. Never negative.
    """
    found = _Around.of(rows, ends, points, kept_from)
    now, committed = rows.at_us // 1_000, rows.committed
    log_start, stable = ends.rows.log_start[rows.observation], ends.rows.last_stable[rows.observation]
    is_done, is_at_stable = committed >= rows.log_end, (stable != NULL) & (committed == stable)
    written, is_exact = found.written(committed)
    is_written = (written != NULL) & (written <= now)
    least = found.least_age(now)
    quality = np.select(
        [
            is_done,
            is_at_stable,
            (log_start != NULL) & (committed < log_start),
            is_written & is_exact,
            is_written,
            least != NULL,
        ],
        [EXACT, LOWER_BOUND, DATA_LOSS, EXACT, INTERPOLATED, LOWER_BOUND],
        UNKNOWN,
    )
    is_read_off = (quality == EXACT) | (quality == INTERPOLATED)
    value = np.where(is_read_off, now - np.where(is_written, written, 0), np.where(quality == UNKNOWN, NULL, least))
    return TimeLags(np.where(is_done | is_at_stable, 0, value), quality)


@dataclass(frozen=True, slots=True)
class _Around:
    """For each lag row the place of the point at or before its commit (-1: none) and of the one after (-1: none)."""

    points: Points
    previous: Ints
    following: Ints
    kept_from: Ints

    @classmethod
    def of(cls, rows: LagRows, ends: LogEnds, points: Points, kept_from: Ints) -> Self:
        partition = ends.rows.partition[rows.observation]
        size = len(rows)
        previous, following, kept = (np.full(size, -1) for _ in range(3))
        kept[:] = NULL
        begins = np.flatnonzero(first_rows(points.partition, points.log)) if len(points) else np.zeros(0, np.int64)
        limits = np.concatenate([begins, [len(points)]])
        order = np.lexsort((rows.log, partition))
        mine = first_rows(partition[order], rows.log[order]) if size else np.zeros(0, np.bool_)
        pieces = np.split(order, np.flatnonzero(mine)[1:]) if size else []
        names = zip(points.partition[begins], points.log[begins], strict=True)
        logs = {name: at for at, name in enumerate(names)}
        for piece in pieces:
            at = logs.get((partition[piece[0]], rows.log[piece[0]]))
            if at is None:
                continue
            first, last = limits[at], limits[at + 1]
            place = np.searchsorted(points.offset[first:last], rows.committed[piece], "right") + first
            previous[piece] = np.where(place > first, place - 1, -1)
            following[piece] = np.where(place < last, place, -1)
            kept[piece] = points.log_start[first:last].max()
        return cls(points, previous, following, np.maximum(kept, kept_from[rows.observation]))

    def written(self, committed: Ints) -> tuple[Ints, Flags]:
        """Return when the record at the commit was written (NULL: no point says), and whether that is its own time.

        Where producers' times go back from a point to the next, nothing can be interpolated between the two.
        """
        points, has_both = self.points, (self.previous >= 0) & (self.following >= 0)
        if not len(points):
            return np.full(len(committed), NULL), np.zeros(len(committed), np.bool_)
        offset, exact = points.offset[self.previous], points.exact[self.previous]
        time = np.where(exact == NULL, points.latest[self.previous], exact)
        is_at = (self.previous >= 0) & (offset == committed)
        span = np.where(has_both, points.offset[self.following] - offset, 1)
        steps = (committed - offset) / np.where(span == 0, 1, span)
        passed = points.earliest[self.following] - time
        between = time + np.floor(np.where(has_both, passed, 0) * steps + 0.5).astype(np.int64)
        is_between = has_both & (passed >= 0)
        return np.where(is_at, time, np.where(is_between, between, NULL)), is_at & (exact != NULL)

    def least_age(self, now: Ints) -> Ints:
        """Return what has passed since the next point, as all records before it were written earlier; NULL: nothing."""
        points = self.points
        if not len(points):
            return np.full(len(now), NULL)
        has_next = self.following >= 0
        offset, time = points.offset[self.following], points.earliest[self.following]
        certain = least_known(points.exact, points.seen)[self.following]
        is_kept = self.kept_from != NULL
        before = np.where(is_kept & (offset > self.kept_from), time, certain)
        before = np.where(is_kept, before, np.where(certain == NULL, time, certain))
        is_known = has_next & (before != NULL) & (before < now)
        return np.where(is_known, now - np.where(is_known, before, 0), NULL)
