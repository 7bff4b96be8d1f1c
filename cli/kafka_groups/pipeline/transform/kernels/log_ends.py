"""What is known of logs: where each ended at each time, and which log a topic partition had then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels import segments
from kafka_groups.pipeline.transform.kernels.segments import EVERY, LARGEST, NULL, Flags, Ints, Rows

# Two samples at the same time may have responses in another order than their requests.
_OVERLAP_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class LogEnds(Rows):
    """Rows of partition_offsets, by partition (a number) and time, with the number of their log."""

    partition: Ints
    at_us: Ints
    is_sample: Flags
    log_start: Ints
    log_end: Ints
    last_stable: Ints
    point_offset: Ints
    point_ms: Ints
    topic_id: Ints  # a number for a text, or NULL
    # What is not in the table.
    log: Ints  # how often it was another one before
    before_us: Ints  # the sample before
    is_used: Flags  # false for rows that contradict others
    is_carried: Flags  # the last ones of earlier days

    def last_log(self, size: int) -> Ints:
        """Return the log of each partition's last row, 0 where there is none."""
        return segments.last_of(self.partition, EVERY, self.log, np.zeros(size, np.int64))


@dataclass(frozen=True, slots=True)
class LogTotals(Rows):
    """What earlier days say of each partition."""

    fact_day: Ints  # the last day with a fact


def observe(day: LogEnds, carried: LogEnds, size: int) -> LogEnds:
    """Return the carried rows, and the day's once for each time (samples before backfills), by partition and time.

    A log is another one from the sample on whose end is below the one before, or whose topic id is another one. An end
    that fell within half a minute of the sample before, but not as far as the next one, was determined before that one,
    and is not used. A backfill reports the times that producers wrote, and the topic that there is now: rows that
    contradict samples of the same log are not used.
    """
    day = day.sorted_by(*LogEnds.names()[:9])
    rows = LogEnds.join(carried, day.where(segments.last_rows(day.partition, day.at_us))).sorted_by("partition")
    partition, end, of_day = rows.partition, rows.log_end, ~rows.is_carried
    starts = segments.starts_of(partition)
    has_end, has_id = rows.is_sample & (end != NULL), rows.is_sample & (rows.topic_id != NULL)
    seen = segments.last_before(has_end, starts)
    seen_end, next_end = segments.take(end, seen), segments.take(end, segments.next_after(has_end, partition))
    topic_id = segments.take(rows.topic_id, segments.last_before(has_id, starts))
    is_another = has_id & (topic_id != NULL) & (rows.topic_id != topic_id)
    fell = has_end & (end < seen_end)
    is_close = rows.at_us // 1_000 - segments.take(rows.at_us, seen) // 1_000 <= _OVERLAP_MS
    is_new = of_day & (is_another | (fell & (~is_close | ((next_end != NULL) & (next_end < seen_end)))))
    counted = carried.last_log(size)[partition] + segments.running_count(is_new, starts)
    log, is_used = np.where(of_day, counted, rows.log), np.where(of_day, is_new | ~fell, rows.is_used)
    has_end &= is_used
    least = segments.take(end, segments.last_before(has_end, segments.starts_of(partition, log)))
    most = segments.take(end, segments.next_after(has_end, partition, log), LARGEST)
    ids = segments.highest(np.where(rows.is_sample, rows.topic_id, NULL), partition, log)
    is_beyond = (end != NULL) & ((end < least) | (end > most))
    contradicts = is_beyond | ((ids != NULL) & (rows.topic_id != NULL) & (rows.topic_id != ids))
    return replace(
        rows,
        log=log,
        before_us=segments.take(rows.at_us, segments.last_before(rows.is_sample, starts)),
        is_used=is_used & ~(of_day & ~rows.is_sample & contradicts),
    )


def carry(rows: LogEnds, size: int, kept: int) -> LogEnds:
    """Return what a day hands to the next: the last `kept` ends of the current log, and what rows are compared with."""
    has_end, has_id = rows.log_end != NULL, rows.topic_id != NULL
    of_log = rows.is_used & has_end & (rows.log == rows.last_log(size)[rows.partition])
    chosen = segments.last_some(of_log, rows.partition, kept)
    of_samples = (rows.is_sample & condition for condition in (True, has_end, has_id, of_log))
    for condition in (*of_samples, of_log & (rows.log_start != NULL)):
        chosen |= segments.last_some(condition, rows.partition)
    return replace(rows, is_carried=np.ones(len(rows), np.bool_)).where(chosen)


def growth(ends: LogEnds, partitions: int) -> Ints:
    """Return by how much each partition's logs grew between the day's first and last end of each.

    `ends` are known. NULL where no log was observed twice.
    """
    rows = ends.where(~ends.is_carried)
    log = rows.partition, rows.log
    first, last = rows.where(segments.first_rows(*log)), rows.where(segments.last_rows(*log))
    is_known = last.at_us > first.at_us
    partition, each = first.partition[is_known], np.maximum(0, last.log_end - first.log_end)[is_known]
    begins = segments.first_rows(partition)
    grown = np.full(partitions, NULL)
    grown[partition[begins]] = segments.saturated_sum(each, begins)
    return grown


def are_quiet(day: LogEnds, size: int) -> Flags:
    """Return which partitions were observed more than once, always with the same log end."""
    rows = day.where(day.log_end != NULL)
    begins, ends = segments.first_rows(rows.partition), segments.last_rows(rows.partition)
    least_end, most_end = (segments.reduce(best, rows.log_end, begins) for best in (np.minimum, np.maximum))
    found = np.zeros(size, np.bool_)
    found[rows.partition[begins]] = (least_end == most_end) & (rows.at_us[begins] < rows.at_us[ends])
    return found
