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
    row_count = len(key)
    return Commits(
        key=key,
        at_us=at_us,
        commit_timestamp_us=at_us,
        topic_id=np.full(row_count, NULL),
        member_count=np.full(row_count, NULL),
        committed_offset=committed_offset,
        source_offset=source_offset,
        is_record=source_offset != NULL,
        is_deletion=np.zeros(row_count, np.bool_),
        is_carried=np.zeros(row_count, np.bool_),
        incarnation=np.zeros(row_count, np.int64),
        repeated_commits=np.zeros(row_count, np.int64),
        unseen_highest_offset=np.full(row_count, NULL),
    )


def new_deletions(key: Ints, at_us: Ints) -> Commits:
    """Return deletions that no record shows: row i deletes the commit of `key[i]` at `at_us[i]` (µs since 1970).

    Incarnations are not numbered yet.
    """
    unknown_offsets = np.full(len(key), NULL)
    deletions = new_commits(key=key, at_us=at_us, committed_offset=unknown_offsets, source_offset=unknown_offsets)
    return replace(deletions, is_deletion=np.ones(len(key), np.bool_))


def empty_key_summary(key_count: int) -> KeySummary:
    """Return the summary of `key_count` keys that have no earlier days: NULL and false everywhere."""
    return KeySummary(
        last_fact_day=np.full(key_count, NULL),
        last_activity_us=np.full(key_count, NULL),
        last_commit_us=np.full(key_count, NULL),
        has_records=np.zeros(key_count, np.bool_),
        last_seen_us=np.full(key_count, NULL),
        samples_since_seen=np.full(key_count, NULL),
        missing_since_us=np.full(key_count, NULL),
    )


def order_commits(*parts: Commits) -> Commits:
    """Combine commits of several parts: each row once, sorted by key, time and source offset.

    Times never fall from a record of a key to the next one in the log (`Commits`).
    """
    sorted_commits = Commits.join(*parts).sort_by(*_READ_COLUMNS)
    commit_columns = sorted_commits.arrays()
    distinct_commits = sorted_commits.take(is_segment_start(*(commit_columns[name] for name in _READ_COLUMNS)))
    return _follow_log(distinct_commits).sort_by("key", "at_us", "source_offset")


def _follow_log(commits: Commits) -> Commits:
    """Raise times of records so that none is earlier than the record before it in the log; the order of rows stays.

    One partition of `__consumer_offsets` has all records of a group, so their offsets have the order of the log.
    """
    record_indices = np.flatnonzero(commits.is_record)
    record_indices = record_indices[np.lexsort((commits.source_offset[record_indices], commits.key[record_indices]))]
    raised_times_us = commits.at_us.copy()
    raised_times_us[record_indices] = running_times(commits.key[record_indices], commits.at_us[record_indices])
    return replace(commits, at_us=raised_times_us)


def running_times(key: Ints, at_us: Ints) -> Ints:
    """Return the running maximum of `at_us` within each key; rows are sorted by key, then by offset."""
    latest_us = at_us.copy()
    fall_indices = np.flatnonzero((key[1:] == key[:-1]) & (at_us[1:] < at_us[:-1]))
    # Times seldom fall, so the loop is over few keys.
    for falling_key in np.unique(key[fall_indices]):
        rows_of_key = slice(np.searchsorted(key, falling_key, "left"), np.searchsorted(key, falling_key, "right"))
        latest_us[rows_of_key] = np.maximum.accumulate(at_us[rows_of_key])
    return latest_us


def find_superseded(day_commits: Commits, carried_commits: Commits, key_count: int) -> Flags:
    """Find the records of a day that an earlier day has superseded: a carried record follows them in the log.

    The clock of their coordinator was ahead at midnight, so they are dated a day later than the record that follows.
    Return a mask of `day_commits`. `key_count` is the number of keys.
    """
    last_carried_offset = last_values(
        carried_commits.key, carried_commits.is_record, carried_commits.source_offset, np.full(key_count, NULL)
    )
    return day_commits.is_record & (day_commits.source_offset < last_carried_offset[day_commits.key])


