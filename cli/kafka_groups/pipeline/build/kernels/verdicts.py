"""Verdicts on many windows at once: the rules of `kafka_groups.verdicts`; property tests hold both to be equal.

A window has the last commits of a key at a time, one for each slot of time. Commits of `__consumer_offsets` and samples
are evidence of their own. Of samples only those count that saw another offset than the one before. A removal ends a
life, and no evidence reaches across it.

Points of lag are those of `kafka_groups.verdicts.lag_points`, and of samples alone those of `sampled_window`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups import verdicts
from kafka_groups.pipeline.build.kernels import segments
from kafka_groups.pipeline.build.kernels.lag_rows import LagRows
from kafka_groups.pipeline.build.kernels.offset_history import Commits, LogEnds
from kafka_groups.pipeline.build.kernels.segments import LARGEST, NULL, Flags, Floats, Ints, Rows

RULES: Final = tuple(verdicts.VERDICTS)
_MOST: Final = 1 << 60  # an offset that no log reaches: three of them can be added up
_APART_MS: Final = 60_000  # further than that no two clocks of a cluster should be apart


@dataclass(frozen=True, slots=True)
class Known(Rows):
    """What is known from records or from samples, by stream, life, scope and time: commits, or points of lag."""

    key: Ints
    is_sample: Flags
    life: Ints  # of the key's commit
    scope: Ints  # of a commit the time (ms) of the first one of its slot, which no other slot has; of a point the log
    at_us: Ints  # of a point the time from when on the lag is known
    offset: Ints  # of a commit its own, of a point the log's end
    lag: Ints  # what the commit left; NULL: not known

    @property
    def stream(self) -> Ints:
        """The numbers of the keys' records and samples."""
        return self.key * 2 + self.is_sample


@dataclass(frozen=True, slots=True)
class KeyStatuses(Rows):
    """Verdicts by key and time, with what a group adds up. In a state, the last one of the last ten minutes."""

    key: Ints
    at_us: Ints
    rank: Ints
    complete: Floats
    window_start_ms: Ints
    window_end_ms: Ints
    lag: Ints
    time_lag_ms: Ints
    quality: Ints
    consume: Floats
    produce: Floats
    catch_up_ms: Ints


@dataclass(frozen=True, slots=True)
class Evidence:
    """What lag rows are judged on: matrices have a row for each; the last column is the newest, NULL is nothing."""

    at_ms: Ints
    current_lag: Ints
    least_end: Ints  # of the last log ends
    is_sampled: Flags  # by samples, not by records
    opened_ms: Ints  # a matrix of the slots of the window, as the next two
    offset: Ints
    lag: Ints  # what each slot left
    point_end: Ints  # a matrix of the points of lag, as the next one
    point_lag: Ints


def lag_when_committed(commits: Commits, ends: LogEnds, before: Ints, following: Ints) -> Ints:
    """Return the lag that each commit left at the last log end that was known at its time; NULL: none was.

    `before` and `following` are the places of its last end until its time and of the first from then on, which is that
    of its own run for a sample.
    """
    end = segments.take(ends.log_end, np.where(~commits.is_record & (following >= 0), following, before))
    is_known = (end != NULL) & (commits.offset != NULL)
    return np.where(is_known, np.maximum(0, end - commits.offset), NULL)


