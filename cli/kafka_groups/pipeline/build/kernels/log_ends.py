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
    >>> number_logs(samples, carried=LogEnds.empty(), size=1).log_number
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


def new_log_ends(*, partition: Ints, at_us: Ints, log_end: Ints, **others: Any) -> LogEnds:
    """Return log ends that are not numbered yet, as samples by default; `others` are further columns.

    `at_us` is in µs since 1970. Columns that are not given are NULL, 0 or false; all rows are marked as used.
    """
    size = len(partition)
    columns: dict[str, Any] = {
        "is_sample": np.ones(size, np.bool_),
        "log_start": np.full(size, NULL),
        "last_stable": np.full(size, NULL),
        "lookup_offset": np.full(size, NULL),
        "lookup_timestamp_ms": np.full(size, NULL),
        "topic_id": np.full(size, NULL),
        "log_number": np.zeros(size, np.int64),
        "previous_sample_us": np.full(size, NULL),
        "is_used": np.ones(size, np.bool_),
        "is_carried": np.zeros(size, np.bool_),
    }
    return LogEnds(partition=partition, at_us=at_us, log_end=log_end, **(columns | others))


def number_logs(day: LogEnds, *, carried: LogEnds, size: int) -> LogEnds:
    """Decide to which log each log end of a day belongs, and which log ends can be used.

    Return the carried rows and the day's rows, by partition and time, with `log_number`, `previous_sample_us` and
    `is_used`. `carried` are the rows that `carry_log_ends` returned for the day before; `size` is the number of
    partitions. Rows of the day may be in any order. If a partition has several rows at one time, only one is kept: a
    sample if there is one. A sample is compared with the previous used log end; the first line that applies decides:

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
    rows = LogEnds.join(carried, _unique_rows(day)).sort_by("partition")
    is_of_day = ~rows.is_carried
    start_index = segment_starts(rows.partition)
    has_end = rows.is_sample & (rows.log_end != NULL)
    # A carried end that is not used was the last one of its day. The next end shows whether the log was truncated.
    is_unconfirmed = has_end & rows.is_carried & ~rows.is_used
    previous = last_index_before(has_end & ~is_unconfirmed, start_index)
    previous_end = take(rows.log_end, previous)
    follows_unconfirmed = last_index_before(has_end, start_index) != previous
    next_end = take(rows.log_end, next_index_after(has_end, rows.partition))
    # NULL is below all offsets, so nothing falls below an unknown end.
    has_fallen = has_end & (rows.log_end < previous_end)
    is_close = rows.at_us // 1_000 - take(rows.at_us, previous) // 1_000 <= _OVERLAP_MS
    is_same_topic = (rows.topic_id != NULL) & (take(rows.topic_id, previous) == rows.topic_id)
    stays_below = follows_unconfirmed | ((next_end != NULL) & (next_end < previous_end))
    # The last end of a day has no next one to compare with. It counts, unless two samples ran at the same time.
    is_last = next_end == NULL
    is_truncated = has_fallen & (stays_below | ~(is_close | is_same_topic) | (is_last & ~is_close))
    is_new_log = is_of_day & (_is_recreated(rows, start_index) | is_truncated)
    counted = last_log_numbers(carried, size)[rows.partition] + running_count(is_new_log, start_index)
    numbered = replace(
        rows,
        topic_id=_known_topic_ids(rows, start_index),
        log_number=np.where(is_of_day, counted, rows.log_number),
        previous_sample_us=take(rows.at_us, last_index_before(rows.is_sample, start_index)),
        is_used=np.where(is_of_day, is_new_log | ~has_fallen, rows.is_used),
    )
    is_contradicted = is_of_day & ~rows.is_sample & _contradicts_samples(numbered)
    return replace(numbered, is_used=numbered.is_used & ~is_contradicted)


def _unique_rows(day: LogEnds) -> LogEnds:
    """Keep one row for each partition and time, sorted by both: a sample if there is one, else a backfilled row.

    Rows of one origin repeat if they were read or backfilled twice. The row with the highest numbers is kept, so that
    the result does not depend on the order in which files are read.
    """
    ordered = day.sort_by(
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
    return ordered.take(is_segment_end(ordered.partition, ordered.at_us))


def _known_topic_ids(rows: LogEnds, start_index: Ints) -> Ints:
    """Return each row's topic id: its own one, else the last sampled one before it; NULL if there is none."""
    has_sampled_id = rows.is_sample & (rows.topic_id != NULL)
    previous_id = take(rows.topic_id, last_index_before(has_sampled_id, start_index))
    return np.where(rows.topic_id != NULL, rows.topic_id, previous_id)


