"""Log end offsets over time: the log to which each one belongs, and which of them can be used.

A new log begins with a sample whose log end is below the previous one (the log was truncated), or whose topic id
differs (the topic was recreated). Offsets of different logs cannot be compared, so each row gets the number of its log.

- A slow sampler, or one whose clock is behind, may write an older log end after a newer one. So a lower log end is
  ignored if it comes within 30 s of the previous sample, or has the same topic id, unless the next log end is also
  below the previous sample. The last log end of a day has no next one: it is ignored only within 30 s of the previous
  sample.
- A backfill looks up offsets in the present log by the timestamps of its records. A backfilled log end is ignored if it
  contradicts the samples around it, or has another topic id.

Five samples of one partition, a minute apart; the log is truncated before the fourth one:

    >>> minute = 60_000_000
    >>> samples = new_log_ends(
    ...     partition=np.zeros(5, np.int64),
    ...     at_us=np.arange(5) * minute,
    ...     log_end=np.array([100, 120, 130, 40, 60]),
    ... )
    >>> number_logs(samples, carried_ends=LogEnds.empty(), partition_count=1).log_number
    array([0, 0, 0, 1, 1])
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.build.frames import LogEnds
from kafka_groups.pipeline.build.kernels.segments import (
    is_among_last,
    is_segment_end,
    is_segment_start,
    last_index_before,
    last_values,
    next_index_after,
    reduce_segments,
    running_count,
    segment_maximum,
    segment_starts,
    sum_segments,
    take,
)
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Flags, Ints

# Two samples that run at the same time may get their responses in a different order from their requests.
_OVERLAP_MS: Final = 30_000


def new_log_ends(*, partition: Ints, at_us: Ints, log_end: Ints, **other_columns: Any) -> LogEnds:
    """Return log ends that are not numbered yet, as samples by default; `other_columns` are further columns.

    `at_us` is in µs since 1970. Columns that are not given are NULL, 0 or false; all rows are marked as used.
    """
    row_count = len(partition)
    columns: dict[str, Any] = {
        "is_sample": np.ones(row_count, np.bool_),
        "log_start": np.full(row_count, NULL),
        "last_stable": np.full(row_count, NULL),
        "lookup_offset": np.full(row_count, NULL),
        "lookup_timestamp_ms": np.full(row_count, NULL),
        "topic_id": np.full(row_count, NULL),
        "log_number": np.zeros(row_count, np.int64),
        "previous_sample_us": np.full(row_count, NULL),
        "is_used": np.ones(row_count, np.bool_),
        "is_carried": np.zeros(row_count, np.bool_),
    }
    return LogEnds(partition=partition, at_us=at_us, log_end=log_end, **(columns | other_columns))


def number_logs(day_ends: LogEnds, *, carried_ends: LogEnds, partition_count: int) -> LogEnds:
    """Decide to which log each log end of a day belongs, and which log ends can be used.

    Return the carried rows and the day's rows, by partition and time, with `log_number`, `previous_sample_us` and
    `is_used`. `carried_ends` are the rows that `carry_log_ends` returned for the day before; `partition_count` is the
    number of partitions. Rows of the day may be in any order. If a partition has several rows at one time, only one is
    kept: a sample if there is one. A sample is compared with the previous used log end; the first line that applies
    decides:

        the topic id is another one                            new log
        the log end is not lower                               same log
        it is lower, and so is the next log end                new log
        it is lower within 30 s                                same log, not used
        it is lower, and it is the last one of the day         new log
        it is lower under the same topic id                    same log, not used
        it is lower, and a topic id is unknown                 new log

    If the last log end of the day before was not used, the next lower one begins a new log.
    """
    # Carried rows are earlier than the day's, and the sort is stable: a partition's rows are in order of time.
    log_ends = LogEnds.join(carried_ends, _drop_duplicates(day_ends)).sort_by("partition")
    is_on_day = ~log_ends.is_carried
    start_index = segment_starts(log_ends.partition)
    has_end = log_ends.is_sample & (log_ends.log_end != NULL)
    # A carried end that is not used was the last one of its day. The next end shows whether the log was truncated.
    is_unconfirmed = has_end & log_ends.is_carried & ~log_ends.is_used
    previous_index = last_index_before(has_end & ~is_unconfirmed, start_index)
    previous_end = take(log_ends.log_end, previous_index)
    follows_unconfirmed = last_index_before(has_end, start_index) != previous_index
    next_end = take(log_ends.log_end, next_index_after(has_end, log_ends.partition))
    # NULL is below all offsets, so nothing falls below an unknown end.
    has_fallen = has_end & (log_ends.log_end < previous_end)
    is_close = log_ends.at_us // 1_000 - take(log_ends.at_us, previous_index) // 1_000 <= _OVERLAP_MS
    is_same_topic = (log_ends.topic_id != NULL) & (take(log_ends.topic_id, previous_index) == log_ends.topic_id)
    stays_below = follows_unconfirmed | ((next_end != NULL) & (next_end < previous_end))
    # The last end of a day has no next one to compare with. It counts, unless two samples ran at the same time.
    is_last = next_end == NULL
    is_truncated = has_fallen & (stays_below | ~(is_close | is_same_topic) | (is_last & ~is_close))
    is_new_log = is_on_day & (_is_recreated(log_ends, start_index) | is_truncated)
    day_log_number = last_log_numbers(carried_ends, partition_count)[log_ends.partition] + running_count(
        is_new_log, start_index
    )
    numbered_ends = replace(
        log_ends,
        topic_id=_fill_topic_ids(log_ends, start_index),
        log_number=np.where(is_on_day, day_log_number, log_ends.log_number),
        previous_sample_us=take(log_ends.at_us, last_index_before(log_ends.is_sample, start_index)),
        is_used=np.where(is_on_day, is_new_log | ~has_fallen, log_ends.is_used),
    )
    is_contradicted = is_on_day & ~log_ends.is_sample & _contradicts_samples(numbered_ends)
    return replace(numbered_ends, is_used=numbered_ends.is_used & ~is_contradicted)


def _drop_duplicates(day_ends: LogEnds) -> LogEnds:
    """Keep one row for each partition and time, sorted by both: a sample if there is one, else a backfilled row.

    Rows of one origin repeat if they were read or backfilled twice. The row with the highest numbers is kept, so that
    the result does not depend on the order in which files are read.
    """
    sorted_ends = day_ends.sort_by(
        "partition",
        "at_us",
        "is_sample",
        "log_start",
        "log_end",
        "last_stable",
        "lookup_offset",
        "lookup_timestamp_ms",
        "topic_id",
    )
    return sorted_ends.take(is_segment_end(sorted_ends.partition, sorted_ends.at_us))


def _fill_topic_ids(log_ends: LogEnds, start_index: Ints) -> Ints:
    """Return each row's topic id: its own one, else the last sampled one before it; NULL if there is none."""
    has_sampled_id = log_ends.is_sample & (log_ends.topic_id != NULL)
    previous_id = take(log_ends.topic_id, last_index_before(has_sampled_id, start_index))
    return np.where(log_ends.topic_id != NULL, log_ends.topic_id, previous_id)


