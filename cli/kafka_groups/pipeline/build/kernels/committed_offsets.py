"""Commits of keys in their order, and what they did on a day.

A key's commits are one history, whatever they come from: records of `__consumer_offsets`, which have the time of the
commit, and samples, which show the commit that was there when they were taken. A removal ends an *incarnation* of the
commit: what a later commit says is not compared with it.

- The order of records is that of the log. Where the coordinator moves to a broker whose clock is behind, the times that
  commits bear go back: such a record counts from the time of the record before it on.
- A row that was read twice counts once.
- A record advances the commit by the difference to the row before. A sample between two records advances it by nothing,
  because the clock of the sampler is another one than that of the coordinator: records say what was consumed.
- Without records, a sample that shows another offset than the row before is a commit.

Five records of one key; the fourth one sets it back:

    >>> records = new_commits(
    ...     key=np.zeros(5, np.int64),
    ...     at_us=np.arange(5) * 1_000_000,
    ...     committed_offset=np.array([100, 150, 200, 120, 130]),
    ...     source_offset=np.arange(5),
    ... )
    >>> activity, _ = measure_activity(order_commits(records), empty_key_summary(1))
    >>> activity.consumed, activity.commits
    (array([110]), array([5]))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, KeyActivity, KeySummary, LogEnds
from kafka_groups.pipeline.build.kernels.segments import (
    first_index_at,
    is_among_last,
    is_segment_end,
    is_segment_start,
    last_index_at,
    last_index_before,
    last_values,
    running_count,
    segment_starts,
    sum_segments,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints

# The columns of a row that was read from a table; rows that are equal in all of them are one row.
_READ_COLUMNS: Final = ("key", "recorded_us", "source_offset", "is_record", "is_removal", "committed_offset")


def new_commits(*, key: Ints, at_us: Ints, committed_offset: Ints, source_offset: Ints) -> Commits:
    """Return commits of a day that are not numbered yet; a row without a source offset (NULL) is a sample.

    All arrays have one length, and times are µs since 1970.
    """
    size = len(key)
    return Commits(
        key=key,
        at_us=at_us,
        recorded_us=at_us,
        topic_id=np.full(size, NULL),
        committed_offset=committed_offset,
        source_offset=source_offset,
        is_record=source_offset != NULL,
        is_removal=np.zeros(size, np.bool_),
        is_carried=np.zeros(size, np.bool_),
        incarnation=np.zeros(size, np.int64),
    )


def new_removals(key: Ints, at_us: Ints) -> Commits:
    """Return removals that samples or ended logs imply: row i removes the commit of `key[i]` at `at_us[i]`.

    No record shows them. Times are µs since 1970; incarnations are not numbered yet.
    """
    size = len(key)
    return Commits(
        key=key,
        at_us=at_us,
        recorded_us=at_us,
        topic_id=np.full(size, NULL),
        committed_offset=np.full(size, NULL),
        source_offset=np.full(size, NULL),
        is_record=np.zeros(size, np.bool_),
        is_removal=np.ones(size, np.bool_),
        is_carried=np.zeros(size, np.bool_),
        incarnation=np.zeros(size, np.int64),
    )


def empty_key_summary(size: int) -> KeySummary:
    """Return the summary of `size` keys about which no earlier day says anything: NULL and false everywhere."""
    return KeySummary(
        fact_day=np.full(size, NULL),
        moved_us=np.full(size, NULL),
        commit_us=np.full(size, NULL),
        has_records=np.zeros(size, np.bool_),
        sampled_us=np.full(size, NULL),
        missing_samples=np.full(size, NULL),
        missing_since_us=np.full(size, NULL),
    )


def order_commits(*parts: Commits) -> Commits:
    """Return the rows of all parts, each once, sorted by key, time and source offset; times follow the log."""
    rows = Commits.join(*parts).sort_by(*_READ_COLUMNS)
    columns = rows.arrays()
    distinct = rows.take(is_segment_start(*(columns[name] for name in _READ_COLUMNS)))
    return _follow_log(distinct).sort_by("key", "at_us", "source_offset")


def _follow_log(rows: Commits) -> Commits:
    """Return the rows with times that do not fall from a record of a key to the next one in the log.

    Within one partition of `__consumer_offsets`, which has all records of a group, the log is the order of offsets.
    """
    indices = np.flatnonzero(rows.is_record)
    indices = indices[np.lexsort((rows.source_offset[indices], rows.key[indices]))]
    key = rows.key[indices]
    at_us = rows.at_us[indices]
    falls = np.flatnonzero((key[1:] == key[:-1]) & (at_us[1:] < at_us[:-1]))
    # Clocks differ rarely, so that few keys are looked at one by one.
    for each_key in np.unique(key[falls]):
        of_key = slice(np.searchsorted(key, each_key, "left"), np.searchsorted(key, each_key, "right"))
        at_us[of_key] = np.maximum.accumulate(at_us[of_key])
    new_times = rows.at_us.copy()
    new_times[indices] = at_us
    return replace(rows, at_us=new_times)


def find_superseded(day: Commits, carried: Commits, size: int) -> Flags:
    """Return for each row of a day whether it is a record that comes before a carried one in the log.

    The clock of its coordinator was ahead at midnight, so that it bears a later date than a record behind it.
    """
    last_offset = last_values(carried.key, carried.is_record, carried.source_offset, np.full(size, NULL))
    return day.is_record & (day.source_offset < last_offset[day.key])


def number_incarnations(rows: Commits, size: int) -> Commits:
    """Return the ordered rows of `size` keys with the incarnations of the day's rows; carried rows have theirs.

    A removal, and a commit on another topic id than the commits before it, begin a new one. `rows` have the topic ids
    that are known (`find_topic_ids`).
    """
    starts = segment_starts(rows.key)
    has_id = rows.topic_id != NULL
    previous_id = take(rows.topic_id, last_index_before(has_id, starts))
    is_on_other_topic = has_id & (previous_id != NULL) & (rows.topic_id != previous_id)
    begins = (rows.is_removal | is_on_other_topic) & ~rows.is_carried
    # Carried rows come before the day's rows of their key, so that no beginning is counted for them.
    carried = last_values(rows.key, rows.is_carried, rows.incarnation, np.zeros(size, np.int64))
    incarnation_before = np.where(rows.is_carried, rows.incarnation, carried[rows.key])
    return replace(rows, incarnation=incarnation_before + running_count(begins, starts))


def find_topic_ids(rows: Commits, ends: LogEnds, partition_of_key: Ints) -> Commits:
    """Return the ordered rows with the topic ids that are known: a commit's own id, else that of its topic's log ends.

    A sample requests log ends right after commits, so a sampled commit is on the topic of the next log end. A record
    without an id is on the topic of the last log end before it, if the next log end has the same id, or if there is no
    next one. Otherwise the id stays NULL. `ends` are all rows that `number_logs` returned, by partition and time.
    """
    known = ends.take(ends.is_used & (ends.topic_id != NULL))
    times = (known.partition, known.at_us)
    wanted = (partition_of_key[rows.key], rows.at_us)
    before = last_index_at(times, wanted)
    following = first_index_at(times, wanted)
    id_before = take(known.topic_id, before)
    id_following = take(known.topic_id, following)
    is_certain = (following < 0) | (id_before == id_following)
    id_of_record = np.where(is_certain, id_before, NULL)
    id_of_sample = np.where(following >= 0, id_following, id_before)
    is_open = (rows.topic_id == NULL) & ~rows.is_removal & ~rows.is_carried
    known_id = np.where(rows.is_record, id_of_record, id_of_sample)
    return replace(rows, topic_id=np.where(is_open, known_id, rows.topic_id))


def carry_commits(rows: Commits) -> Commits:
    """Return the rows that the next day needs, marked as carried, of ordered and numbered rows.

    They are the last row of each key, and its last sample with a commit, its last record and its last removal.
    """
    is_chosen = is_segment_end(rows.key)
    for condition in (~rows.is_record & ~rows.is_removal, rows.is_record, rows.is_removal):
        is_chosen |= is_among_last(condition, rows.key)
    return replace(rows, is_carried=np.ones(len(rows), np.bool_)).take(is_chosen)


def measure_activity(rows: Commits, key_summary: KeySummary) -> tuple[KeyActivity, KeySummary]:
    """Return what the day's rows of each key did, and the summary at the end of the day.

    `rows` are ordered and numbered, with those of earlier days; `key_summary` is that at the end of the day before.
    """
    size = len(key_summary)
    never = np.full(size, NULL)
    is_of_day = ~rows.is_carried
    is_present = ~rows.is_removal
    advance = _measure_advances(rows, size)
    is_commit = is_present & (rows.is_record | ((advance != 0) & (advance != NULL)))
    # What is seen for the first time may have been committed just then.
    is_move = is_of_day & is_present & (is_commit | (advance == NULL))
    starts = is_segment_start(rows.key)
    consumed = np.zeros(size, np.int64)
    consumed[rows.key[starts]] = sum_segments(np.where(is_of_day & is_present, np.maximum(advance, 0), 0), starts)
    commits = np.bincount(rows.key[is_of_day & rows.is_record & is_present], minlength=size)
    is_sample = is_of_day & ~rows.is_record & is_present
    every_row = np.ones(len(rows), np.bool_)
    is_removal = is_of_day & rows.is_removal
    activity = KeyActivity(
        consumed=consumed,
        commits=commits,
        moves=np.bincount(rows.key[is_move], minlength=size),
        sampled_us=last_values(rows.key, is_sample, rows.at_us, never),
        has_commit=last_values(rows.key, every_row, is_present, np.zeros(size, np.bool_)),
        removed_us=last_values(rows.key, is_removal, rows.at_us, never),
        clock_jump_ms=_measure_clock_jumps(rows, size),
    )
    moved_us = last_values(rows.key, is_move, rows.at_us, never)
    commit_us = last_values(rows.key, is_of_day & is_commit, rows.at_us, never)
    return activity, replace(
        key_summary,
        moved_us=np.maximum(key_summary.moved_us, moved_us),
        commit_us=np.maximum(key_summary.commit_us, commit_us),
        has_records=key_summary.has_records | (commits > 0),
    )


def _measure_clock_jumps(rows: Commits, size: int) -> Ints:
    """Return by how many ms the times that the day's records of each of `size` keys bear fell at most; 0 if not."""
    of_day = rows.take(rows.is_record & ~rows.is_carried)
    jumps_ms = np.zeros(size, np.int64)
    np.maximum.at(jumps_ms, of_day.key, (of_day.at_us - of_day.recorded_us) // 1_000)
    return jumps_ms


def _measure_advances(rows: Commits, size: int) -> Ints:
    """Return by how much each row advanced the commit of its key.

    It is NULL for a removal, and for the first commit of an incarnation; it is 0 for a sample that lies between two
    records.
    """
    is_between = _are_between_records(rows, size)
    previous = last_index_before(~is_between, segment_starts(rows.key, rows.incarnation))
    previous_offset = take(rows.committed_offset, previous)
    is_known = (rows.committed_offset != NULL) & (previous_offset != NULL)
    return np.where(is_between, 0, np.where(is_known, rows.committed_offset - previous_offset, NULL))


def _are_between_records(rows: Commits, size: int) -> Flags:
    """Return for each row of the day whether it is a sample with a record of a commit before it, and a record after it.

    A carried sample was counted on its day, before the next record was known.
    """
    last_record_us = last_values(rows.key, rows.is_record, rows.at_us, np.full(size, NULL))
    previous_record = last_index_before(rows.is_record, segment_starts(rows.key))
    # A sample without a record before it follows no commit.
    follows_commit = ~take(rows.is_removal, previous_record, missing=True)
    is_sample = ~rows.is_record & ~rows.is_removal & ~rows.is_carried
    return is_sample & follows_commit & (rows.at_us <= last_record_us[rows.key])
