"""Lag and time lag at each time that a log end is known for, the rates, and how far retention is.

Time lag is the age of the oldest record that is not yet processed, which is the one at the committed offset.
The index of a log says when its offsets were written. It consists of points: a backfilled record with its own time
(exact), and log ends that were observed at a time, which mean that the record at that offset came later, and all before
it earlier. Lag is interpolated between the two points around the committed offset, never outside.

A backfill returns the first record that is kept as the log's end of all times before, because it cannot distinguish
what was never written from what was deleted. Such an end limits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.build.kernels import segments
from kafka_groups.pipeline.build.kernels.offset_history import Commits, LogEnds
from kafka_groups.pipeline.build.kernels.segments import LARGEST, NULL, Flags, Floats, Ints, Rows

_CLOCKS_MS: Final = 60_000  # producers' clocks may be so far ahead
# A sample's commits were requested after the sample before it, where there is one, or at most so long ago.
_RUN_MS: Final = 600_000
SPAN_MS: Final = 600_000  # rates are over so long, and so long a partition's verdict counts for its group
_HOUR_MS: Final = 3_600_000
_MOST: Final = 2.0**62
EXACT, INTERPOLATED, LOWER_BOUND, DATA_LOSS, UNKNOWN = range(5)
QUALITIES: Final = ("exact", "interpolated", "lower_bound", "data_loss", "unknown")
# Of points older than an hour so many are handed on for each doubling of the age: they are 2 % of their age apart.
_POINTS_AN_OCTAVE: Final = 32


@dataclass(frozen=True, slots=True)
class Recent(Rows):
    """What rates are measured on, by key and time; `life` is how many removals of the commit there were before."""

    key: Ints
    at_us: Ints
    committed: Ints
    log_end: Ints
    life: Ints
    log: Ints


@dataclass(frozen=True, slots=True)
class LagRows(Recent):
    """A row for each key and each observation at which it had a commit; `observation` is the place in LogEnds."""

    observation: Ints
    commit_us: Ints
    is_commit_record: Flags
    lag: Ints
    margin: Ints


@dataclass(frozen=True, slots=True)
class Worst(Rows):
    """The worst of each key's lag rows of a day, and how it was at the last of them.

    `left_ms` is the time until the log start passes a commit that has lag, if both go on as between the day's first and
    last observation, at least an hour apart: 0 where it has passed already, NULL where it does not come closer.
    """

    time_lag_ms: Ints  # the longest
    margin: Ints  # the least
    last_ms: Ints
    last_margin: Ints
    left_ms: Ints


@dataclass(frozen=True, slots=True)
class Points(Rows):
    """Points by log (partition and number) and offset; times are in milliseconds."""

    partition: Ints
    log: Ints
    offset: Ints
    exact: Ints  # the record's own time, or LARGEST
    latest: Ints  # the last time that the offset was the log's end, or its record's own time
    earliest: Ints  # the first such time
    seen: Ints  # the first time that a sample saw it as the end, or LARGEST
    log_start: Ints  # the highest that samples saw meanwhile, or NULL


def measure_lag(ends: LogEnds, commits: Commits, partition_of: Ints) -> LagRows:
    """Return lag rows of the day's log ends, by key and time; `partition_of` is the partition of each key.

    The commit is the last one until the observation; after a removal there is no row. A sample whose log end that
    commit is beyond was taken by another clock: then the commit is the one that the sample itself saw. A backfill's end
    that is below the commit because its record was read before the time that it bears is not used.
    """
    own = np.flatnonzero(~ends.is_carried)
    first = np.searchsorted(ends.partition[own], partition_of, "left")
    key, place = segments.expand(first, np.searchsorted(ends.partition[own], partition_of, "right") - first)
    place = own[place]
    last = segments.last_at((commits.key, commits.at_us), (key, ends.at_us[place]))
    is_live = ~segments.take(commits.is_removal, last, missing=True)
    key, place, last = key[is_live], place[is_live], last[is_live]
    end = ends.where(place)
    at_ms = end.at_us // 1_000
    sampled = segments.last_where(~commits.is_record & ~commits.is_removal, segments.starts_of(commits.key))[last]
    run_ms = np.where(end.before_us == NULL, at_ms - _RUN_MS, end.before_us // 1_000)
    of_run = end.is_sample & (segments.take(commits.at_us, sampled) // 1_000 > run_ms)
    known = np.where(of_run & (commits.offset[last] > end.log_end), sampled, last)
    committed = commits.offset[known]
    is_early = (end.point_ms != NULL) & (end.point_ms - at_ms > _CLOCKS_MS)
    return LagRows(
        key=key,
        at_us=end.at_us,
        committed=committed,
        log_end=end.log_end,
        life=commits.life[last],
        log=end.log,
        observation=place,
        commit_us=commits.at_us[known],
        is_commit_record=commits.is_record[known],
        lag=end.log_end - committed,
        margin=np.where(end.log_start == NULL, NULL, committed - end.log_start),
    ).where(end.is_sample | (committed <= end.log_end) | ~is_early)


def measure_rates(carried: Recent, lags: LagRows) -> tuple[Recent, list[Any]]:
    """Return the rows of the last ten minutes before the day and of the day, and numbers at each of the day's `lags`.

    These are the rates of consuming and producing (records a second over ten minutes) and `catch_up_ms`. A rate is NaN
    where there is one observation, and where the offset fell or is that of another life or log. `catch_up_ms` is NULL
    where there is no lag, where it does not fall, and where 64 bits do not hold the time.
    """
    rows = Recent.join(carried, lags)
    order = np.lexsort((rows.at_us, rows.key))
    rows = rows.where(order)
    begins, starts, at_ms = segments.first_rows(rows.key), segments.starts_of(rows.key), rows.at_us // 1_000
    first = segments.first_at((rows.key, at_ms), (rows.key, at_ms - SPAN_MS))
    seconds = (at_ms - at_ms[first]) / 1_000

    def rate(offset: Ints, era: Ints) -> Floats:
        fell = ~begins
        fell[1:] &= offset[1:] < offset[:-1]
        falls = segments.running_count(fell, starts)
        is_steady = (seconds > 0) & (falls == falls[first]) & (era == era[first])
        return np.where(is_steady, (offset - offset[first]) / np.where(seconds > 0, seconds, 1.0), np.nan)

    consume, produce = rate(rows.committed, rows.life), rate(rows.log_end, rows.log)
    lag, gain = rows.log_end - rows.committed, consume - produce
    is_falling = (gain > 0) & (lag > 0)
    left = np.ceil(lag / np.where(is_falling, gain, 1.0) * 1_000)
    catch_up_ms = np.where(is_falling & (left < -float(NULL)), left, NULL).astype(np.int64)
    # Within a key the day's rows keep their order, so these are in the order of the lag rows.
    return rows, [column[order >= len(carried)] for column in (consume, produce, catch_up_ms)]


def find_worst(rows: LagRows, time_lag_ms: Ints, size: int) -> Worst:
    """Return a row for each of `size` keys; `time_lag_ms` is of each lag row."""
    found = Worst(*np.full((5, size), NULL))
    begins = segments.first_rows(rows.key)
    found.time_lag_ms[rows.key[begins]] = segments.reduce(np.maximum, time_lag_ms, begins)
    rows = rows.where(rows.margin != NULL)
    begins = segments.first_rows(rows.key)
    first, last = rows.where(begins), rows.where(segments.last_rows(rows.key))
    span_ms = last.at_us // 1_000 - first.at_us // 1_000
    closer = first.margin - last.margin + np.minimum(0, last.committed - first.committed)
    is_closing = (last.lag > 0) & (span_ms >= _HOUR_MS) & (closer > 0)
    share = last.margin.astype(np.float64) * span_ms / np.where(closer > 0, closer, 1)
    left = np.where(is_closing, np.clip(np.floor(share), -_MOST, _MOST).astype(np.int64), NULL)
    found.margin[last.key] = segments.reduce(np.minimum, rows.margin, begins)
    found.last_ms[last.key] = last.at_us // 1_000
    found.last_margin[last.key] = last.margin
    found.left_ms[last.key] = np.where((last.lag > 0) & (last.margin < 0), 0, left)
    return found


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
    best = dict.fromkeys(("exact", "earliest", "seen"), np.minimum) | dict.fromkeys(("latest", "log_start"), np.maximum)
    values = {name: segments.reduce(ufunc, getattr(found, name), begins) for name, ufunc in best.items()}
    return replace(found.where(begins), **values)


def thin_points(points: Points, log: Ints, now_ms: int, oldest_ms: int) -> Points:
    """Return the points to hand on at `now_ms`: of each partition's current log (`log`), the denser the younger.

    Points whose last time is before `oldest_ms` are removed, except the newest of them.
    """
    kept = points.where(points.log == log[points.partition])
    age = np.maximum(now_ms - kept.latest, _HOUR_MS) / _HOUR_MS
    is_too_old = kept.latest < oldest_ms
    bucket = np.where(is_too_old, LARGEST, np.floor(_POINTS_AN_OCTAVE * np.log2(age)).astype(np.int64))
    # Without the oldest point nothing could be interpolated up to the one after it.
    is_oldest = segments.first_rows(kept.partition) & ~is_too_old
    kept = replace(kept, log_start=segments.highest(kept.log_start, kept.partition))
    return kept.where((now_ms - kept.latest <= _HOUR_MS) | segments.last_rows(kept.partition, bucket) | is_oldest)


def measure_time_lag(rows: LagRows, ends: LogEnds, points: Points) -> tuple[Ints, Ints]:
    """Return the time lag in milliseconds (NULL: not known) and its quality, the place in QUALITIES, at each lag row.

    exact: nothing is left to process (0), or the record's own time is known, if it is not later than the observation.
    interpolated: linear between two points. lower_bound: written before the oldest point; or 0, at a last stable offset
    before the log end. data_loss: committed below the log start; a lower bound, too. unknown: no point says anything.
    """
    now, committed = rows.at_us // 1_000, rows.committed
    previous, following, kept_from = _around(rows, ends, points)
    written, is_exact = _written(points, previous, following, committed)
    # All records before the next point were written earlier.
    time, certain = points.earliest[following], np.minimum(points.exact, points.seen)[following]
    is_time = np.where(kept_from != NULL, points.offset[following] > kept_from, certain == LARGEST)
    before = np.where(is_time, time, certain)
    least = np.where((following >= 0) & (before < now), now - before, NULL)
    start, stable = ends.log_start[rows.observation], ends.last_stable[rows.observation]
    is_written, age = (written != NULL) & (written <= now), now - written
    # In the order of the rules: the condition, the quality and the value.
    rules = (
        (committed >= rows.log_end, EXACT, 0),
        ((stable != NULL) & (committed == stable), LOWER_BOUND, 0),
        ((start != NULL) & (committed < start), DATA_LOSS, least),
        (is_written & is_exact, EXACT, age),
        (is_written, INTERPOLATED, age),
        (least != NULL, LOWER_BOUND, least),
    )
    conditions, qualities, values = zip(*rules, strict=True)
    return np.select(conditions, values, NULL), np.select(conditions, qualities, UNKNOWN)


def _around(rows: LagRows, ends: LogEnds, points: Points) -> tuple[Ints, Ints, Ints]:
    """Return for each lag row the points at or before its commit and after it (-1: none), and its log's highest start.

    Each log of a lag row has points: its ends are some.
    """
    begins = segments.first_rows(points.partition, points.log)
    first = np.flatnonzero(begins)
    of_points, of_ends = ((found.partition << 32) | found.log for found in (points.where(begins), ends))
    log = np.searchsorted(of_points, of_ends)[rows.observation]
    known = np.unique(points.offset)  # for ranks, because offsets may take all 64 bits
    ranks, wanted = np.searchsorted(known, points.offset), np.searchsorted(known, rows.committed, "right") - 1
    places = (np.cumsum(begins) - 1) * len(known) + ranks
    after = np.searchsorted(places, log * len(known) + wanted, "right")
    previous = np.where(after > first[log], after - 1, -1)
    following = np.where(after < np.append(first, len(points))[log + 1], after, -1)
    return previous, following, segments.reduce(np.maximum, points.log_start, begins)[log]


def _written(points: Points, previous: Ints, following: Ints, committed: Ints) -> tuple[Ints, Flags]:
    """Return when the record at the commit was written (NULL: not known), and whether that is its own time.

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
