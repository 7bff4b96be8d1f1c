"""The evidence for verdicts: the last commits of a key, and points at which its lag is known.

`kafka_groups.verdicts` defines windows, slots and points; this module finds them for all keys of a batch at once.

- A *window commit* is a record, or a sample that shows another offset than the sample before. Commits in one slot of
  time (`floor(time / slot)`) count as one: the last of them, with the time of the first.
- A *lag point* is an observed log end at which the lag is known. Between two records the committed offset is
  interpolated; a sample that shows another offset is a point with the next log end.
- Records and samples are two *streams* of evidence. Samples are the evidence where there are no records, or where
  records are behind: a sample shows a later offset than the last record.

No evidence reaches across a removal of the commit, and no point across a change of the log.

Three records of one key, and a log end between the second and the third one (times in µs):

    >>> from kafka_groups.pipeline.build.kernels.committed_offsets import new_commits
    >>> from kafka_groups.pipeline.build.kernels.log_ends import new_log_ends
    >>> records = new_commits(
    ...     key=np.zeros(3, np.int64),
    ...     at_us=np.array([0, 10, 30]) * 1_000_000,
    ...     committed_offset=np.array([100, 150, 250]),
    ...     source_offset=np.arange(3),
    ... )
    >>> ends = new_log_ends(partition=np.array([0]), at_us=np.array([20_000_000]), log_end=np.array([230]))
    >>> interpolate_points(records, ends, index_before=np.array([-1, -1, 0])).lag
    array([30])
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafka_groups import verdicts
from kafka_groups.pipeline.build.frames import Commits, LagPoints, LogEnds, WindowCommits
from kafka_groups.pipeline.build.kernels.segments import (
    first_index_at,
    is_among_last,
    is_segment_end,
    is_segment_start,
    last_index_at,
    last_index_before,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import LARGEST, NULL, Flags, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitContext:
    """The context of each commit: whether it is new evidence, and the log ends of its partition around it.

    - `is_new_record` marks a record of a commit, of the day, whose topic is certain.
    - `is_new_sample` marks a sample of the day that shows another offset than the sample before.
    - `end_before` is the index of the last log end until the commit, `end_following` that of the first one from the
      commit on; -1 if there is none.
    """

    is_new_record: Flags
    is_new_sample: Flags
    end_before: Ints
    end_following: Ints


def find_context(commits: Commits, ends: LogEnds, partition_of_key: Ints) -> CommitContext:
    """Return the context of each commit.

    `commits` are ordered, with those of earlier days; `ends` are used rows with a known log end.
    """
    is_of_day = ~commits.is_carried
    is_sample = ~commits.is_record & ~commits.is_removal
    previous_sample = last_index_before(is_sample, segment_starts(commits.key, commits.incarnation))
    shows_another = take(commits.committed_offset, previous_sample) != commits.committed_offset
    times_of_ends = (ends.partition, ends.at_us)
    times_of_commits = (partition_of_key[commits.key], commits.at_us)
    end_before = last_index_at(times_of_ends, times_of_commits)
    end_following = first_index_at(times_of_ends, times_of_commits)
    id_before = take(ends.topic_id, end_before)
    id_following = take(ends.topic_id, end_following)
    # A record without a topic id, between samples of two topics, may be on either of them: it is no evidence.
    is_between_topics = (id_before != NULL) & (id_following != NULL) & (id_before != id_following)
    is_certain = (commits.topic_id != NULL) | ~is_between_topics
    return CommitContext(
        is_new_record=is_of_day & commits.is_record & ~commits.is_removal & is_certain,
        is_new_sample=is_of_day & is_sample & shows_another,
        end_before=end_before,
        end_following=end_following,
    )


def find_window_commits(
    carried: WindowCommits, commits: Commits, ends: LogEnds, context: CommitContext, slot_length_ms: int
) -> WindowCommits:
    """Return the window commits of earlier days and of the day, sorted as the frame says.

    `commits`, `ends` and `context` are those of `find_context`. Slots begin at multiples of `slot_length_ms`, so
    late and repeated commits give the same slots. Commits of one slot have one `slot_ms`.
    """
    chosen = context.is_new_record | context.is_new_sample
    of_day = commits.take(chosen)
    day = WindowCommits(
        key=of_day.key,
        is_sample=~of_day.is_record,
        incarnation=of_day.incarnation,
        slot_ms=of_day.at_us // 1_000,
        at_us=of_day.at_us,
        committed_offset=of_day.committed_offset,
        lag=_measure_lag_after(commits, ends, context)[chosen],
    )
    rows = WindowCommits.join(carried, day).sort_by("key", "is_sample", "incarnation", "slot_ms", "at_us")
    first_of_slot = segment_starts(stream_numbers(rows), rows.incarnation, rows.slot_ms // slot_length_ms)
    return replace(rows, slot_ms=rows.slot_ms[first_of_slot])


def find_lag_points(carried: LagPoints, commits: Commits, ends: LogEnds, context: CommitContext) -> LagPoints:
    """Return the lag points of earlier days and of the day, sorted as the frame says.

    `commits`, `ends` and `context` are those of `find_context`.
    """
    is_record = commits.is_record & ~commits.is_removal
    of_records = interpolate_points(commits.take(is_record), ends, context.end_before[is_record])
    is_point = context.is_new_sample & (context.end_following >= 0)
    samples = commits.take(is_point)
    of_samples = _make_points(samples, ends, context.end_following[is_point], samples.committed_offset)
    points = LagPoints.join(carried, of_records, of_samples)
    return points.sort_by("key", "is_sample", "incarnation", "log_number", "at_us")


def _measure_lag_after(commits: Commits, ends: LogEnds, context: CommitContext) -> Ints:
    """Return the lag after each commit, at the last log end that was known then; NULL if none was.

    The log ends of a sample are requested after its commits, so the first log end from then on is that of the sample.
    """
    is_sample_with_end = ~commits.is_record & (context.end_following >= 0)
    index = np.where(is_sample_with_end, context.end_following, context.end_before)
    log_end = take(ends.log_end, index)
    is_known = (log_end != NULL) & (commits.committed_offset != NULL) & _is_log_possible(commits, ends, index, context)
    return np.where(is_known, np.maximum(0, log_end - commits.committed_offset), NULL)


def _is_log_possible(commits: Commits, ends: LogEnds, index: Ints, context: CommitContext) -> Flags:
    """Return for each commit whether it can be compared with the log end at `index` (-1: there is none).

    It cannot if their topic ids differ, because they belong to different logs. It cannot either if the commit has no
    topic id and lies between the last log end of one log and the first one of the next: it may be on either of them.
    Without a log end (-1) the result is true.
    """
    topic_id = take(ends.topic_id, index)
    has_other_id = (commits.topic_id != NULL) & (topic_id != NULL) & (commits.topic_id != topic_id)
    log_before = take(ends.log_number, context.end_before)
    log_following = take(ends.log_number, context.end_following)
    is_between_logs = (context.end_before >= 0) & (context.end_following >= 0) & (log_before != log_following)
    is_possible: Flags = ~has_other_id & ~(is_between_logs & (commits.topic_id == NULL))
    return is_possible


def interpolate_points(records: Commits, ends: LogEnds, index_before: Ints) -> LagPoints:
    """Return a point for each record of the day: the last log end between it and the record before it, if there is one.

    `records` are records of commits by key and time; `index_before` is the index of the last log end until each of
    them, -1 if there is none. The committed offset at the log end is interpolated between the two records. Records of
    one time count as one, with the offset of the last of them.
    """
    is_first_of_key = is_segment_start(records.key, records.incarnation)
    first = np.flatnonzero(is_first_of_key | is_segment_start(records.at_us))
    last = np.append(first[1:], len(records))[: len(first)] - 1
    at_us = records.at_us[first]
    end_us = take(ends.at_us, index_before[first])
    previous_us = np.where(is_first_of_key[first], LARGEST, records.at_us[first - 1])
    is_between = (end_us == at_us) | (end_us > previous_us)
    chosen = np.flatnonzero(is_between & ~records.is_carried[first])
    first, last = first[chosen], last[chosen]
    at_us, end_us, previous_us = at_us[chosen], end_us[chosen], previous_us[chosen]

    is_at_record = end_us == at_us
    previous_offset = records.committed_offset[first - 1]
    advance = np.where(is_at_record, 0, records.committed_offset[first] - previous_offset)
    share = np.where(is_at_record, 0, end_us - previous_us) / np.where(is_at_record, 1, at_us - previous_us)
    interpolated = previous_offset + np.floor(advance * share).astype(np.int64)
    offset = np.where(is_at_record, records.committed_offset[last], interpolated)
    return _make_points(records.take(first), ends, index_before[first], offset)


def _make_points(commits: Commits, ends: LogEnds, index: Ints, committed_offset: Ints) -> LagPoints:
    """Return a point for each commit, at the log end at its index, which is not -1.

    `committed_offset` is the committed offset at the time of the log end. The point is known from the commit on, so its
    time is that of the commit.
    """
    log_end = ends.log_end[index]
    return LagPoints(
        key=commits.key,
        is_sample=~commits.is_record,
        incarnation=commits.incarnation,
        log_number=ends.log_number[index],
        at_us=commits.at_us,
        log_end=log_end,
        lag=np.maximum(0, log_end - committed_offset),
    )


def carry_window_commits(commits: WindowCommits, incarnation: Ints, slots: int) -> WindowCommits:
    """Return the window commits that the next day needs: the last one of each of the last `slots` slots of each stream.

    Only commits of the present incarnation count; `incarnation` is that of each key.
    """
    is_last_of_slot = is_segment_end(stream_numbers(commits), commits.incarnation, commits.slot_ms)
    is_present = commits.incarnation == incarnation[commits.key]
    return commits.take(is_among_last(is_last_of_slot & is_present, stream_numbers(commits), slots))


def carry_lag_points(points: LagPoints, incarnation: Ints, log_number: Ints) -> LagPoints:
    """Return the lag points that the next day needs: the last ones of each key's present incarnation and log.

    `incarnation` and `log_number` are the present ones of each key.
    """
    is_present = (points.incarnation == incarnation[points.key]) & (points.log_number == log_number[points.key])
    count = np.where(points.is_sample, verdicts.SAMPLE_POINTS, verdicts.COMMIT_POINTS)
    return points.take(is_among_last(is_present, stream_numbers(points), count))


def stream_numbers(rows: WindowCommits | LagPoints) -> Ints:
    """Return the number of each row's stream: an even one for records of a key, the next one for its samples."""
    return rows.key * 2 + rows.is_sample
