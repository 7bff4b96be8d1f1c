"""Time lag: the age of the oldest record that is not yet processed, which is the one at the committed offset.

The index of a log says when its offsets were written. It consists of points: a backfilled record with its own time
(exact), and log ends that were observed at a time, which mean that the record at that offset came later, and all before
it earlier. Lag is interpolated between the two points around the committed offset, never outside.

Where a log starts, a backfill cannot distinguish what was never written from what was deleted: it returns the first
record that is kept as the log's end of all times before. Such an end limits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels import segments
from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.segments import LARGEST, NULL, Flags, Ints, Rows

EXACT, INTERPOLATED, LOWER_BOUND, DATA_LOSS, UNKNOWN = range(5)
QUALITIES: Final = ("exact", "interpolated", "lower_bound", "data_loss", "unknown")
# Of points older than an hour so many are handed on for each doubling of the age: they are 2 % of their age apart.
_POINTS_AN_OCTAVE: Final = 32
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Points(Rows):
    """Points by log (partition and number) and offset, in milliseconds.

    `exact`: the record's own time. `latest` and `earliest`: the last and the first time that the offset was the log's
    end, or its record's own time. `seen`: the first time that a sample saw it as the end. `log_start`: the highest that
    samples saw meanwhile, or NULL. `exact` and `seen` are LARGEST where there is none.
    """

    partition: Ints
    log: Ints
    offset: Ints
    exact: Ints
    latest: Ints
    earliest: Ints
    seen: Ints
    log_start: Ints


def index_points(rows: LogEnds, carried: Points) -> Points:
    """Return a point for each offset of each log: those of the day's rows, and those that earlier days handed on."""
    at_ms, time = rows.at_us // 1_000, rows.point_ms
    never, nothing = np.full(len(rows), LARGEST), np.full(len(rows), NULL)
    seen = np.where(rows.is_sample, at_ms, LARGEST)
    of_ends = Points(rows.partition, rows.log, rows.log_end, never, at_ms, at_ms, seen, rows.log_start)
    of_records = Points(rows.partition, rows.log, rows.point_offset, time, time, time, never, nothing)
    is_record = (rows.point_offset != NULL) & (time != NULL)
    found = Points.join(carried, of_ends.where(rows.log_end != NULL), of_records.where(is_record))
    found = found.sorted_by("partition", "log", "offset")
    begins = segments.first_rows(found.partition, found.log, found.offset)
    return replace(
        found.where(begins),
        exact=segments.reduce(np.minimum, found.exact, begins),
        latest=segments.reduce(np.maximum, found.latest, begins),
        earliest=segments.reduce(np.minimum, found.earliest, begins),
        seen=segments.reduce(np.minimum, found.seen, begins),
        log_start=segments.reduce(np.maximum, found.log_start, begins),
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
    is_oldest = segments.first_rows(kept.partition) & ~is_too_old
    return kept.where((now_ms - kept.latest <= _HOUR_MS) | segments.last_rows(kept.partition, bucket) | is_oldest)


def measure_time_lag(rows: LagRows, ends: LogEnds, points: Points) -> tuple[Ints, Ints]:
    """Return the time lag in milliseconds (NULL: not known) and its quality, the place in QUALITIES, at each lag row.

    exact: nothing is left to process (0), or the record's own time is known. interpolated: linear between two points.
    lower_bound: written before the oldest point; or 0, at a last stable offset before the log end. data_loss: committed
    below the log start; the value is a lower bound, too. unknown: no point says anything. A record whose own time is
    later than the observation has none that counts. Never negative.
    """
    now, committed = rows.at_us // 1_000, rows.committed
    previous, following, log_start = _around(rows, ends, points)
    written, is_exact = _written(points, previous, following, committed)
    # Earlier days may have seen a higher start of the log.
    carried = segments.highest(np.where(ends.is_carried, ends.log_start, NULL), ends.partition, ends.log)
    least = _least_age(points, following, np.maximum(log_start, carried[rows.observation]), now)
    start, stable = ends.log_start[rows.observation], ends.last_stable[rows.observation]
    is_done, is_at_stable = committed >= rows.log_end, (stable != NULL) & (committed == stable)
    is_written = (written != NULL) & (written <= now)
    rules = (
        (is_done, EXACT),
        (is_at_stable, LOWER_BOUND),
        ((start != NULL) & (committed < start), DATA_LOSS),
        (is_written & is_exact, EXACT),
        (is_written, INTERPOLATED),
        (least != NULL, LOWER_BOUND),
    )
    quality = np.select([condition for condition, _ in rules], [found for _, found in rules], UNKNOWN)
    is_read_off = (quality == EXACT) | (quality == INTERPOLATED)
    value = np.where(is_read_off, now - written, np.where(quality == UNKNOWN, NULL, least))
    return np.where(is_done | is_at_stable, 0, value), quality


def _around(rows: LagRows, ends: LogEnds, points: Points) -> tuple[Ints, Ints, Ints]:
    """Return for each lag row the places of the point at or before its commit and of the one after (-1: none).

    And the highest log start of its log's points. Each log of a lag row has points: its ends are some.
    """
    begins = segments.first_rows(points.partition, points.log)
    first = np.flatnonzero(begins)
    of_points, of_ends = ((found.partition << 32) | found.log for found in (points.where(begins), ends))
    log = np.searchsorted(of_points, of_ends)[rows.observation]
    # Ranks, because offsets may take all 64 bits.
    known = np.unique(points.offset)
    ranks, wanted = np.searchsorted(known, points.offset), np.searchsorted(known, rows.committed, "right") - 1
    previous = segments.last_at((np.cumsum(begins) - 1, ranks), (log, wanted))
    following = np.where(previous >= 0, previous + 1, first[log])
    is_there = following < np.append(first, len(points))[log + 1]
    return previous, np.where(is_there, following, -1), segments.reduce(np.maximum, points.log_start, begins)[log]


def _written(points: Points, previous: Ints, following: Ints, committed: Ints) -> tuple[Ints, Flags]:
    """Return when the record at the commit was written (NULL: no point says), and whether that is its own time.

    Where producers' times go back from a point to the next, nothing can be interpolated between the two.
    """
    offset, exact = points.offset[previous], points.exact[previous]
    time = np.where(exact == LARGEST, points.latest[previous], exact)
    is_at = (previous >= 0) & (offset == committed)
    passed = points.earliest[following] - time
    is_between = (previous >= 0) & (following >= 0) & (passed >= 0)
    steps = (committed - offset) / np.where(is_between, points.offset[following] - offset, 1)
    between = time + np.floor(np.where(is_between, passed, 0) * steps + 0.5).astype(np.int64)
    return np.where(is_at, time, np.where(is_between, between, NULL)), is_at & (exact != LARGEST)


def _least_age(points: Points, following: Ints, kept_from: Ints, now: Ints) -> Ints:
    """Return what has passed since the next point, as all records before it were written earlier; NULL: nothing."""
    time, certain = points.earliest[following], np.minimum(points.exact, points.seen)[following]
    is_time = np.where(kept_from != NULL, points.offset[following] > kept_from, certain == LARGEST)
    before = np.where(is_time, time, certain)
    return np.where((following >= 0) & (before < now), now - before, NULL)