def join_evidence(
    slots: Known, points: Known, commits: Commits, ends: LogEnds, partition: Ints, slot_ms: int
) -> tuple[Known, Known]:
    """Return the entries and points of earlier days and of the day's commits; `partition` is that of each commit.

    Slots are `floor(time / slot_ms)`, so late and replayed commits make the same ones.
    """
    known, wanted = (ends.partition, ends.at_us), (partition, commits.at_us)
    before, following = segments.last_at(known, wanted), segments.first_at(known, wanted)
    is_record, is_sample = (kind & ~commits.is_removal for kind in (commits.is_record, ~commits.is_record))
    previous = segments.last_before(is_sample, segments.starts_of(commits.key, commits.life))
    is_new = is_sample & ~commits.is_carried & (segments.take(commits.offset, previous) != commits.offset)
    is_point = is_new & (following >= 0)
    new_points = (
        record_points(commits.where(is_record), ends, before[is_record]),
        _points(commits.where(is_point), ends, following[is_point], commits.offset[is_point]),
    )
    at_us, lag = commits.at_us, lag_when_committed(commits, ends, before, following)
    day = Known(commits.key, ~commits.is_record, commits.life, at_us // 1_000, at_us, commits.offset, lag)
    day = day.where(is_new | (is_record & ~commits.is_carried))
    order = "key", "is_sample", "life", "scope", "at_us"
    entries, all_points = (Known.join(*parts).sorted_by(*order) for parts in ((slots, day), (points, *new_points)))
    starts = segments.starts_of(entries.stream, entries.life, entries.scope // slot_ms)
    return replace(entries, scope=entries.scope[starts]), all_points


def last_slots(entries: Known, life: Ints, count: int) -> Known:
    """Return what to hand on: one entry for each of the last slots of each key's current life."""
    is_last = segments.last_rows(entries.stream, entries.life, entries.scope)
    return entries.where(segments.last_some(is_last & (entries.life == life[entries.key]), entries.stream, count))


def record_points(records: Commits, ends: LogEnds, before: Ints) -> Known:
    """Return a point for each record for the last log end between it and the record before it, if there is one."""
    begins = segments.first_rows(records.key, records.life)
    first = np.flatnonzero(begins | segments.first_rows(records.at_us))  # of records of the same time
    last = np.append(first[1:], len(records))[: len(first)] - 1
    at, end_us = records.at_us[first], segments.take(ends.at_us, before[first])
    before_us = np.where(begins[first], LARGEST, records.at_us[first - 1])
    kept = np.flatnonzero(((end_us == at) | (end_us > before_us)) & ~records.is_carried[first])
    first, last, at, end_us, before_us = first[kept], last[kept], at[kept], end_us[kept], before_us[kept]
    is_at, old = end_us == at, records.offset[first - 1]
    share = np.where(is_at, 0, end_us - before_us) / np.where(is_at, 1, at - before_us)
    between = old + np.floor(np.where(is_at, 0, records.offset[first] - old) * share).astype(np.int64)
    return _points(records.where(first), ends, before[first], np.where(is_at, records.offset[last], between))


def _points(rows: Commits, ends: LogEnds, place: Ints, offset: Ints) -> Known:
    end = ends.log_end[place]
    return Known(rows.key, ~rows.is_record, rows.life, ends.log[place], rows.at_us, end, np.maximum(0, end - offset))


def last_points(points: Known, life: Ints, log: Ints) -> Known:
    """Return what to hand on: the last points of each key's current life and log, as many as a verdict takes."""
    is_current = (points.life == life[points.key]) & (points.scope == log[points.key])
    count = np.where(points.is_sample, verdicts.SAMPLE_POINTS, verdicts.COMMIT_POINTS)
    return points.where(segments.last_some(is_current, points.stream, count))


def evidence_at(rows: LagRows, ends: LogEnds, entries: Known, points: Known, slots: int) -> Evidence:
    """Return the evidence at each lag row: the last `slots` slots and log ends, and the last points.

    It is of samples where there are no records, or none since samples saw another offset (ingest may be behind).
    """
    read, sampled = (_last_of(entries, rows, kind) for kind in (0, 1))
    since_ms = segments.take(entries.scope, sampled, 0) - segments.take(entries.scope, read, 0)
    one, other = segments.take(entries.offset, sampled), segments.take(entries.offset, read)
    # A clock that is ahead makes an old sample look new, but it cannot make its offset higher.
    is_behind = ((one > other) & (since_ms > 0)) | ((one != other) & (since_ms > _APART_MS))
    is_sampled: Flags = (sampled >= 0) & ((read < 0) | is_behind)
    slot_start = segments.starts_of(entries.stream, entries.life, entries.scope)
    before = segments.previous_rows(entries.stream, entries.life)[slot_start]
    window = segments.chain(np.where(is_sampled, sampled, read), before, slots)
    # Lives and logs only grow within a stream, so that the order of points is that of their times.
    place = _last_of(points, rows, is_sampled)
    is_mine = segments.take(points.scope, place, -1) == rows.log
    before = segments.previous_rows(points.stream, points.life, points.scope)
    last = segments.chain(np.where(is_mine, place, -1), before, verdicts.SAMPLE_POINTS)
    last_ends = segments.chain(np.arange(len(ends)), segments.previous_rows(ends.partition, ends.log), slots)
    least_end = segments.take(ends.log_end, last_ends, LARGEST).min(axis=1)[rows.observation]
    slots_at = [segments.take(column, window) for column in (entries.scope, entries.offset, entries.lag)]
    points_at = [segments.take(column, last) for column in (points.offset, points.lag)]
    return Evidence(rows.at_us // 1_000, rows.lag, least_end, is_sampled, *slots_at, *points_at)


def _last_of(known: Known, rows: LagRows, is_sample: Flags | int) -> Ints:
    """Return the place of what was last known of the life of each lag row, from samples or records; else -1."""
    place = segments.last_at((known.stream, known.at_us), (rows.key * 2 + is_sample, rows.at_us))
    return np.where(segments.take(known.life, place, -1) == rows.life, place, -1)


def judge_windows(found: Evidence, rules: verdicts.Rules) -> tuple[Ints, Floats, Ints, Ints]:
    """Return the rule (its place in RULES) that each lag row meets, the filled share of its window, and its bounds."""
    is_there = found.opened_ms != NULL
    count = is_there.sum(axis=1)
    complete = np.minimum(1.0, count / rules.intervals)
    first_ms, last_ms = found.opened_ms[np.arange(len(count)), is_there.argmax(axis=1)], found.opened_ms[:, -1]
    length_ms, has_commits = last_ms - first_ms, count >= verdicts.LEAST_COMMITS
    usual_ms = np.where(count >= rules.intervals, length_ms, np.maximum(length_ms, verdicts.SILENT_MS))
    stays_behind = (found.offset == found.offset[:, -1:]) & (found.lag > rules.allowed_lag)
    conditions = {
        "no_commits": count == 0,
        "no_lag": found.current_lag <= rules.allowed_lag,
        "incomplete": complete < rules.minimum_complete,
        "stopped": (found.at_ms - last_ms > usual_ms) & (found.least_end > found.offset[:, -1]),
        "rewound": _were_rewound(found.offset),
        "stalled": (stays_behind | ~is_there).all(axis=1) & has_commits,
    }
    pace = _pace(found, has_commits, rules)
    rank = np.select([*conditions.values()], [RULES.index(rule) for rule in conditions], pace)
    return rank, complete, first_ms, last_ms


def _were_rewound(offset: Ints) -> Flags:
    """Return whether an offset is below the one before, and no later one reached that again: at the first such fall."""
    falls = np.zeros(offset.shape, np.bool_)
    falls[:, :-1] = offset[:, 1:] < offset[:, :-1]  # no offset is below NULL
    at = falls.argmax(axis=1)
    is_later = np.arange(offset.shape[1]) > at[:, None]
    reaches = is_later & (offset >= offset[np.arange(len(offset)), at][:, None])
    found: Flags = falls.any(axis=1) & ~reaches.any(axis=1)
    return found


def _pace(found: Evidence, has_commits: Flags, rules: verdicts.Rules) -> Ints:
    count = np.where(found.is_sampled, verdicts.SAMPLE_POINTS, verdicts.COMMIT_POINTS)
    first = verdicts.SAMPLE_POINTS - count
    end, lag = np.clip(found.point_end, -_MOST, _MOST), np.clip(found.point_lag, -_MOST, _MOST)

    def compared(values: Ints, place: Ints) -> Ints:
        return np.take_along_axis(values, place[:, None] + np.arange(verdicts.COMPARED_POINTS), axis=1)

    last_lag = lag[:, -verdicts.COMPARED_POINTS :].sum(axis=1)
    growth = last_lag - compared(lag, first).sum(axis=1)
    produced = end[:, -verdicts.COMPARED_POINTS :].sum(axis=1) - compared(end, first).sum(axis=1)
    is_falling_behind = (
        (growth > np.maximum(0, produced) // verdicts.GROWTH_DIVISOR)
        & (last_lag > verdicts.COMPARED_POINTS * rules.allowed_lag)
        & (found.current_lag >= compared(lag, first + count // 2).min(axis=1))
    )
    pace = np.where(is_falling_behind, RULES.index("falling_behind"), RULES.index("keeping_up"))
    has_enough = found.point_end[np.arange(len(first)), first] != NULL
    return np.where(has_enough, pace, np.where(has_commits, RULES.index("lag_unknown"), RULES.index("incomplete")))
