"""Offsets over time: what is known of logs (where each ended, and which log a partition had), and commits of groups.

Each commit is there once, with how far it moved on from the one before it, and which were removed. Samples alone show
no removals, so absence has to: samples that do not see a commit any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.kernels import segments
from kafka_groups.pipeline.build.kernels.segments import EVERY, LARGEST, NULL, Flags, Ints, OwnedTimes, Rows

_OVERLAP_MS: Final = 30_000  # two samples at the same time may have responses in another order than their requests
# What complete samples have not seen for longer was removed; one sample that misses it is a disturbance.
ABSENT_MS: Final = 600_000
# The first run since a sample saw a commit is its own, because log ends are requested last; the second one misses it.
_FIRST_MISS: Final = 2


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
    """Return how much each partition's logs grew between the day's first and last (known) end; NULL: none has two."""
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


@dataclass(frozen=True, slots=True)
class Commits(Rows):
    """Commits and removals by key (a number: a group on a partition), time and place in the log."""

    key: Ints
    at_us: Ints
    source_offset: Ints  # NULL for samples, which come before a record of the same time
    is_record: Flags
    is_removal: Flags
    offset: Ints  # NULL for removals
    is_carried: Flags  # the last ones of earlier days
    life: Ints  # how many removals there were until the row


@dataclass(frozen=True, slots=True)
class KeyTotals(Rows):
    """What earlier days say of each key; NULL where they say nothing."""

    fact_day: Ints  # the last day with a fact
    moved_us: Ints  # since then the offset stands still, as far as it was observed
    commit_us: Ints  # the last commit
    has_records: Flags
    seen_us: Ints  # the last sample that saw the commit
    runs: Ints  # the complete sampling runs since then, at most two
    missed_us: Ints  # the second of them


@dataclass(frozen=True, slots=True)
class KeyDays(Rows):
    """What each key's commits did on the day."""

    consumed: Ints
    commits: Ints
    moves: Ints
    sampled_us: Ints  # the last sample that saw the commit
    lives: Flags  # there is a commit at the day's end


def in_order(*parts: Commits) -> Commits:
    """Return all rows in order; rows that are equal, as records that were read twice are, once."""
    names = Commits.names()[:6]
    rows = Commits.join(*parts).sorted_by(*names)
    return rows.where(segments.first_rows(*(getattr(rows, name) for name in names)))


def number_lives(rows: Commits, size: int) -> Commits:
    """Return the rows with the numbers of their lives, which carried rows have."""
    before = segments.last_of(rows.key, rows.is_carried, rows.life, np.zeros(size, np.int64))
    removed = segments.running_count(rows.is_removal & ~rows.is_carried, segments.starts_of(rows.key))
    return replace(rows, life=np.where(rows.is_carried, rows.life, before[rows.key]) + removed)


def last_commits(rows: Commits) -> Commits:
    """Return what to hand on: each key's last row, last sample of a commit, last record and last removal."""
    chosen = segments.last_rows(rows.key)
    for condition in (~rows.is_record & ~rows.is_removal, rows.is_record, rows.is_removal):
        chosen |= segments.last_some(condition, rows.key)
    return replace(rows, is_carried=np.ones(len(rows), np.bool_)).where(chosen)


