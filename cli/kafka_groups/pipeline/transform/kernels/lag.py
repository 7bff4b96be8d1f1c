"""Lag at each time that a log end is known for: the last commit then, the rates, and how far retention is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels import segments
from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.segments import NULL, Flags, Floats, Ints, Rows

# Producers' clocks are others than ours: so far ahead they may be.
_CLOCKS_MS: Final = 60_000
# A sample's commits were requested after the sample before it, where there is one, or at most so long ago.
_RUN_MS: Final = 600_000
SPAN_MS: Final = 600_000
# The log start advances by whole segments: over less than this one of them would look like a flood.
_LEAST_MS: Final = 3_600_000
_MOST: Final = 2.0**62
# The least that 64 bits cannot hold.
_TOO_LARGE: Final = 2.0**63


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
    """Of each key's lag rows of a day: the longest time lag, the least margin, and how it was at the last of them.

    `left_ms`: the time until the log start passes a commit that has lag, if both go on as on that day: the margin over
    the difference of how fast they moved between the day's first and last observation, at least an hour apart. 0 where
    the log start has passed already, NULL where it does not come closer.
    """

    time_lag_ms: Ints
    margin: Ints
    last_ms: Ints
    last_margin: Ints
    left_ms: Ints


def measure_lag(ends: LogEnds, commits: Commits, partition_of: Ints) -> LagRows:
    """Return lag rows of the day's log ends, by key and time; `partition_of` is the partition of each key.

    The commit is the last one at or before the observation; from a removal on there is no row until the next commit. A
    sample that would be left with a commit beyond its log end was taken by another clock: then the commit is the one
    that the sample itself saw. A backfill's end that is below the commit because its record was read before the time
    that it bears is not used.
    """
    own = np.flatnonzero(~ends.is_carried)
    first = np.searchsorted(ends.partition[own], partition_of, "left")
    key, place = segments.expand(first, np.searchsorted(ends.partition[own], partition_of, "right") - first)
    place = own[place]
    last = segments.last_at((commits.key, commits.at_us), (key, ends.at_us[place]))
    is_live = ~segments.take(commits.is_removal, last, missing=True)
    key, place, last = key[is_live], place[is_live], last[is_live]
    columns = ends.at_us, ends.log_end, ends.log_start, ends.is_sample, ends.before_us, ends.point_ms
    at_us, log_end, log_start, is_sample, before_us, point_ms = (column[place] for column in columns)
    at_ms = at_us // 1_000
    sampled = segments.last_where(~commits.is_record & ~commits.is_removal, segments.starts_of(commits.key))[last]
    run_ms = np.where(before_us == NULL, at_ms - _RUN_MS, before_us // 1_000)
    of_run = is_sample & (segments.take(commits.at_us, sampled) // 1_000 > run_ms)
    known = np.where(of_run & (commits.offset[last] > log_end), sampled, last)
    committed = commits.offset[known]
    is_ahead = ~is_sample & (committed > log_end) & (point_ms != NULL) & (point_ms - at_ms > _CLOCKS_MS)
    return LagRows(
        key=key,
        at_us=at_us,
        committed=committed,
        log_end=log_end,
        life=commits.life[last],
        log=ends.log[place],
        observation=place,
        commit_us=commits.at_us[known],
        is_commit_record=commits.is_record[known],
        lag=log_end - committed,
        margin=np.where(log_start == NULL, NULL, committed - log_start),
    ).where(~is_ahead)


def measure_rates(rows: Recent) -> tuple[Floats, Floats, Ints]:
    """Return the rates at each row: of consuming and of producing (records a second over ten minutes), `catch_up_ms`.

    A rate is NaN with a single observation in that time, and if the offset fell in it, or is another one now: of a
    commit that was removed, of another log. `catch_up_ms` is NULL if there is no lag, if it does not fall, or if it
    falls so slowly that 64 bits do not hold the time.
    """
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
    is_known = is_falling & (left < _TOO_LARGE)
    return consume, produce, np.where(is_known, np.where(is_known, left, 0).astype(np.int64), NULL)


def find_worst(rows: LagRows, log_start: Ints, time_lag_ms: Ints, size: int) -> Worst:
    """Return a row for each of `size` keys; `log_start` and `time_lag_ms` are of each lag row."""
    found = Worst(*(np.full(size, NULL) for _ in range(5)))
    begins = segments.first_rows(rows.key)
    found.time_lag_ms[rows.key[begins]] = segments.reduce(np.maximum, time_lag_ms, begins)
    known = log_start != NULL
    rows, log_start = rows.where(known), log_start[known]
    begins = segments.first_rows(rows.key)
    key, first, last = rows.key[begins], np.flatnonzero(begins), np.flatnonzero(segments.last_rows(rows.key))
    at_ms = rows.at_us // 1_000
    margin = rows.committed[last] - log_start[last]
    span = at_ms[last] - at_ms[first]
    closer = log_start[last] - log_start[first] - np.maximum(0, rows.committed[last] - rows.committed[first])
    is_behind = rows.lag[last] > 0
    is_closing = is_behind & (span >= _LEAST_MS) & (closer > 0)
    share = margin.astype(np.float64) * span / np.where(closer > 0, closer, 1)
    left = np.where(is_closing, np.clip(np.floor(share), -_MOST, _MOST).astype(np.int64), NULL)
    found.margin[key] = segments.reduce(np.minimum, rows.margin, begins)
    found.last_ms[key] = at_ms[last]
    found.last_margin[key] = margin
    found.left_ms[key] = np.where(is_behind & (margin < 0), 0, left)
    return found
