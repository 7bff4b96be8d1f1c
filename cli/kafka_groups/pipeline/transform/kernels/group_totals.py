"""A day of groups, from what each of their commits did on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kafka_groups.pipeline.transform.kernels.group_status import FRESH_MS
from kafka_groups.pipeline.transform.kernels.segments import (
    NULL,
    Flags,
    Floats,
    Ints,
    Rows,
    first_rows,
    reduce,
    saturated_sum,
)

# Of fewer records a partition may well have most by chance.
_ENOUGH_RECORDS: Final = 1_000
_LARGEST: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class KeyRows(Rows):
    """A row for each group, topic and partition on one day, by these; `quiet` is of the topic, NULL of the others.

    `quiet` is the number of partitions of the topic that were observed and did not grow, `is_quiet` whether this is one
    of them: many clients commit nothing on such a partition.
    """

    group: Ints
    topic: Ints
    consumed: Ints
    commits: Ints
    moves: Ints
    moved_us: Ints
    sampled_us: Ints
    last_commit_us: Ints
    has_records: Flags
    lives: Flags
    is_orphaned: Flags
    is_quiet: Flags
    quiet: Ints
    time_lag_ms: Ints
    margin: Ints
    last_ms: Ints
    last_margin: Ints
    left_ms: Ints


@dataclass(frozen=True, slots=True)
class GroupDays:
    """A row for each group that has a commit at the day's end, or had one that day; `skew` is NaN if unknown.

    `topics` are the topics of living commits, ordered by `topic_of`, the place of their group.
    """

    group: Ints
    commits: Ints
    has_records: Flags
    partitions: Ints
    consumed: Ints
    skew: Floats
    moved_us: Ints
    sampled_us: Ints
    last_commit_us: Ints
    orphaned: Ints
    time_lag_ms: Ints
    margin: Ints
    last_margin: Ints
    left_ms: Ints
    topics: Ints
    topic_of: Ints


def add_up(keys: KeyRows) -> GroupDays:
    """Return the groups' day."""
    chosen = keys.where(np.flatnonzero(keys.lives | (keys.moves > 0)))
    of_topic = first_rows(chosen.group, chosen.topic)
    living = reduce(np.add, chosen.lives.astype(np.int64), of_topic)
    group_of_topic = chosen.group[of_topic]
    begins = first_rows(chosen.group)
    by_topic = first_rows(group_of_topic)
    has_living = np.flatnonzero(living > 0)
    groups = chosen.group[begins]
    worst = _worst(keys, groups)
    return GroupDays(
        group=groups,
        commits=reduce(np.add, chosen.commits, begins),
        has_records=reduce(np.logical_or, chosen.has_records, begins),
        partitions=reduce(np.add, living, by_topic),
        consumed=saturated_sum(chosen.consumed, begins),
        skew=reduce(np.fmax, _skew(chosen, of_topic), by_topic),
        moved_us=reduce(np.maximum, chosen.moved_us, begins),
        sampled_us=reduce(np.maximum, chosen.sampled_us, begins),
        last_commit_us=reduce(np.maximum, chosen.last_commit_us, begins),
        orphaned=worst[0],
        time_lag_ms=worst[1],
        margin=worst[2],
        last_margin=worst[3],
        left_ms=worst[4],
        topics=chosen.topic[of_topic][has_living],
        topic_of=np.searchsorted(groups, group_of_topic[has_living]),
    )


def _skew(rows: KeyRows, of_topic: Flags) -> Floats:
    """Return the largest partition's share of each topic's consumption over the mean share; NaN for small topics."""
    amount = rows.consumed.astype(np.float64)
    total, largest = reduce(np.add, amount, of_topic), reduce(np.maximum, amount, of_topic)
    count = reduce(np.add, np.ones(len(amount)), of_topic)
    quiet = reduce(np.maximum, np.maximum(rows.quiet, 0), of_topic)
    read = count + quiet - reduce(np.add, rows.is_quiet.astype(np.float64), of_topic)
    is_enough = total >= _ENOUGH_RECORDS
    return np.where(is_enough, largest * read / np.where(is_enough, total, 1.0), np.nan)


def _worst(keys: KeyRows, groups: Ints) -> tuple[Ints, ...]:
    """Return orphans, time lag, margin, last margin and time left of each of `groups`, of all their partitions.

    The last two are of partitions that were observed within ten minutes before the group's last observation.
    """
    begins = first_rows(keys.group)
    newest = reduce(np.maximum, keys.last_ms, begins)[np.cumsum(begins) - 1]
    is_fresh = (keys.last_ms != NULL) & (newest - keys.last_ms <= FRESH_MS)
    mine = np.isin(keys.group[begins], groups)

    def least(values: Ints) -> Ints:
        found = reduce(np.minimum, np.where(values == NULL, _LARGEST, values), begins)[mine]
        return np.where(found == _LARGEST, NULL, found)

    return (
        reduce(np.add, keys.is_orphaned.astype(np.int64), begins)[mine],
        reduce(np.maximum, keys.time_lag_ms, begins)[mine],
        least(keys.margin),
        least(np.where(is_fresh, keys.last_margin, NULL)),
        least(np.where(is_fresh, keys.left_ms, NULL)),
    )