def _is_recreated(log_ends: LogEnds, start_index: Ints) -> Flags:
    """Return a mask of the samples at which a topic was recreated: the last sampled topic id before it differs."""
    has_id = log_ends.is_sample & (log_ends.topic_id != NULL)
    previous_id = take(log_ends.topic_id, last_index_before(has_id, start_index))
    is_recreated: Flags = has_id & (previous_id != NULL) & (log_ends.topic_id != previous_id)
    return is_recreated


def _contradicts_samples(log_ends: LogEnds) -> Flags:
    """Return a mask of the rows whose log end or topic id contradicts the used samples of the same log.

    A log only grows, so a log end is neither below the previous sampled one nor above the next one.
    """
    log_codes = (log_ends.partition, log_ends.log_number)
    has_used_end = log_ends.is_sample & (log_ends.log_end != NULL) & log_ends.is_used
    min_end = take(log_ends.log_end, last_index_before(has_used_end, segment_starts(*log_codes)))
    max_end = take(log_ends.log_end, next_index_after(has_used_end, *log_codes), LARGEST)
    is_out_of_range = (log_ends.log_end != NULL) & ((log_ends.log_end < min_end) | (log_ends.log_end > max_end))
    sampled_id = segment_maximum(np.where(log_ends.is_sample, log_ends.topic_id, NULL), *log_codes)
    has_other_id = (sampled_id != NULL) & (log_ends.topic_id != NULL) & (log_ends.topic_id != sampled_id)
    contradicts: Flags = is_out_of_range | has_other_id
    return contradicts


