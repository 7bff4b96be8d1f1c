"""Commits of groups on partitions, each once, and how far each moved on from the one before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    last_before,
    saturated_sum,
    starts_of,
    take,
)


@dataclass(frozen=True, slots=True)
class Commits(Rows):
    """Commits and removals by key (a number: a group on a partition), time and place in the log.

    A removal has no offset. `source_offset` is NULL for samples, which come before a record of the same time.
    `is_carried` marks the last ones of earlier days.
    """

    key: Ints
    at_us: Ints
    source_offset: Ints
    is_record: Flags
    is_removal: Flags
    offset: Ints
    is_carried: Flags


def in_order(*parts: Commits) -> Commits:
    """Return all rows in order; rows that are equal, as records that were read twice are, once."""
    joined = Commits.join(*parts)
    order = np.lexsort(
        (joined.offset, joined.is_removal, joined.is_record, joined.source_offset, joined.at_us, joined.key)
    )
    rows = joined.where(order)
    # A carried row is one of those that are equal: the one that stays is not of the day.
    columns = [getattr(rows, name) for name in Commits.names()[:-1]]
    same = ~first_rows(*(column.astype(np.int64, copy=False) for column in columns))
    carried = rows.is_carried.copy()
    carried[:-1] |= same[1:] & rows.is_carried[1:]
    return Commits.of([*columns, carried]).where(~same)


@dataclass(frozen=True, slots=True)
class MoveStates:
    """What earlier days say of each key's moves.

    Those of `settled` take samples that came after the last record for what that record made known.
    """

    is_told: Flags  # whether the last record is a commit
    last_read_us: Ints  # the last record, removals included
    offset: Ints  # of the last row that counts
    moved_us: Ints
    commit_us: Ints
    settled_offset: Ints
    settled_moved_us: Ints
    settled_commit_us: Ints
    has_records: Flags


@dataclass(frozen=True, slots=True)
class KeyDays:
    """What each key's commits did on the day; all numbers are of the day, all times of ever where not named so.

    `moved_us`: since then the offset stands still, as far as it was observed. `read_us` and `sampled_us`: the day's
    last record, and the last sample that saw the commit.
    """

    consumed: Ints
    commits: Ints
    moves: Ints
    moved_us: Ints
    read_us: Ints
    sampled_us: Ints
    last_commit_us: Ints
    has_records: Flags


@dataclass(frozen=True, slots=True)
class _Moves:
    moved: Ints
    is_commit: Flags
    offset: Ints  # of the last row that counts, per key


def move(day: Commits, carried: MoveStates) -> tuple[KeyDays, MoveStates]:
    """Return what the day's commits did, and the state at its end.

    Between records samples say nothing new, and the sampler's clock is another one: they have moved by 0. Only what
    moved on is a commit, of samples; what is seen for the first time may have been committed just then.
    """
    own = day.where(~day.is_carried)
    size = len(carried.offset)
    begins = first_rows(own.key)
    read_us = _last(own.is_record, own.at_us, own.key, size)
    is_read = read_us != NULL
    before = carried.offset, carried.moved_us, carried.commit_us
    settled = carried.settled_offset, carried.settled_moved_us, carried.settled_commit_us
    offset, moved_us, commit_us = (np.where(is_read, s, b) for s, b in zip(settled, before, strict=True))
    last_read = np.where(is_read, read_us, carried.last_read_us)
    now = _moves(own, begins, carried.is_told, last_read, offset)
    later = _moves(own, begins, carried.is_told, np.full(size, np.iinfo(np.int64).max), carried.settled_offset)
    at_last, at_settled = (_times(own, moves, size) for moves in (now, later))
    is_commit = _last_told(own, carried.is_told)
    is_live = ~own.is_removal
    states = MoveStates(
        is_told=is_commit,
        last_read_us=last_read,
        offset=now.offset,
        moved_us=np.maximum(moved_us, at_last[0]),
        commit_us=np.maximum(commit_us, at_last[1]),
        settled_offset=later.offset,
        settled_moved_us=np.maximum(carried.settled_moved_us, at_settled[0]),
        settled_commit_us=np.maximum(carried.settled_commit_us, at_settled[1]),
        has_records=carried.has_records | (_last(own.is_record & is_live, own.at_us, own.key, size) != NULL),
    )
    is_move = is_live & (now.is_commit | (now.moved == NULL))
    amount = np.where(is_live & (now.moved != NULL), np.maximum(now.moved, 0), 0)
    keys = own.key[begins]
    days = KeyDays(
        consumed=_spread(saturated_sum(amount, begins), keys, size),
        commits=np.bincount(own.key[own.is_record & is_live], minlength=size),
        moves=np.bincount(own.key[is_move], minlength=size),
        moved_us=states.moved_us,
        read_us=read_us,
        sampled_us=_last(~own.is_record & is_live, own.at_us, own.key, size),
        last_commit_us=states.commit_us,
        has_records=states.has_records,
    )
    return days, states


def _moves(own: Commits, begins: Flags, is_told: Flags, last_read: Ints, offset: Ints) -> _Moves:
    """Return how far each row moved: NULL for the first that is known, and after a removal."""
    key, starts = own.key, starts_of(begins)
    record = last_before(own.is_record, starts)
    was_commit = np.where(record >= 0, ~take(own.is_removal, record, missing=True), is_told[key])
    is_idle = ~own.is_record & ~own.is_removal & was_commit & (own.at_us <= last_read[key])
    counting = last_before(~is_idle, starts)
    last = np.where(counting >= 0, take(own.offset, counting), offset[key])
    is_known = (own.offset != NULL) & (last != NULL)
    moved = np.where(
        is_idle, 0, np.where(is_known, np.where(is_known, own.offset, 0) - np.where(is_known, last, 0), NULL)
    )
    is_commit = ~own.is_removal & (own.is_record | ((moved != 0) & (moved != NULL)))
    ends = offset.copy()
    counted = np.flatnonzero(~is_idle)
    ends[key[counted]] = own.offset[counted]  # the last one of several stays
    return _Moves(moved, is_commit, ends)


def _times(own: Commits, moves: _Moves, size: int) -> tuple[Ints, Ints]:
    is_move = ~own.is_removal & (moves.is_commit | (moves.moved == NULL))
    return _last(is_move, own.at_us, own.key, size), _last(moves.is_commit, own.at_us, own.key, size)


def _last_told(own: Commits, before: Flags) -> Flags:
    found = before.copy()
    records = np.flatnonzero(own.is_record)
    found[own.key[records]] = ~own.is_removal[records]
    return found


def _last(condition: Flags, values: Ints, key: Ints, size: int) -> Ints:
    """Return for each key the value of its last row that meets the condition, else NULL."""
    found = np.full(size, NULL)
    places = np.flatnonzero(condition)
    found[key[places]] = values[places]
    return found


def _spread(values: Ints, keys: Ints, size: int) -> Ints:
    found = np.zeros(size, np.int64)
    found[keys] = values
    return found