def _is_recreated(rows: LogEnds, start_index: Ints) -> Flags:
    """Return a mask of the samples at which a topic was recreated: the last sampled topic id before it differs."""
    has_id = rows.is_sample & (rows.topic_id != NULL)
    previous_id = take(rows.topic_id, last_index_before(has_id, start_index))
    is_recreated: Flags = has_id & (previous_id != NULL) & (rows.topic_id != previous_id)
    return is_recreated


def _contradicts_samples(rows: LogEnds) -> Flags:
    """Return a mask of the rows whose log end or topic id contradicts the used samples of the same log.

    A log only grows, so a log end is neither below the previous sampled one nor above the next one.
    """
    log = (rows.partition, rows.log_number)
    has_used_end = rows.is_sample & (rows.log_end != NULL) & rows.is_used
    min_end = take(rows.log_end, last_index_before(has_used_end, segment_starts(*log)))
    max_end = take(rows.log_end, next_index_after(has_used_end, *log), LARGEST)
    is_beyond = (rows.log_end != NULL) & ((rows.log_end < min_end) | (rows.log_end > max_end))
    sampled_id = segment_maximum(np.where(rows.is_sample, rows.topic_id, NULL), *log)
    has_other_id = (sampled_id != NULL) & (rows.topic_id != NULL) & (rows.topic_id != sampled_id)
    contradicts: Flags = is_beyond | has_other_id
    return contradicts


def last_log_numbers(rows: LogEnds, size: int) -> Ints:
    """Return the number of the present log of each of `size` partitions: that of its last row; 0 without a row."""
    every_row = np.ones(len(rows), np.bool_)
    return last_values(rows.partition, every_row, rows.log_number, np.zeros(size, np.int64))


def carry_log_ends(rows: LogEnds, *, size: int) -> LogEnds:
    """Return the rows that the next day needs, marked as carried; `rows` are those that `number_logs` returned.

    For each of `size` partitions, these are
    - the last sample, the last sample with a log end, and the last sample with a topic id;
    - from the present log: the last sample, the last row with a log start, and the last row.
    """
    has_end = rows.log_end != NULL
    is_of_last_log = rows.is_used & has_end & (rows.log_number == last_log_numbers(rows, size)[rows.partition])
    conditions = [
        rows.is_sample,
        rows.is_sample & has_end,
        rows.is_sample & (rows.topic_id != NULL),
        rows.is_sample & is_of_last_log,
        is_of_last_log & (rows.log_start != NULL),
        is_of_last_log,
    ]
    is_chosen = np.zeros(len(rows), np.bool_)
    for condition in conditions:
        is_chosen |= is_among_last(condition, rows.partition)
    return replace(rows, is_carried=np.ones(len(rows), np.bool_)).take(is_chosen)


def measure_growth(ends: LogEnds, size: int) -> Ints:
    """Return by how many offsets each of `size` partitions grew on the day; NULL where no log was observed twice.

    `ends` are used rows with a known log end. A log grows from its first to its last log end of the day. The growth of
    a partition is the sum over its logs.
    """
    day = ends.take(~ends.is_carried)
    log = (day.partition, day.log_number)
    first = day.take(is_segment_start(*log))
    last = day.take(is_segment_end(*log))
    is_known = last.at_us > first.at_us
    partition = first.partition[is_known]
    growth_of_log = np.maximum(0, last.log_end - first.log_end)[is_known]
    is_start = is_segment_start(partition)
    growth = np.full(size, NULL)
    growth[partition[is_start]] = sum_segments(growth_of_log, is_start)
    return growth


def find_idle_partitions(day: LogEnds, size: int) -> Flags:
    """Return a mask of `size` partitions: those that were observed at least twice on the day, always with one log end.

    `day` has the rows of the day, by partition and time.
    """
    known_ends = day.take(day.log_end != NULL)
    is_start = is_segment_start(known_ends.partition)
    is_end = is_segment_end(known_ends.partition)
    min_end = reduce_segments(np.minimum, known_ends.log_end, is_start)
    max_end = reduce_segments(np.maximum, known_ends.log_end, is_start)
    is_idle = np.zeros(size, np.bool_)
    is_observed_twice = known_ends.at_us[is_start] < known_ends.at_us[is_end]
    is_idle[known_ends.partition[is_start]] = (min_end == max_end) & is_observed_twice
    return is_idle
