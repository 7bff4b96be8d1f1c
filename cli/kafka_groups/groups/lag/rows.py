"""The rows of a group: the join of its members, commits and log offsets, with the lag of each partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter, itemgetter, sub
from types import MappingProxyType
from typing import Final, TypeAlias

from kafka_groups.commits import PartitionCommit, TopicCommits
from kafka_groups.groups.descriptions import DescribedGroups
from kafka_groups.model import GroupOffsets, Member, OffsetRow, TopicPartition

Ends: TypeAlias = Mapping[str, Mapping[int, int]]

_UNKNOWN: Final[Mapping[int, int]] = {}
_NO_OWNER: Final = (None, None, None)
_number_of: Final = itemgetter(0)
_partition_of: Final = attrgetter("topic", "partition")
# The same as OffsetRow._make, without a call of a Python function for each row.
_as_row: Final[Callable[[tuple[object, ...]], OffsetRow]] = partial(tuple.__new__, OffsetRow)


def lag_of(committed: int | None, end: int | None) -> int | None:
    """Return the number of messages from the committed offset to the log end offset.

    It is negative if the committed offset is the larger one, and None if one of both is unknown.
    """
    if committed is None or end is None:
        return None
    return end - committed


def lags_of(committed: Sequence[int | None], ends: Sequence[int | None]) -> Sequence[int | None]:
    """Return the lag of each partition, as `lag_of` does."""
    differences: Iterable[int] = map(sub, ends, committed)
    try:
        return list(differences)
    except TypeError:
        return list(map(lag_of, committed, ends))


def sort_members(members: Iterable[Member]) -> list[Member]:
    """Return the members with the most partitions first, as Kafka's tool does; then by their first partition.

    A member whose assignment is unreadable stands with those without partitions.
    """
    return sorted(
        members, key=lambda member: (-(member.partition_count or 0), _first_partition(member), member.member_id)
    )


def offset_rows(described: DescribedGroups, group: str) -> list[OffsetRow]:
    """Return the offset rows of a described group; none if its offsets are unknown.

    If the caller named topics, rows of others are made and dropped, so that the order of members stays the same.
    """
    if group not in described.offsets:
        return []
    offsets = described.offsets[group]
    lags = offsets.lags
    # Several members of a share group may have a partition, so that none owns it.
    members = described.descriptions[group].members if lags is None else ()
    rows = join_offsets(
        group,
        members=members,
        committed=offsets.topics,
        ends=described.log_end_offsets,
        starts=described.log_start_offsets,
        partitions=readable_partitions(described, offsets),
    )
    if described.scope is not None:
        rows = [row for row in rows if described.scope.has(row.topic, row.partition)]
    return (
        rows if lags is None else [row._replace(lag=lags.get(TopicPartition(row.topic, row.partition))) for row in rows]
    )


def readable_partitions(described: DescribedGroups, offsets: GroupOffsets) -> Mapping[str, frozenset[int]]:
    """Return the partitions of topics that a group with these offsets reads, if the caller wanted whole topics."""
    if offsets.lags is not None:
        # The other partitions of a topic are not initialized in a share group, which does not read them yet.
        return {}
    if not offsets.failed:
        return described.partitions
    # A commit that the broker refused may be there.
    return {
        topic: frozenset(each for each in numbers if (topic, each) not in offsets.failed)
        for topic, numbers in described.partitions.items()
    }


def has_offset_rows(described: DescribedGroups, group: str) -> bool:
    """Return whether a described group has offset rows. Commits are counted and not decoded."""
    offsets = described.offsets.get(group)
    if offsets is not None and any(len(commits) for _, commits in offsets.topics):
        return True
    return bool(offset_rows(described, group))


def join_offsets(
    group: str,
    *,
    members: Sequence[Member],
    committed: Iterable[tuple[str, TopicCommits]],
    ends: Ends,
    starts: Ends,
    partitions: Mapping[str, frozenset[int]] = MappingProxyType({}),
) -> list[OffsetRow]:
    """Return a row for each partition that a member owns or that has a commit.

    `committed` has the partitions of each topic in ascending order. `ends` and `starts` are log end offsets and
    log start offsets by topic and partition; the offset of a missing partition is unknown. Owned partitions come
    first, by member; then the commits of partitions that no member owns (KIP-88). A partition that several members own
    has a row for each of them. `partitions` are others of these topics, which have a row although they have neither an
    owner nor a commit.
    """
    by_topic: dict[str, Sequence[PartitionCommit]] = {}
    for topic, commits in committed:
        # A response may contain a topic twice, although brokers do not send such responses.
        before = by_topic.get(topic)
        by_topic[topic] = list(commits) if before is None else _merge(before, commits)
    if not members:
        return [
            row
            for topic, commits in sorted(by_topic.items())
            for row in _rows(group, topic, _with_others(commits, partitions.get(topic)), ends, starts, _NO_OWNER)
        ]
    commits_of = {topic: {commit[0]: commit for commit in commits} for topic, commits in sorted(by_topic.items())}
    rows: list[OffsetRow] = []
    for member in sort_members(members):
        owner = (member.member_id, member.host, member.client_id)
        for topic, numbers in sorted(
            (assigned.topic, sorted(assigned.partitions)) for assigned in member.assignment or ()
        ):
            known = commits_of.get(topic, {})
            assigned_commits = [known.get(number, (number, None, None, None)) for number in numbers]
            rows += _rows(group, topic, assigned_commits, ends, starts, owner)
    owned = {(row.topic, row.partition) for row in rows}
    for topic in dict.fromkeys((*commits_of, *(row.topic for row in rows))):
        known_commits = [*commits_of.get(topic, {}).values()]
        every_commit = _with_others(known_commits, partitions.get(topic))
        rest = [commit for commit in every_commit if (topic, commit[0]) not in owned]
        rows += _rows(group, topic, rest, ends, starts, _NO_OWNER)
    return rows


def distinct_partitions(rows: Sequence[OffsetRow]) -> Sequence[OffsetRow]:
    """Return the first row of each partition, for totals: several members may own the same partition."""
    keys = list(map(_partition_of, rows))
    if len(set(keys)) == len(keys):
        return rows
    first_rows = dict(zip(reversed(keys), reversed(rows), strict=True))
    return [first_rows[key] for key in dict.fromkeys(keys)]


def _merge(commits: Iterable[PartitionCommit], others: Iterable[PartitionCommit]) -> list[PartitionCommit]:
    """Return the commits of a topic that a response contains twice, ascending; the later one of each partition."""
    by_partition = {commit[0]: commit for commit in (*commits, *others)}
    return sorted(by_partition.values(), key=_number_of)


def _with_others(commits: Sequence[PartitionCommit], partitions: frozenset[int] | None) -> Sequence[PartitionCommit]:
    """Return the commits of a topic, and its other partitions as rows without a commit, ascending."""
    if partitions is None or not (others := partitions.difference(map(_number_of, commits))):
        return commits
    return sorted((*commits, *((number, None, None, None) for number in others)), key=_number_of)


def _rows(
    group: str,
    topic: str,
    commits: Sequence[PartitionCommit],
    ends: Ends,
    starts: Ends,
    owner: tuple[str | None, str | None, str | None],
) -> list[OffsetRow]:
    # There may be a million rows; creating them column by column takes three quarters of the time.
    if not commits:
        return []
    partitions, offsets, leader_epochs, metadata = zip(*commits, strict=True)
    log_ends = list(map(ends.get(topic, _UNKNOWN).get, partitions))
    log_starts = map(starts.get(topic, _UNKNOWN).get, partitions)
    lags = lags_of(offsets, log_ends)
    owner_columns = map(repeat, owner)
    columns = (
        repeat(group),
        repeat(topic),
        partitions,
        leader_epochs,
        offsets,
        log_ends,
        lags,
        *owner_columns,
        log_starts,
        metadata,
    )
    return list(map(_as_row, zip(*columns, strict=False)))


def _first_partition(member: Member) -> tuple[str, int]:
    return min(
        ((topic.topic, min(topic.partitions)) for topic in member.assignment or () if topic.partitions), default=("", 0)
    )