def last_log_numbers(log_ends: LogEnds, partition_count: int) -> Ints:
    """Return the number of the present log of each partition: that of its last row; 0 without a row."""
    every_row = np.ones(len(log_ends), np.bool_)
    return last_values(log_ends.partition, every_row, log_ends.log_number, np.zeros(partition_count, np.int64))


def carry_log_ends(log_ends: LogEnds, *, partition_count: int) -> LogEnds:
    """Return the rows that the next day needs, marked as carried; `log_ends` are those that `number_logs` returned.

    For each of `partition_count` partitions, these are
    - the last sample, the last sample with a log end, and the last sample with a topic id;
    - from the present log: the last sample, the last row with a log start, and the last row.
    """
    has_end = log_ends.log_end != NULL
    is_in_last_log = (
        log_ends.is_used
        & has_end
        & (log_ends.log_number == last_log_numbers(log_ends, partition_count)[log_ends.partition])
    )
    conditions = [
        log_ends.is_sample,
        log_ends.is_sample & has_end,
        log_ends.is_sample & (log_ends.topic_id != NULL),
        log_ends.is_sample & is_in_last_log,
        is_in_last_log & (log_ends.log_start != NULL),
        is_in_last_log,
    ]
    is_chosen = np.zeros(len(log_ends), np.bool_)
    for condition in conditions:
        is_chosen |= is_among_last(condition, log_ends.partition)
    return replace(log_ends, is_carried=np.ones(len(log_ends), np.bool_)).take(is_chosen)


def measure_growth(log_ends: LogEnds, partition_count: int) -> Ints:
    """Return by how many offsets each partition grew on the day; NULL where no log was observed twice.

    `log_ends` are used rows with a known log end. A log grows from its first to its last log end of the day. The growth
    of a partition is the sum over its logs.
    """
    day_ends = log_ends.take(~log_ends.is_carried)
    log_codes = (day_ends.partition, day_ends.log_number)
    first_ends = day_ends.take(is_segment_start(*log_codes))
    last_ends = day_ends.take(is_segment_end(*log_codes))
    is_known = last_ends.at_us > first_ends.at_us
    partition = first_ends.partition[is_known]
    growth_of_log = np.maximum(0, last_ends.log_end - first_ends.log_end)[is_known]
    is_start = is_segment_start(partition)
    growth_of_partition = np.full(partition_count, NULL)
    growth_of_partition[partition[is_start]] = sum_segments(growth_of_log, is_start)
    return growth_of_partition


def find_idle_partitions(day_ends: LogEnds, partition_count: int) -> Flags:
    """Return a mask of the partitions that were observed at least twice on the day, always with one log end.

    `day_ends` has the rows of the day, by partition and time.
    """
    known_ends = day_ends.take(day_ends.log_end != NULL)
    is_start = is_segment_start(known_ends.partition)
    is_end = is_segment_end(known_ends.partition)
    min_end = reduce_segments(np.minimum, known_ends.log_end, is_start)
    max_end = reduce_segments(np.maximum, known_ends.log_end, is_start)
    is_idle = np.zeros(partition_count, np.bool_)
    is_observed_twice = known_ends.at_us[is_start] < known_ends.at_us[is_end]
    is_idle[known_ends.partition[is_start]] = (min_end == max_end) & is_observed_twice
    return is_idle
