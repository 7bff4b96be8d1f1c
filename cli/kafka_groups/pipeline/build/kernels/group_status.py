"""The status of groups: verdict, lag and rates of a group at a time, from its partitions.

Brokers respond at different times, and a partition may be missing in a sample. So each partition counts with its last
status until its next status, for at most ten minutes, and only until its commit is deleted.

A group has a status at each time at which any of its partitions has one: the worst verdict, the sum of the lags above
0, and the longest time lag with the least certain quality. A partition whose log was truncated below its commit has a
negative lag, which must not hide the lag of another partition.

Two partitions of one group; the second one misses the third sample, and still counts (times in µs):

    >>> minute = 60_000_000
    >>> rows = StatusesByGroup(
    ...     group=np.zeros(5, np.int64),
    ...     partition=np.array([0, 0, 0, 1, 1]),
    ...     statuses=new_statuses(at_us=np.array([0, 1, 2, 0, 1]) * minute, lag=np.array([5, 6, 7, 10, 20])),
    ... )
    >>> combined = combine_statuses(rows, day=0)
    >>> combined.lag, combined.partitions
    (array([15, 26, 27]), array([2, 2, 2]))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import PartitionStatuses
from kafka_groups.pipeline.build.kernels import time_lag
from kafka_groups.pipeline.build.kernels.rates import RATE_WINDOW_MS
from kafka_groups.pipeline.build.kernels.segments import (
    DAY_US,
    expand_ranges,
    is_segment_end,
    is_segment_start,
    merge_key,
    reduce_segments,
    sum_segments,
)
from kafka_groups.pipeline.build.kernels.verdicts import RANK_OF_RULE
from kafka_groups.pipeline.build.qualities import BY_CERTAINTY, QUALITIES
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Flags, Floats, Ints

# The last status of a partition counts this long, in ms.
FRESH_MS: Final = RATE_WINDOW_MS
# A group has the least certain quality of its partitions. This order, with the most certain quality first, differs from
# QUALITIES in the last two places only. So it is its own inverse: it maps a quality to its rank, and a rank to its
# quality.
_BY_CERTAINTY: Final = np.array([QUALITIES.index(quality) for quality in BY_CERTAINTY])


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusesByGroup:
    """Statuses of partitions, in any order: row i is row i of `statuses`, whose `key` is not used.

    `group` and `partition` are the numbers of its group and of its partition.
    """

    group: Ints
    partition: Ints
    statuses: PartitionStatuses


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatuses:
    """The statuses of groups, sorted by group and time, in the units of PartitionStatuses: row i is a group at a time.

    - `rule` is the worst rule of a partition.
    - `verdict_since_ms` is when this verdict began: the earliest start among the partitions that have it; for OK, the
      latest start among all partitions.
    - `partitions` is the number of partitions that count.
    - `catch_up_ms` is the longest catch-up time; NULL if there is no lag, or if the lag of any partition does not fall.
    """

    group: Ints
    at_us: Ints
    rule: Ints
    verdict_since_ms: Ints
    partitions: Ints
    lag: Ints
    time_lag_ms: Ints
    time_lag_quality: Ints
    consume_rate: Floats
    produce_rate: Floats
    catch_up_ms: Ints


def new_statuses(*, at_us: Ints, lag: Ints) -> PartitionStatuses:
    """Return statuses whose only known number is the lag; `at_us` are their times in µs since 1970.

    They have key 0 and the first rule, and their time lags are unknown. All other numbers are NULL or NaN.
    """
    row_count = len(at_us)
    return PartitionStatuses(
        key=np.zeros(row_count, np.int64),
        at_us=at_us,
        rule=np.zeros(row_count, np.int64),
        verdict_since_ms=np.full(row_count, NULL),
        lag=lag,
        time_lag_ms=np.full(row_count, NULL),
        time_lag_quality=np.full(row_count, time_lag.UNKNOWN),
        consume_rate=np.full(row_count, np.nan),
        produce_rate=np.full(row_count, np.nan),
        catch_up_ms=np.full(row_count, NULL),
    )


def combine_statuses(grouped_statuses: StatusesByGroup, day: int) -> GroupStatuses:
    """Return the statuses of groups at the times of a day (days since 1970).

    `grouped_statuses` are, in any order, the statuses of the day, statuses of the day before that still count, and
    the deletions of commits (rows without a rule).
    """
    sorted_statuses = _sort_statuses(grouped_statuses)
    times = _EvaluationTimes.of(sorted_statuses, day)
    status_index, time_index = times.spread(sorted_statuses)
    counted_statuses = sorted_statuses.statuses.take(status_index)
    is_start = is_segment_start(time_index)
    partitions = reduce_segments(np.add, np.ones(len(time_index), np.int64), is_start)
    worst_rule = reduce_segments(np.maximum, counted_statuses.rule, is_start)
    stays_behind = (counted_statuses.lag > 0) & (counted_statuses.catch_up_ms == NULL)
    never_catches_up = reduce_segments(np.logical_or, stays_behind, is_start)
    certainty_rank = _BY_CERTAINTY[counted_statuses.time_lag_quality]
    return GroupStatuses(
        group=sorted_statuses.group[status_index][is_start],
        at_us=times.at_us[time_index[is_start]],
        rule=worst_rule,
        verdict_since_ms=_find_verdict_starts(counted_statuses, worst_rule, is_start),
        partitions=partitions,
        lag=sum_segments(np.maximum(counted_statuses.lag, 0), is_start),
        time_lag_ms=reduce_segments(np.maximum, counted_statuses.time_lag_ms, is_start),
        time_lag_quality=_BY_CERTAINTY[reduce_segments(np.maximum, certainty_rank, is_start)],
        consume_rate=reduce_segments(np.add, counted_statuses.consume_rate, is_start),
        produce_rate=reduce_segments(np.add, counted_statuses.produce_rate, is_start),
        catch_up_ms=np.where(
            never_catches_up, NULL, reduce_segments(np.maximum, counted_statuses.catch_up_ms, is_start)
        ),
    )


def _find_verdict_starts(counted_statuses: PartitionStatuses, worst_rule: Ints, is_start: Flags) -> Ints:
    """Return for each segment when its group's verdict began, in ms since 1970, from the verdicts of the partitions.

    `worst_rule` is the worst rule of each segment, and `is_start` marks the first rows of segments.
    """
    worst_rule_of_row = worst_rule[np.cumsum(is_start) - 1]
    has_worst_verdict = RANK_OF_RULE[counted_statuses.rule] == RANK_OF_RULE[worst_rule_of_row]
    earliest_ms = min_known(np.where(has_worst_verdict, counted_statuses.verdict_since_ms, NULL), is_start)
    latest_ms = reduce_segments(np.maximum, counted_statuses.verdict_since_ms, is_start)
    return np.where(RANK_OF_RULE[worst_rule] == 0, latest_ms, earliest_ms)


def _sort_statuses(grouped_statuses: StatusesByGroup) -> StatusesByGroup:
    """Return the rows by group, partition and time; a deletion (rule NULL) comes after a status of the same time."""
    is_deletion = grouped_statuses.statuses.rule == NULL
    order = np.lexsort(
        (is_deletion, grouped_statuses.statuses.at_us, grouped_statuses.partition, grouped_statuses.group)
    )
    return StatusesByGroup(
        group=grouped_statuses.group[order],
        partition=grouped_statuses.partition[order],
        statuses=grouped_statuses.statuses.take(order),
    )


@dataclass(frozen=True, slots=True)
class _EvaluationTimes:
    """Times at which groups are evaluated: each pair of a group and a time of a row of its partitions, in this order.

    - `time_keys` has the `merge_key` of each group and time. Times before `base_us` are equal in the keys.
    - `index_of_row` is the index of the time of each row.
    - `at_us` has the times in µs, 0 where only commits were deleted.
    """

    time_keys: Ints
    index_of_row: Ints
    at_us: Ints
    base_us: int
    day: int

    @classmethod
    def of(cls, sorted_statuses: StatusesByGroup, day: int) -> _EvaluationTimes:
        """Return the times of rows that `_sort_statuses` returned; `index_of_row[i]` belongs to row i.

        `day` is in days since 1970.
        """
        # Rows of the day before are at most FRESH_MS older than midnight; the base is twice as far back.
        base_us = day * DAY_US - 2 * FRESH_MS * 1_000
        at_us = sorted_statuses.statuses.at_us
        time_keys, index_of_row = np.unique(merge_key(sorted_statuses.group, at_us, base_us), return_inverse=True)
        is_status = sorted_statuses.statuses.rule != NULL
        evaluation_us = np.zeros(len(time_keys), np.int64)
        evaluation_us[index_of_row[is_status]] = at_us[is_status]
        return cls(time_keys, index_of_row, evaluation_us, base_us, day)

    def spread(self, sorted_statuses: StatusesByGroup) -> tuple[Ints, Ints]:
        """Return all pairs of a status and a time of the day at which it counts, by time.

        `sorted_statuses` are the rows that `of` received. The first array has indices in `sorted_statuses`, the second
        has indices of times. A status counts at least at its own time.
        """
        is_status = sorted_statuses.statuses.rule != NULL
        time_count = np.where(is_status, np.maximum(self._last_index(sorted_statuses) - self.index_of_row, 0) + 1, 0)
        status_index, time_index = expand_ranges(self.index_of_row, time_count)
        order = np.argsort(time_index, kind="stable")
        order = order[self.at_us[time_index[order]] >= self.day * DAY_US]
        return status_index[order], time_index[order]

    def _last_index(self, sorted_statuses: StatusesByGroup) -> Ints:
        """Return the index of the last time at which each row counts: it must be fresh, and its partition's last row.

        This is before the row's own time if the next row has the same time.
        """
        # Brokers return milliseconds: a status counts until the end of its millisecond.
        stale_us = (sorted_statuses.statuses.at_us // 1_000 + FRESH_MS + 1) * 1_000
        last_fresh_index = np.searchsorted(self.time_keys, merge_key(sorted_statuses.group, stale_us, self.base_us)) - 1
        before_next_row = np.append(self.index_of_row[1:], 0) - 1
        is_last_of_partition = is_segment_end(sorted_statuses.group, sorted_statuses.partition)
        return np.where(is_last_of_partition, last_fresh_index, np.minimum(last_fresh_index, before_next_row))


def min_known(values: Ints, is_start: Flags) -> Ints:
    """Return the smallest value of each segment, ignoring NULL; NULL where all values are."""
    minimum = reduce_segments(np.minimum, np.where(values == NULL, LARGEST, values), is_start)
    return np.where(minimum == LARGEST, NULL, minimum)
