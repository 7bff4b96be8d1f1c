"""What is known of logs: where each ended at each time, and which log a topic partition had then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    last_before,
    last_rows,
    next_after,
    reduce,
    running,
    running_back,
    running_count,
    saturated_sum,
    sliding,
    starts_of,
    take,
)

# Two samples at the same time may have responses in another order than their requests.
_OVERLAP_US: Final = 30_000_000


@dataclass(frozen=True, slots=True)
class Observations(Rows):
    """Rows of partition_offsets, by partition (a number) and time. `topic_id` is the code of a text, or NULL."""

    partition: Ints
    at_us: Ints
    is_sample: Flags
    log_start: Ints
    log_end: Ints
    last_stable: Ints
    point_offset: Ints
    point_ms: Ints
    topic_id: Ints


@dataclass(frozen=True, slots=True)
class LogStates:
    """What a day hands to the next, one row a partition: see `state.py` for the columns' meaning."""

    seen_us: Ints  # the last sample
    seen_end_us: Ints  # the last sample that had a log end
    seen_end: Ints
    topic_id: Ints  # of the last sample that had one
    log: Ints  # how often the log was another one
    highest_end: Ints  # of samples of this log
    log_topic_id: Ints  # the largest of this log's samples


@dataclass(frozen=True, slots=True)
class LogEnds:
    """Observations of one day that agree with each other, each with the number of its `log` and the sample `before`."""

    rows: Observations
    log: Ints
    before_us: Ints
    is_first_of_log: Flags


def observe(day: Observations, carried: LogStates) -> tuple[LogEnds, LogStates]:
    """Return each partition's log once for each time, and the state at the day's end.

    A sample counts before a backfill of the same time. A log is another one from the sample on whose end is below the
    one before, or whose topic id is another one. An end that fell within half a minute of the sample before, but not as
    far as the next one, was determined before that one, and is not used. A backfill reports what producers wrote as
    times, and the topic that there is now: rows that contradict samples of the same log, whose ends only grow, are not
    used.
    """
    once = day.where(_latest_of_each_time(day))
    logs, states = _number_logs(once, carried)
    kept = _agreeing(logs, carried)
    return kept, _with_highest(states, kept, carried)


def _latest_of_each_time(day: Observations) -> Ints:
    """Return places in order of partition and time: of rows with the same time the largest, samples first."""
    values = (
        day.topic_id,
        day.point_ms,
        day.point_offset,
        day.last_stable,
        day.log_end,
        day.log_start,
        day.is_sample,
        day.at_us,
        day.partition,
    )
    order = np.lexsort(values)
    return order[last_rows(day.partition[order], day.at_us[order])]


def _number_logs(once: Observations, carried: LogStates) -> tuple[LogEnds, LogStates]:
    partition, end = once.partition, once.log_end
    begins = first_rows(partition)
    starts = starts_of(begins)
    has_end, has_id = once.is_sample & (end != NULL), once.is_sample & (once.topic_id != NULL)
    seen = last_before(has_end, starts)
    seen_end = np.where(seen >= 0, take(end, seen), carried.seen_end[partition])
    seen_us = np.where(seen >= 0, take(once.at_us, seen), carried.seen_end_us[partition])
    sampled = last_before(once.is_sample, starts)
    before_us = np.where(sampled >= 0, take(once.at_us, sampled), carried.seen_us[partition])
    known = last_before(has_id, starts)
    topic_id = np.where(known >= 0, take(once.topic_id, known), carried.topic_id[partition])
    next_end = take(end, next_after(has_end, begins))
    is_another = has_id & (topic_id != NULL) & (once.topic_id != topic_id)
    fell = has_end & (seen_end != NULL) & (end < seen_end)
    is_close = once.at_us // 1_000 - seen_us // 1_000 <= _OVERLAP_US // 1_000
    is_new = is_another | (fell & (~is_close | ((next_end != NULL) & (next_end < seen_end))))
    kept = np.flatnonzero(is_new | ~fell)
    log = carried.log[partition] + running_count(is_new, starts)
    ends = LogEnds(once.where(kept), log[kept], before_us[kept], is_new[kept])
    return ends, _last_of_day(once, log, (has_end, has_id), carried)