def number_incarnations(commits: Commits, key_count: int) -> Commits:
    """Assign incarnations to the day's commits; commits of different incarnations are not compared.

    A new incarnation begins with a deletion, and with a commit whose topic id differs from the previous one. `commits`
    are ordered commits of `key_count` keys with all known topic ids (`find_topic_ids`). Carried rows keep their
    numbers.
    """
    start_index = segment_starts(commits.key)
    has_id = (commits.topic_id != NULL) & ~_are_within_another_topic(commits, key_count)
    # A deletion has begun an incarnation already, so a commit is compared only with commits since then.
    since_deletion = segment_starts(commits.key, running_count(commits.is_deletion, start_index))
    previous_id = take(commits.topic_id, last_index_before(has_id, since_deletion))
    is_on_other_topic = has_id & (previous_id != NULL) & (commits.topic_id != previous_id)
    begins_incarnation = (commits.is_deletion | is_on_other_topic) & ~commits.is_carried
    # Only the day's rows begin incarnations. They come after the carried rows of their key.
    carried_incarnation = last_values(
        commits.key, commits.is_carried, commits.incarnation, np.zeros(key_count, np.int64)
    )
    incarnation_before = np.where(commits.is_carried, commits.incarnation, carried_incarnation[commits.key])
    return replace(commits, incarnation=incarnation_before + running_count(begins_incarnation, start_index))


def find_topic_ids(commits: Commits, log_ends: LogEnds, partition_of_key: Ints) -> Commits:
    """Fill in missing topic ids of the day's commits from log ends of the same partition.

    - A sample requests log ends right after commits, so a sampled commit gets the topic id of the next log end.
    - A record gets the id of the previous log end if the next log end has the same id, or if there is no next one.
      Otherwise the id stays NULL.

    `commits` are ordered commits, `log_ends` all rows that `number_logs` returned, by partition and time.
    """
    ends_with_id = log_ends.take(log_ends.is_used & (log_ends.topic_id != NULL))
    known_times = (ends_with_id.partition, ends_with_id.at_us)
    wanted_times = (partition_of_key[commits.key], commits.at_us)
    index_before = last_index_at(known_times, wanted_times)
    index_following = first_index_at(known_times, wanted_times)
    id_before = take(ends_with_id.topic_id, index_before)
    id_following = take(ends_with_id.topic_id, index_following)
    is_certain = (index_following < 0) | (id_before == id_following)
    id_of_record = np.where(is_certain, id_before, NULL)
    id_of_sample = np.where(index_following >= 0, id_following, id_before)
    lacks_id = (commits.topic_id == NULL) & ~commits.is_deletion & ~commits.is_carried
    known_id = np.where(commits.is_record, id_of_record, id_of_sample)
    return replace(commits, topic_id=np.where(lacks_id, known_id, commits.topic_id))


def carry_commits(commits: Commits) -> Commits:
    """Return the rows that the next day needs, marked as carried; `commits` are ordered and numbered.

    For each key, these are the last row, the last sample that saw the commit, the last record and the last deletion.
    """
    is_chosen = is_segment_end(commits.key)
    for condition in (~commits.is_record & ~commits.is_deletion, commits.is_record, commits.is_deletion):
        is_chosen |= is_among_last(condition, commits.key)
    carried_commits = replace(
        commits, is_carried=np.ones(len(commits), np.bool_), repeated_commits=count_repeated_commits(commits)
    )
    return carried_commits.take(is_chosen)


def count_repeated_commits(commits: Commits) -> Ints:
    """Count for each record the records of its key just before it that commit the same offset; 0 for other rows.

    `commits` are ordered. They have at most one carried record of each key, whose count includes earlier days.
    """
    repeated_commits = np.zeros(len(commits), np.int64)
    record_indices = np.flatnonzero(commits.is_record & ~commits.is_deletion)
    if len(record_indices):
        records = commits.take(record_indices)
        start_index = segment_starts(records.key, records.incarnation, records.committed_offset)
        repeated_commits[record_indices] = np.arange(len(records)) - start_index + records.repeated_commits[start_index]
    return repeated_commits


def are_between_records(commits: Commits, key_count: int) -> Flags:
    """Return a mask of the day's samples that lie between two records of their key; `commits` are ordered."""
    last_record_us = last_values(commits.key, commits.is_record, commits.at_us, np.full(key_count, NULL))
    has_record_before = last_index_before(commits.is_record, segment_starts(commits.key)) >= 0
    is_sample = ~commits.is_record & ~commits.is_deletion & ~commits.is_carried
    return is_sample & has_record_before & (commits.at_us <= last_record_us[commits.key])


def _are_within_another_topic(commits: Commits, key_count: int) -> Flags:
    """Return a mask of the day's samples between two records that agree on a topic id other than the sample's own."""
    has_id = commits.is_record & (commits.topic_id != NULL)
    id_before = take(commits.topic_id, last_index_before(has_id, segment_starts(commits.key)))
    id_following = take(commits.topic_id, next_index_after(has_id, commits.key))
    is_one_topic = (id_before != NULL) & (id_before == id_following)
    is_within_topic: Flags = are_between_records(commits, key_count) & is_one_topic & (commits.topic_id != id_before)
    return is_within_topic
