"""The windows that verdicts are given on: the last commits of a key at a time, one for each slot of time.

Commits of `__consumer_offsets` and samples make windows of their own. Of samples only those count that saw another
offset than the one before. A removal ends a life, and no window reaches across it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.lag import LagRows
from kafka_groups.pipeline.transform.kernels.lag_points import KnownEnds
from kafka_groups.pipeline.transform.kernels.rows import Rows
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Ints,
    first_rows,
    last_before,
    last_rows,
    merge_key,
    rows_after,
    starts_of,
    take,
)

# Further than that no two clocks of a cluster should be apart.
_APART_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Entries(Rows):
    """Commits of one origin, by key, life and time, with the lag that each left (NULL: not known).

    `opened_ms` is the time of the first commit of the entry's slot.
    """

    key: Ints
    life: Ints
    at_us: Ints
    slot: Ints
    opened_ms: Ints
    offset: Ints
    lag: Ints


@dataclass(frozen=True, slots=True)
class Windows:
    """A window for each lag row, a row of a matrix: the newest slot is the last column, empty ones are NULL.

    `is_sampled` says that the window is of samples; `count` is the number of slots, 0 where there is no commit.
    """

    opened_ms: Ints
    offset: Ints
    lag: Ints
    count: Ints
    is_sampled: Flags


def record_entries(commits: Commits, life: Ints, lag: Ints) -> Entries:
    """Return the records among the day's commits as entries; slots are numbered by `join_slots`."""
    return _entries(commits, life, lag, commits.is_record & ~commits.is_removal)


def sample_entries(commits: Commits, life: Ints, lag: Ints, seen_offset: Ints) -> Entries:
    """Return the samples that saw another offset than the one before, or the first one of a life.

    `seen_offset` is the last sample of each key's current life on earlier days, NULL where there is none.
    """
    is_sample = ~commits.is_record & ~commits.is_removal & ~commits.is_carried
    of_life = starts_of(first_rows(commits.key, life))
    previous = last_before(is_sample, of_life)
    is_first_life = life == life[starts_of(first_rows(commits.key))]
    carried = np.where(is_first_life, seen_offset[commits.key], NULL)
    seen = np.where(previous >= 0, take(commits.offset, previous), carried)
    return _entries(commits, life, lag, is_sample & (seen != commits.offset))


