"""The partitions of a group as columns: what totals are made of, without a row for each partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter
from typing import Final, NamedTuple

from kafka_groups.groups.descriptions import DescribedGroups
from kafka_groups.groups.lag.rows import lags_of, readable_partitions
from kafka_groups.model import GroupOffsets, Member, OffsetRow, TopicPartition

_UNKNOWN: Final[Mapping[int, int]] = {}
_NO_NUMBERS: Final[frozenset[int]] = frozenset()


class PartitionColumns(NamedTuple):
    """The distinct partitions of a group: a column for each field of their `OffsetRow`s that totals need."""

    topic: Sequence[str]
    partition: Sequence[int]
    committed_offset: Sequence[int | None]
    log_end_offset: Sequence[int | None]
    lag: Sequence[int | None]
    log_start_offset: Sequence[int | None]


_NO_PARTITIONS: Final = PartitionColumns((), (), (), (), (), ())
_values_of: Final = attrgetter(*PartitionColumns._fields)


def columns_of(rows: Sequence[OffsetRow]) -> PartitionColumns:
    """Return rows as columns. Each partition is one row."""
    return PartitionColumns(*zip(*map(_values_of, rows), strict=True)) if rows else _NO_PARTITIONS


def offset_columns(described: DescribedGroups, group: str) -> PartitionColumns:
    """Return the partitions of a described group, in no order; none if its offsets are unknown.

    They are those of the rows that `offset_rows` returns. Who owns a partition changes no total, so members add only
    the partitions that have no commit.
    """
    offsets = described.offsets.get(group)
    if offsets is None:
        return _NO_PARTITIONS
    commits: dict[str, _Commits] = {}
    for topic, found in offsets.topics:
        # A response may contain a topic twice, although brokers do not send such responses.
        known = _Commits(found.partitions(), found.offsets())
        commits[topic] = known if topic not in commits else commits[topic].replaced_by(known)
    # Several members of a share group may have a partition, so that none owns it.
    owned = _owned_partitions(described.descriptions[group].members if offsets.lags is None else ())
    readable = readable_partitions(described, offsets)
    topics = []
    for topic in {**commits, **owned}:
        expected = owned.get(topic, _NO_NUMBERS) | readable.get(topic, _NO_NUMBERS)
        completed = commits.get(topic, _NO_COMMITS).with_others(expected)
        topics.append(_topic_columns(described, offsets, topic, completed))
    return topics[0] if len(topics) == 1 else _concatenate(topics)


def _concatenate(topics: Sequence[PartitionColumns]) -> PartitionColumns:
    if not topics:
        return _NO_PARTITIONS
    return PartitionColumns(*(tuple(chain.from_iterable(column)) for column in zip(*topics, strict=True)))


class _Commits(NamedTuple):
    """The partitions of a group in a topic, and their commits."""

    partitions: Sequence[int]
    offsets: Sequence[int | None]

    def replaced_by(self, others: _Commits) -> _Commits:
        """Return both; the other commit of a partition that is in both."""
        offsets = {**dict(zip(*self, strict=True)), **dict(zip(*others, strict=True))}
        return _Commits((*offsets,), (*offsets.values(),))

    def with_others(self, expected: frozenset[int]) -> _Commits:
        """Return the commits, and the expected partitions that have none."""
        others = expected.difference(self.partitions)
        if not others:
            return self
        return _Commits((*self.partitions, *others), (*self.offsets, *repeat(None, len(others))))


_NO_COMMITS: Final = _Commits((), ())


def _owned_partitions(members: Iterable[Member]) -> dict[str, frozenset[int]]:
    owned: dict[str, frozenset[int]] = {}
    for member in members:
        for assigned in member.assignment or ():
            if not assigned.partitions:
                continue
            owned[assigned.topic] = owned.get(assigned.topic, _NO_NUMBERS).union(assigned.partitions)
    return owned


def _topic_columns(
    described: DescribedGroups, offsets: GroupOffsets, topic: str, commits: _Commits
) -> PartitionColumns:
    if described.scope is not None:
        has = described.scope.has
        pairs = [(number, offset) for number, offset in zip(*commits, strict=True) if has(topic, number)]
        commits = _Commits(*zip(*pairs, strict=True)) if pairs else _NO_COMMITS
    ends = tuple(map(described.log_end_offsets.get(topic, _UNKNOWN).get, commits.partitions))
    lags: Sequence[int | None]
    if offsets.lags is None:
        lags = lags_of(commits.offsets, ends)
    else:
        lags = tuple(offsets.lags.get(TopicPartition(topic, number)) for number in commits.partitions)
    return PartitionColumns(
        topic=(topic,) * len(ends),
        partition=commits.partitions,
        committed_offset=commits.offsets,
        log_end_offset=ends,
        lag=lags,
        log_start_offset=tuple(map(described.log_start_offsets.get(topic, _UNKNOWN).get, commits.partitions)),
    )
