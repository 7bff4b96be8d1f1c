"""Commits of keys in their order, with their incarnations.

The commits of a key have two sources. A record of `__consumer_offsets` has the time of the commit. A sample shows the
commit that existed when the sample was taken. A deletion of the commit, or a commit on another topic id, begins a new
*incarnation*: commits of different incarnations are not compared.

- Records are in the order of the log. If the coordinator moves to a broker whose clock is behind, commit times fall.
  Such a record gets the highest time of the records before it.
- A row that was read twice counts once.
- Samplers and coordinators have different clocks. If the records before and after a sample share another topic id than
  the sample, its time is wrong, and it begins no incarnation.

Five records of one key; the clock of the fourth one is behind:

    >>> records = new_commits(
    ...     key=np.zeros(5, np.int64),
    ...     at_us=np.array([10, 20, 30, 25, 40]),
    ...     committed_offset=np.array([100, 150, 200, 220, 230]),
    ...     source_offset=np.arange(5),
    ... )
    >>> ordered = order_commits(records)
    >>> ordered.committed_offset, ordered.at_us
    (array([100, 150, 200, 220, 230]), array([10, 20, 30, 30, 40]))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import Commits, KeySummary, LogEnds
from kafka_groups.pipeline.build.kernels.segments import (
    first_index_at,
    is_among_last,
    is_segment_end,
    is_segment_start,
    last_index_at,
    last_index_before,
    last_values,
    next_index_after,
    running_count,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints

# The columns of a row that are read from a table. Rows that are equal in all of them count once.
_READ_COLUMNS: Final = ("key", "commit_timestamp_us", "source_offset", "is_record", "is_deletion", "committed_offset")


def new_commits(*, key: Ints, at_us: Ints, committed_offset: Ints, source_offset: Ints) -> Commits:
    """Return commits of a day that are not numbered yet; a row whose source offset is NULL is a sample.

    All arrays have one length, and times are µs since 1970.
    """
    size = len(key)
    return Commits(
        key=key,
        at_us=at_us,
        commit_timestamp_us=at_us,
        topic_id=np.full(size, NULL),
        member_count=np.full(size, NULL),
        committed_offset=committed_offset,
        source_offset=source_offset,
        is_record=source_offset != NULL,
        is_deletion=np.zeros(size, np.bool_),
        is_carried=np.zeros(size, np.bool_),
        incarnation=np.zeros(size, np.int64),
        repeated_commits=np.zeros(size, np.int64),
        unseen_highest=np.full(size, NULL),
    )


def new_deletions(key: Ints, at_us: Ints) -> Commits:
    """Return deletions that no record shows: row i deletes the commit of `key[i]` at `at_us[i]` (µs since 1970).

    Incarnations are not numbered yet.
    """
    missing = np.full(len(key), NULL)
    rows = new_commits(key=key, at_us=at_us, committed_offset=missing, source_offset=missing)
    return replace(rows, is_deletion=np.ones(len(key), np.bool_))


def empty_key_summary(size: int) -> KeySummary:
    """Return the summary of `size` keys that have no earlier days: NULL and false everywhere."""
    return KeySummary(
        last_fact_day=np.full(size, NULL),
        last_move_us=np.full(size, NULL),
        last_commit_us=np.full(size, NULL),
        has_records=np.zeros(size, np.bool_),
        sampled_us=np.full(size, NULL),
        samples_since_seen=np.full(size, NULL),
        missing_since_us=np.full(size, NULL),
    )


def order_commits(*parts: Commits) -> Commits:
    """Combine commits of several parts: each row once, sorted by key, time and source offset.

    Times never fall from a record of a key to the next one in the log (`Commits`).
    """
    rows = Commits.join(*parts).sort_by(*_READ_COLUMNS)
    columns = rows.arrays()
    distinct = rows.take(is_segment_start(*(columns[name] for name in _READ_COLUMNS)))
    return _follow_log(distinct).sort_by("key", "at_us", "source_offset")


def _follow_log(rows: Commits) -> Commits:
    """Raise times of records so that none is earlier than the record before it in the log; the order of rows stays.

    One partition of `__consumer_offsets` has all records of a group, so their offsets have the order of the log.
    """
    indices = np.flatnonzero(rows.is_record)
    indices = indices[np.lexsort((rows.source_offset[indices], rows.key[indices]))]
    new_times = rows.at_us.copy()
    new_times[indices] = running_times(rows.key[indices], rows.at_us[indices])
    return replace(rows, at_us=new_times)


def running_times(key: Ints, at_us: Ints) -> Ints:
    """Return the running maximum of `at_us` within each key; rows are sorted by key, then by offset."""
    latest_us = at_us.copy()
    falls = np.flatnonzero((key[1:] == key[:-1]) & (at_us[1:] < at_us[:-1]))
    # Times seldom fall, so the loop is over few keys.
    for falling_key in np.unique(key[falls]):
        of_key = slice(np.searchsorted(key, falling_key, "left"), np.searchsorted(key, falling_key, "right"))
        latest_us[of_key] = np.maximum.accumulate(at_us[of_key])
    return latest_us


def find_superseded(day: Commits, carried: Commits, size: int) -> Flags:
    """Find the records of a day that an earlier day has superseded: a carried record follows them in the log.

    The clock of their coordinator was ahead at midnight, so they are dated a day later than the record that follows.
    Return a mask of `day`. `size` is the number of keys.
    """
    last_offset = last_values(carried.key, carried.is_record, carried.source_offset, np.full(size, NULL))
    return day.is_record & (day.source_offset < last_offset[day.key])


def number_incarnations(rows: Commits, size: int) -> Commits:
    """Assign incarnations to the day's commits; commits of different incarnations are not compared.

    A new incarnation begins with a deletion, and with a commit whose topic id differs from the previous one. `rows` are
    ordered commits of `size` keys with all known topic ids (`find_topic_ids`). Carried rows keep their numbers.
    """
    start_index = segment_starts(rows.key)
    has_id = (rows.topic_id != NULL) & ~_are_within_another_topic(rows, size)
    # A deletion has begun an incarnation already, so a commit is compared only with commits since then.
    since_deletion = segment_starts(rows.key, running_count(rows.is_deletion, start_index))
    previous_id = take(rows.topic_id, last_index_before(has_id, since_deletion))
    is_on_other_topic = has_id & (previous_id != NULL) & (rows.topic_id != previous_id)
    begins = (rows.is_deletion | is_on_other_topic) & ~rows.is_carried
    # Only the day's rows begin incarnations. They come after the carried rows of their key.
    carried = last_values(rows.key, rows.is_carried, rows.incarnation, np.zeros(size, np.int64))
    incarnation_before = np.where(rows.is_carried, rows.incarnation, carried[rows.key])
    return replace(rows, incarnation=incarnation_before + running_count(begins, start_index))


def find_topic_ids(rows: Commits, ends: LogEnds, partition_of_key: Ints) -> Commits:
    """Fill in missing topic ids of the day's commits from log ends of the same partition.

    - A sample requests log ends right after commits, so a sampled commit gets the topic id of the next log end.
    - A record gets the id of the previous log end if the next log end has the same id, or if there is no next one.
      Otherwise the id stays NULL.

    `rows` are ordered commits, `ends` all rows that `number_logs` returned, by partition and time.
    """
    ends_with_id = ends.take(ends.is_used & (ends.topic_id != NULL))
    times = (ends_with_id.partition, ends_with_id.at_us)
    wanted = (partition_of_key[rows.key], rows.at_us)
    before = last_index_at(times, wanted)
    following = first_index_at(times, wanted)
    id_before = take(ends_with_id.topic_id, before)
    id_following = take(ends_with_id.topic_id, following)
    is_certain = (following < 0) | (id_before == id_following)
    id_of_record = np.where(is_certain, id_before, NULL)
    id_of_sample = np.where(following >= 0, id_following, id_before)
    lacks_id = (rows.topic_id == NULL) & ~rows.is_deletion & ~rows.is_carried
    known_id = np.where(rows.is_record, id_of_record, id_of_sample)
    return replace(rows, topic_id=np.where(lacks_id, known_id, rows.topic_id))


def carry_commits(rows: Commits) -> Commits:
    """Return the rows that the next day needs, marked as carried; `rows` are ordered and numbered.

    For each key, these are the last row, the last sample that saw the commit, the last record and the last deletion.
    """
    is_chosen = is_segment_end(rows.key)
    for condition in (~rows.is_record & ~rows.is_deletion, rows.is_record, rows.is_deletion):
        is_chosen |= is_among_last(condition, rows.key)
    carried = replace(rows, is_carried=np.ones(len(rows), np.bool_), repeated_commits=count_repeated_commits(rows))
    return carried.take(is_chosen)


def count_repeated_commits(rows: Commits) -> Ints:
    """Count for each record the records of its key just before it that commit the same offset; 0 for other rows.

    `rows` are ordered. They have at most one carried record of each key, whose count includes earlier days.
    """
    repeated = np.zeros(len(rows), np.int64)
    indices = np.flatnonzero(rows.is_record & ~rows.is_deletion)
    if len(indices):
        records = rows.take(indices)
        start_index = segment_starts(records.key, records.incarnation, records.committed_offset)
        repeated[indices] = np.arange(len(records)) - start_index + records.repeated_commits[start_index]
    return repeated


def are_between_records(rows: Commits, size: int) -> Flags:
    """Return a mask of the day's samples that lie between two records of their key; `rows` are ordered."""
    last_record_us = last_values(rows.key, rows.is_record, rows.at_us, np.full(size, NULL))
    has_record_before = last_index_before(rows.is_record, segment_starts(rows.key)) >= 0
    is_sample = ~rows.is_record & ~rows.is_deletion & ~rows.is_carried
    return is_sample & has_record_before & (rows.at_us <= last_record_us[rows.key])


def _are_within_another_topic(rows: Commits, size: int) -> Flags:
    """Return a mask of the day's samples between two records that agree on a topic id other than the sample's own."""
    has_id = rows.is_record & (rows.topic_id != NULL)
    id_before = take(rows.topic_id, last_index_before(has_id, segment_starts(rows.key)))
    id_following = take(rows.topic_id, next_index_after(has_id, rows.key))
    is_one_topic = (id_before != NULL) & (id_before == id_following)
    is_within: Flags = are_between_records(rows, size) & is_one_topic & (rows.topic_id != id_before)
    return is_within