def _entries(commits: Commits, life: Ints, lag: Ints, chosen: Flags) -> Entries:
    rows = np.flatnonzero(chosen & ~commits.is_carried)
    at = commits.at_us[rows]
    nothing = np.zeros(len(rows), np.int64)
    return Entries(commits.key[rows], life[rows], at, nothing, at // 1_000, commits.offset[rows], lag[rows])


def join_slots(carried: Entries, day: Entries, slot_ms: int) -> Entries:
    """Return the entries of earlier days and of the day in order, with the numbers of their slots and their openings.

    Slots are fixed, `floor(time / slot_ms)`: late and replayed commits make the same ones. An earlier day hands on one
    entry for each slot, at the slot's opening.
    """
    joined = Entries.join(carried, day)
    order = np.lexsort((np.arange(len(joined)), joined.at_us, joined.life, joined.key))
    rows = joined.where(order)
    begins = first_rows(rows.key, rows.life, rows.opened_ms // slot_ms)
    opened = rows.opened_ms[starts_of(begins)] if len(rows) else rows.opened_ms
    slot = np.cumsum(begins) - 1
    return Entries(rows.key, rows.life, rows.at_us, slot, opened, rows.offset, rows.lag)


def last_slots(entries: Entries, life: Ints, intervals: int) -> Entries:
    """Return what to hand on: one entry for each of the last slots of each key's current life."""
    rows = entries.where(last_rows(entries.slot) & (entries.life == life[entries.key]))
    kept = rows.where(rows_after(rows.key) < intervals)
    # Numbers of slots are of a batch.
    number = np.zeros(len(kept), np.int64)
    return Entries(kept.key, kept.life, kept.opened_ms * 1_000, number, kept.opened_ms, kept.offset, kept.lag)


def lag_when_committed(commits: Commits, partition_of: Ints, ends: KnownEnds, base_us: int) -> Ints:
    """Return the lag that each commit left: the last log end that was known at its time minus the offset, or 0.

    NULL where none was known yet. The end that counts for a sample is that of its own run, which comes just after it.
    """
    mine = partition_of[commits.key]
    place = ends.last_until(mine, commits.at_us, base_us)
    of_run = ends.first_from(mine, commits.at_us, base_us)
    place = np.where(~commits.is_record & (of_run >= 0), of_run, place)
    at_commit = take(ends.end, place)
    is_known = (at_commit != NULL) & (commits.offset != NULL)
    return np.where(is_known, np.maximum(0, np.where(is_known, at_commit - commits.offset, 0)), NULL)


def windows_at(rows: LagRows, records: Entries, samples: Entries, intervals: int, base_us: int) -> Windows:
    """Return the window at each lag row: of records, or of samples where records say nothing.

    So where there are none, or none since samples saw another offset (ingest may be behind).
    """
    read, sampled = (_last_entry(rows, entries, base_us) for entries in (records, samples))
    has_read, has_sampled = read >= 0, sampled >= 0
    since_ms = take(samples.opened_ms, sampled, 0) - take(records.opened_ms, read, 0)
    one, other = take(samples.offset, sampled), take(records.offset, read)
    # A clock that is ahead makes an old sample look new, but it cannot make its offset higher.
    is_ahead = (one > other) & (since_ms > 0)
    is_behind = has_read & has_sampled & (is_ahead | ((one != other) & (since_ms > _APART_MS)))
    is_sampled = has_sampled & (is_behind | ~has_read)
    is_read = has_read & ~is_behind
    of_records, of_samples = (
        _matrix(entries, place, intervals) for entries, place in ((records, read), (samples, sampled))
    )
    columns = [
        np.where(is_sampled[:, None], s, np.where(is_read[:, None], r, NULL))
        for r, s in zip(of_records, of_samples, strict=True)
    ]
    return Windows(columns[0], columns[1], columns[2], (columns[0] != NULL).sum(axis=1), is_sampled)


def _last_entry(rows: LagRows, entries: Entries, base_us: int) -> Ints:
    """Return the place of the last entry of the key and its life at each lag row; -1 where there is none."""
    at = merge_key(rows.key, rows.at_us, base_us)
    place = np.searchsorted(merge_key(entries.key, entries.at_us, base_us), at, "right") - 1
    is_mine = (
        (place >= 0) & (take(entries.key, place, -1) == rows.key) & (take(entries.life, place, -1) == rows.removals)
    )
    return np.where(is_mine, place, -1)


def _matrix(entries: Entries, place: Ints, intervals: int) -> tuple[Ints, Ints, Ints]:
    """Return openings, offsets and lags of the slots that end with each place: its own as far as it is filled then."""
    shape = (len(place), intervals)
    if not len(entries):
        return np.full(shape, NULL), np.full(shape, NULL), np.full(shape, NULL)
    lasts = np.flatnonzero(last_rows(entries.slot))
    first_of_life = starts_of(first_rows(entries.key[lasts], entries.life[lasts]))
    slot = entries.slot[place]
    back = slot[:, None] - np.arange(intervals - 1, 0, -1)
    is_there = (place[:, None] >= 0) & (back >= first_of_life[slot][:, None])
    earlier = lasts[np.maximum(back, 0)]
    found = []
    for values in (entries.opened_ms, entries.offset, entries.lag):
        own = np.where(place >= 0, values[place], NULL)
        found.append(np.concatenate([np.where(is_there, values[earlier], NULL), own[:, None]], axis=1))
    return found[0], found[1], found[2]