def _last_of_day(once: Observations, log: Ints, has: tuple[Flags, Flags], carried: LogStates) -> LogStates:
    """Return the state without what depends on the rows that are used."""
    size = len(carried.log)
    has_end, has_id = has

    def last(condition: Flags, values: Ints, before: Ints) -> Ints:
        found = np.full(size, -1)
        places = np.flatnonzero(condition)
        found[once.partition[places]] = places  # the last one of several stays
        return np.where(found >= 0, take(values, found), before)

    every = np.ones(len(once), np.bool_)
    return LogStates(
        seen_us=last(once.is_sample, once.at_us, carried.seen_us),
        seen_end_us=last(has_end, once.at_us, carried.seen_end_us),
        seen_end=last(has_end, once.log_end, carried.seen_end),
        topic_id=last(has_id, once.topic_id, carried.topic_id),
        log=last(every, log, carried.log),
        highest_end=carried.highest_end,
        log_topic_id=carried.log_topic_id,
    )


def _agreeing(logs: LogEnds, carried: LogStates) -> LogEnds:
    """Return all samples, and of backfills those that the samples of the same log allow."""
    rows, log = logs.rows, logs.log
    if rows.is_sample.all():
        return logs
    begins = first_rows(rows.partition, log)
    starts = starts_of(begins)
    is_carried = log == carried.log[rows.partition]
    sampled = np.where(rows.is_sample, rows.log_end, NULL)
    least = running(np.maximum, sampled, starts)
    least = np.maximum(least, np.where(is_carried, carried.highest_end[rows.partition], NULL))
    beyond = np.iinfo(np.int64).max
    most = running_back(np.minimum, np.where(sampled == NULL, beyond, sampled), begins)
    ids = reduce(np.maximum, np.where(rows.is_sample, rows.topic_id, NULL), begins)[np.cumsum(begins) - 1]
    ids = np.maximum(ids, np.where(is_carried, carried.log_topic_id[rows.partition], NULL))
    is_known = rows.log_end != NULL
    is_false = is_known & (((least != NULL) & (rows.log_end < least)) | (rows.log_end > most))
    is_false |= (ids != NULL) & (rows.topic_id != NULL) & (rows.topic_id != ids)
    kept = np.flatnonzero(rows.is_sample | ~is_false)
    return LogEnds(rows.where(kept), log[kept], logs.before_us[kept], logs.is_first_of_log[kept])


def _with_highest(states: LogStates, kept: LogEnds, carried: LogStates) -> LogStates:
    rows = kept.rows
    is_same = states.log == carried.log
    highest = np.where(is_same, carried.highest_end, NULL)
    ids = np.where(is_same, carried.log_topic_id, NULL)
    mine = rows.is_sample & (kept.log == states.log[rows.partition])
    np.maximum.at(highest, rows.partition[mine], rows.log_end[mine])
    np.maximum.at(ids, rows.partition[mine], rows.topic_id[mine])
    return LogStates(
        seen_us=states.seen_us,
        seen_end_us=states.seen_end_us,
        seen_end=states.seen_end,
        topic_id=states.topic_id,
        log=states.log,
        highest_end=highest,
        log_topic_id=ids,
    )


def growth(ends: LogEnds, partitions: int) -> Ints:
    """Return by how much each partition's logs grew between the day's first and last end of each; NULL if unknown.

    A log that was observed once has not grown: that is not known.
    """
    rows = ends.rows
    known = np.flatnonzero(rows.log_end != NULL)
    grown = np.full(partitions, NULL)
    if not len(known):
        return grown
    partition, log, end, at = rows.partition[known], ends.log[known], rows.log_end[known], rows.at_us[known]
    first, last = np.flatnonzero(first_rows(partition, log)), np.flatnonzero(last_rows(partition, log))
    is_told = at[last] > at[first]
    each, of_log = np.maximum(0, end[last] - end[first])[is_told], partition[first][is_told]
    begins = first_rows(of_log)
    grown[of_log[begins]] = saturated_sum(each, begins)
    return grown


def least_ends(ends: LogEnds, log: Ints, carried: Any, intervals: int) -> Ints:
    """Return for each observation with a log end the least of its log's last `intervals` ones; NULL for the others.

    `log` is the log of each partition before the day, `carried` its last ends (with `partition` and `log_end`).
    """
    known = np.flatnonzero(ends.rows.log_end != NULL)
    size = len(carried.partition)
    partition = np.concatenate([carried.partition, ends.rows.partition[known]])
    number = np.concatenate([log[carried.partition], ends.log[known]])
    end = np.concatenate([carried.log_end, ends.rows.log_end[known]])
    order = np.lexsort((np.arange(len(end)), number, partition))
    least = np.empty(len(end), np.int64)
    starts = starts_of(first_rows(partition[order], number[order]))
    least[order] = sliding(np.minimum, end[order], starts, intervals)
    found = np.full(len(ends.rows), NULL)
    found[known] = least[size:]
    return found