def move(rows: Commits, totals: KeyTotals) -> tuple[KeyDays, KeyTotals]:
    """Return what the day's commits did, and the totals at its end.

    Samples between records have moved by 0, because the sampler's clock is another one. Others are commits if they
    moved on; what is seen for the first time may have been committed just then.
    """
    size, never = len(totals), np.full(len(totals), NULL)
    own, is_live = ~rows.is_carried, ~rows.is_removal

    def last_time(condition: Flags) -> Ints:
        return segments.last_of(rows.key, condition, rows.at_us, never)

    starts = segments.starts_of(rows.key)
    follows_commit = ~segments.take(rows.is_removal, segments.last_before(rows.is_record, starts), missing=True)
    is_idle = ~rows.is_record & is_live & follows_commit & (rows.at_us <= last_time(rows.is_record)[rows.key])
    last = segments.take(rows.offset, segments.last_before(~is_idle, starts))
    is_known = (rows.offset != NULL) & (last != NULL)
    # NULL: the first one that is known, or the first one after a removal.
    moved = np.where(is_idle, 0, np.where(is_known, rows.offset - last, NULL))
    is_commit = is_live & (rows.is_record | ((moved != 0) & (moved != NULL)))
    is_move = own & is_live & (is_commit | (moved == NULL))
    commits = np.bincount(rows.key[own & rows.is_record & is_live], minlength=size)
    begins = segments.first_rows(rows.key)
    consumed = np.zeros(size, np.int64)
    consumed[rows.key[begins]] = segments.saturated_sum(np.where(own & is_live, np.maximum(moved, 0), 0), begins)
    days = KeyDays(
        consumed=consumed,
        commits=commits,
        moves=np.bincount(rows.key[is_move], minlength=size),
        sampled_us=last_time(own & ~rows.is_record & is_live),
        lives=segments.last_of(rows.key, EVERY, is_live, np.zeros(size, np.bool_)),
    )
    return days, replace(
        totals,
        moved_us=np.maximum(totals.moved_us, last_time(is_move)),
        commit_us=np.maximum(totals.commit_us, last_time(own & is_commit)),
        has_records=totals.has_records | (commits > 0),
    )


def removals_at(keys: Ints, times: Ints) -> Commits:
    """Return removals that no record shows."""
    nothing, no, zero = np.full(len(keys), NULL), np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.int64)
    return Commits(keys, times, nothing, no, ~no, nothing, no, zero)


def infer_deletions(
    rows: Commits, totals: KeyTotals, read_us: Ints, groups_us: Ints, runs: OwnedTimes, cluster_of: Ints
) -> tuple[Commits, KeyTotals]:
    """Return removals that samples imply, after all rows of earlier days, and totals with absences.

    Two complete runs have to miss a commit, the last of them ten minutes after it was seen. Younger records that were
    read would show the removal, and a group that is still listed without any commit may be one that failed. Of each
    key, NULL where nothing was read on the day: `read_us` is the cluster's last record of a commit, `groups_us` the
    last samples that listed the group and that saw a commit of it. `runs` are clusters and times of complete runs.
    """
    never = np.full(len(totals), NULL)
    carried_us = segments.last_of(rows.key, rows.is_carried, rows.at_us, never)
    is_kept = segments.last_of(rows.key, rows.is_record, ~rows.is_removal, np.zeros(len(totals), np.bool_))
    seen_us = segments.last_of(rows.key, ~rows.is_record & ~rows.is_carried, rows.at_us, never)
    is_seen = seen_us != NULL
    seen_us = np.where(is_seen, seen_us, totals.seen_us)
    before = np.where(is_seen, 0, np.maximum(totals.runs, 0))
    since = np.where(is_seen, NULL, totals.missed_us)
    first, end = segments.first_at(runs, (cluster_of, seen_us)), np.searchsorted(runs[0], cluster_of, "right")
    missed = before + np.where((seen_us == NULL) | (first < 0), 0, end - first)
    is_today = (since == NULL) & (missed >= _FIRST_MISS)
    since = np.where(is_today, segments.take(runs[1], np.where(is_today, first + 1 - before, -1)), since)
    last_run_us = segments.take(runs[1], np.where(first >= 0, end - 1, -1))
    is_missed = (seen_us != NULL) & (since != NULL) & (last_run_us > since)
    is_absent = is_missed & (last_run_us // 1_000 - seen_us // 1_000 > ABSENT_MS)
    is_silent = (groups_us[0] >= since) & (groups_us[1] < since)
    is_shown = is_kept & (read_us >= since)
    removed_us = np.where(is_absent & ~is_shown & ~is_silent, since, NULL)
    # What was removed is not missed any more, unless it is seen again.
    seen_us = np.where(removed_us != NULL, NULL, seen_us)
    totals = replace(totals, seen_us=seen_us, runs=np.minimum(missed, _FIRST_MISS), missed_us=since)
    # A removal before a row of earlier days has changed nothing since.
    keys = np.flatnonzero(removed_us > carried_us)
    return removals_at(keys, removed_us[keys]), totals
