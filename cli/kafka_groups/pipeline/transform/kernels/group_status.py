"""The status of a group at each time that one of its partitions has one: the worst rule, and what partitions add up to.

Brokers respond at different times, and one may miss a sampling run. So each partition counts with its last row until
its next one, for at most ten minutes, and only until its commit is removed. A partition whose log was truncated below
its commit does not make up for what another has still to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Floats,
    Ints,
    Rows,
    first_rows,
    reduce,
    saturated_sum,
)
from kafka_groups.pipeline.transform.kernels.time_lag import DATA_LOSS, EXACT, INTERPOLATED, LOWER_BOUND, UNKNOWN

# A partition that was not observed for longer is not known to be as it was.
FRESH_MS: Final = 600_000
_LARGEST: Final = int(np.iinfo(np.int64).max)
_TIME_BITS: Final = 38


# Qualities of time lags from the most certain to the least, which stands for a group; it is its own inverse.
_CERTAINTY: Final = np.array([EXACT, INTERPOLATED, LOWER_BOUND, UNKNOWN, DATA_LOSS])


@dataclass(frozen=True, slots=True)
class Statuses(Rows):
    """Verdicts on partitions, and removals of commits (rank NULL), by group (a number), partition (one, too), time.

    Rates are records a second, NaN if unknown.
    """

    group: Ints
    partition: Ints
    at_us: Ints
    rank: Ints
    is_complete: Flags
    window_start_ms: Ints
    window_end_ms: Ints
    lag: Ints
    time_lag_ms: Ints
    quality: Ints
    consume: Floats
    produce: Floats
    catch_up_ms: Ints


@dataclass(frozen=True, slots=True)
class GroupStatuses(Rows):
    """A row for each group and time; `complete` is the share of partitions whose windows are complete.

    `partitions` is the number of partitions that count; the rates are NaN if that of one is unknown.
    """

    group: Ints
    at_us: Ints
    rank: Ints
    complete: Floats
    window_start_ms: Ints
    window_end_ms: Ints
    partitions: Ints
    lag: Ints
    time_lag_ms: Ints
    quality: Ints
    consume: Floats
    produce: Floats
    catch_up_ms: Ints


def combine(rows: Statuses, base_us: int) -> GroupStatuses:
    """Return the statuses of groups from those of one day that begins at `base_us`, and of the ten minutes before."""
    early_us = base_us - 2 * FRESH_MS * 1_000
    order = np.lexsort((rows.rank == NULL, rows.at_us, rows.partition, rows.group))
    rows = rows.where(order)
    is_status = rows.rank != NULL
    moment = (rows.group << _TIME_BITS) | np.maximum(rows.at_us - early_us, 0)
    moments, number = np.unique(moment, return_inverse=True)
    group_of = moments >> _TIME_BITS
    newest = np.searchsorted(group_of, group_of, "right") - 1
    # Until the next row of the partition, or to the end.
    begins = first_rows(rows.group, rows.partition)
    following = np.concatenate([number[1:], [0]]) - 1
    until = np.where(np.concatenate([begins[1:], [True]]), newest[number], following)
    until = np.maximum(until, number)
    # A time of the broker counts by its millisecond.
    at_ms = ((moments & ((1 << _TIME_BITS) - 1)) + early_us) // 1_000
    limit = np.searchsorted((group_of << _TIME_BITS) | (at_ms - early_us // 1_000), _fresh(rows, early_us), "right") - 1
    until = np.minimum(until, limit)
    place = np.flatnonzero(is_status)
    count = until[place] - number[place] + 1
    which = np.repeat(place, count)
    at = np.repeat(number[place] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
    has_own = np.zeros(len(moments), np.bool_)
    has_own[number[place]] = True
    chosen = has_own[at]
    return _added_up(
        rows, which[chosen], at[chosen], (group_of, (moments & ((1 << _TIME_BITS) - 1)) + early_us), base_us
    )


def _fresh(rows: Statuses, early_us: int) -> Ints:
    """Return until which moment each row counts, as a number in the order of groups and milliseconds."""
    return (rows.group << _TIME_BITS) | np.maximum(rows.at_us // 1_000 + FRESH_MS - early_us // 1_000, 0)


def _added_up(rows: Statuses, which: Ints, at: Ints, moments: tuple[Ints, Ints], base_us: int) -> GroupStatuses:
    order = np.argsort(at, kind="stable")
    which, at = which[order], at[order]
    begins = first_rows(at) if len(at) else np.zeros(0, np.bool_)
    start = np.where(rows.window_start_ms == NULL, _LARGEST, rows.window_start_ms)[which]
    least = reduce(np.minimum, start, begins)
    size = reduce(np.add, np.ones(len(which), np.int64), begins)
    never = (rows.lag[which] > 0) & (rows.catch_up_ms[which] == NULL)
    found = GroupStatuses(
        group=moments[0][at[begins]],
        at_us=moments[1][at[begins]],
        rank=reduce(np.maximum, rows.rank[which], begins),
        complete=reduce(np.add, rows.is_complete[which].astype(np.float64), begins) / size,
        window_start_ms=np.where(least == _LARGEST, NULL, least),
        window_end_ms=reduce(np.maximum, rows.window_end_ms[which], begins),
        partitions=size,
        lag=saturated_sum(np.maximum(rows.lag[which], 0), begins),
        time_lag_ms=reduce(np.maximum, rows.time_lag_ms[which], begins),
        quality=_CERTAINTY[reduce(np.maximum, _CERTAINTY[rows.quality[which]], begins)],
        consume=reduce(np.add, rows.consume[which], begins),
        produce=reduce(np.add, rows.produce[which], begins),
        catch_up_ms=np.where(
            reduce(np.logical_or, never, begins), NULL, reduce(np.maximum, rows.catch_up_ms[which], begins)
        ),
    )
    mine = found.at_us >= base_us
    return found.where(mine)
