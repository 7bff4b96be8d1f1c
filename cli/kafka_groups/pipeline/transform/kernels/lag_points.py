"""Points of lag: log ends at which a key's lag is known, the evidence on whether it falls behind.

Between two records the committed offset at an observed log end is interpolated, and known from the second one on. From
samples alone each one that saw another offset is a point. See `kafka_groups.verdicts.lag_points` and `sampled_window`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds
from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    merge_key,
    rows_after,
    starts_of,
    take,
)


@dataclass(frozen=True, slots=True)
class LagPoints(Rows):
    """Points by key, life, log and the time from when on the lag is known."""

    key: Ints
    life: Ints
    log: Ints
    known_us: Ints
    end: Ints
    lag: Ints


@dataclass(frozen=True, slots=True)
class KnownEnds:
    """Log ends of a day by partition and time, after the last one of earlier days, if there is one."""

    partition: Ints
    at_us: Ints
    end: Ints
    log: Ints

    @classmethod
    def of(cls, day: LogEnds, before: KnownEnds) -> KnownEnds:
        """Return the ends of the day that are known, after those `before`."""
        known = np.flatnonzero(day.rows.log_end != NULL)
        partition = np.concatenate([before.partition, day.rows.partition[known]])
        order = np.argsort(partition, kind="stable")
        mine = (day.rows.at_us, day.rows.log_end, day.log)
        others = (before.at_us, before.end, before.log)
        columns = (np.concatenate([o, m[known]])[order] for o, m in zip(others, mine, strict=True))
        return cls(partition[order], *columns)

    def last_until(self, partition: Ints, at_us: Ints, base_us: int) -> Ints:
        """Return the place of the last end of each partition at or before each time, -1 where there is none."""
        own = merge_key(self.partition, self.at_us, base_us)
        place = np.searchsorted(own, merge_key(partition, at_us, base_us), "right") - 1
        is_mine = (place >= 0) & (take(self.partition, place, -1) == partition)
        return np.where(is_mine & (take(self.at_us, place) <= at_us), place, -1)

    def first_from(self, partition: Ints, at_us: Ints, base_us: int) -> Ints:
        """Return the place of the first end of each partition at or after each time, -1 where there is none."""
        own = merge_key(self.partition, self.at_us, base_us)
        place = np.searchsorted(own, merge_key(partition, at_us, base_us), "left")
        place = np.where(place < len(own), place, -1)
        is_mine = (place >= 0) & (take(self.partition, place, -1) == partition)
        return np.where(is_mine & (take(self.at_us, place) >= at_us), place, -1)


def record_points(records: Commits, life: Ints, partition_of: Ints, ends: KnownEnds, base_us: int) -> LagPoints:
    """Return a point for each record before which its log's end was observed since the record before it.

    Of several ends between the same two records the last one counts. `records` may begin with one of earlier days.
    """
    begins = first_rows(records.key, life)
    new_time = begins | first_rows(records.at_us)
    first = np.flatnonzero(new_time)  # of records of the same time
    last = np.append(first[1:], len(records))[: len(first)] - 1
    is_second = ~begins[first]
    before = np.where(is_second, first - 1, -1)
    key, at = records.key[first], records.at_us[first]
    place = ends.last_until(partition_of[key], at, base_us)
    before_us, end_us = take(records.at_us, before), take(ends.at_us, place)
    is_at = (place >= 0) & (end_us == at)
    is_between = (place >= 0) & is_second & (end_us > before_us)
    span = np.where(is_between & ~is_at, at - before_us, 1)
    share = np.where(is_between, end_us - before_us, 0) / span
    old = take(records.offset, before)
    advance = np.where(is_between, records.offset[first] - np.where(is_between, old, 0), 0)
    offset = np.where(is_at, records.offset[last], old + np.floor(advance * share).astype(np.int64))
    chosen = np.flatnonzero((is_at | is_between) & ~records.is_carried[first])
    end = take(ends.end, place)[chosen]
    return LagPoints(
        key[chosen],
        life[first][chosen],
        take(ends.log, place)[chosen],
        at[chosen],
        end,
        np.maximum(0, end - offset[chosen]),
    )


def sample_points(samples: Any, partition_of: Ints, ends: KnownEnds, base_us: int) -> LagPoints:
    """Return a point for each sample (Entries) that saw another offset: with the log end of its own run."""
    place = ends.first_from(partition_of[samples.key], samples.at_us, base_us)
    chosen = np.flatnonzero(place >= 0)
    end = take(ends.end, place)[chosen]
    return LagPoints(
        samples.key[chosen],
        samples.life[chosen],
        take(ends.log, place)[chosen],
        samples.at_us[chosen],
        end,
        np.maximum(0, end - samples.offset[chosen]),
    )


def join_points(carried: LagPoints, day: LagPoints) -> LagPoints:
    """Return the points of earlier days and of the day in order."""
    joined = LagPoints.join(carried, day)
    return joined.where(np.lexsort((np.arange(len(joined)), joined.known_us, joined.log, joined.life, joined.key)))


def last_points(points: LagPoints, life: Ints, log: Ints, count: int) -> LagPoints:
    """Return what to hand on: the last points of each key's current life and log."""
    rows = points.where((points.life == life[points.key]) & (points.log == log[points.key]))
    return rows.where(rows_after(rows.key) < count)


def points_at(rows: LagRows, points: LagPoints, count: int, base_us: int) -> tuple[Ints, Ints]:
    """Return ends and lags of the last `count` points of its life and log at each lag row, NULL where there are fewer.

    The newest is the last column.
    """
    shape = (len(rows), count)
    if not len(points) or not len(rows):
        return np.full(shape, NULL), np.full(shape, NULL)
    # Lives and logs only grow within a key, so that the order of points is that of their times.
    own = merge_key(points.key, points.known_us, base_us)
    place = np.searchsorted(own, merge_key(rows.key, rows.at_us, base_us), "right") - 1
    is_mine: Flags = (place >= 0) & (take(points.key, place, -1) == rows.key)
    is_mine &= (take(points.life, place, -1) == rows.removals) & (take(points.log, place, -1) == rows.log)
    first = starts_of(first_rows(points.key, points.life, points.log))[place]
    back = place[:, None] - np.arange(count - 1, -1, -1)
    is_there = is_mine[:, None] & (back >= first[:, None])
    back = np.maximum(back, 0)
    return np.where(is_there, points.end[back], NULL), np.where(is_there, points.lag[back], NULL)
