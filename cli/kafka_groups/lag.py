"""The lag of a partition, and the rows of all views of offsets: commits joined with log offsets and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Final, TypeAlias

from kafka_groups.model import Member, OffsetRow, PartitionCommit, TopicCommits

Ends: TypeAlias = Mapping[str, Mapping[int, int]]

_UNKNOWN: Final[Mapping[int, int]] = {}
_NO_OWNER: Final = (None, None, None)
# The same as OffsetRow._make, without a call of a Python function for each row.
_as_row: Final[Callable[[tuple[object, ...]], OffsetRow]] = partial(tuple.__new__, OffsetRow)


def lag_of(committed: int | None, end: int | None) -> int | None:
    """Return the number of messages from the committed offset to the log end offset.

    It is negative if the committed offset is the larger one, and None if one of both is unknown.
    """
    if committed is None or end is None:
        return None
    return end - committed


def sort_members(members: Iterable[Member]) -> list[Member]:
    """Return the members with the most partitions first, as Kafka's tool does; then by their first partition."""
    return sorted(members, key=lambda member: (-member.partition_count, _first_partition(member), member.member_id))


def join_offsets(
    group: str,
    *,
    members: Sequence[Member],
    committed: Iterable[tuple[str, TopicCommits]],
    ends: Ends,
    starts: Ends,
) -> list[OffsetRow]:
    """Return a row for each partition that a member owns or that has a commit.

    `committed` has the partitions of each topic in ascending order. `ends` and `starts` are log end offsets and
    log start offsets by topic and partition; the offset of a missing partition is unknown. Owned partitions come
    first, by member; then the commits of partitions that no member owns (KIP-88).
    """
    by_topic: dict[str, Sequence[PartitionCommit]] = {}
    for topic, commits in committed:
        # A response may contain a topic twice, although brokers do not send such responses.
        before = by_topic.get(topic)
        by_topic[topic] = list(commits) if before is None else sorted((*before, *commits), key=itemgetter(0))
    if not members:
        return [
            row
            for topic, commits in sorted(by_topic.items())
            for row in _rows(group, topic, commits, ends, starts, _NO_OWNER)
        ]
    commits_of = {topic: {commit[0]: commit for commit in commits} for topic, commits in sorted(by_topic.items())}
    rows: list[OffsetRow] = []
    for member in sort_members(members):
        owner = (member.member_id, member.host, member.client_id)
        for topic, partitions in sorted(
            (assigned.topic, sorted(assigned.partitions)) for assigned in member.assignment
        ):
            known = commits_of.get(topic, {})
            assigned_commits = [known.get(partition, (partition, None, None, None)) for partition in partitions]
            rows += _rows(group, topic, assigned_commits, ends, starts, owner)
    owned = {(row.topic, row.partition) for row in rows}
    for topic, known in commits_of.items():
        rest = [commit for partition, commit in known.items() if (topic, partition) not in owned]
        rows += _rows(group, topic, rest, ends, starts, _NO_OWNER)
    return rows


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
    lags = map(lag_of, offsets, log_ends)
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
        ((topic.topic, min(topic.partitions)) for topic in member.assignment if topic.partitions), default=("", 0)
    )
