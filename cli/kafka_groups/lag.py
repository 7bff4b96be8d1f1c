"""The lag of partitions, one by one and in total, and the join of commits, log offsets and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.model import Member, OffsetRow, PartitionCommit, TopicCommits

Ends: TypeAlias = Mapping[str, Mapping[int, int]]

_UNKNOWN: Final[Mapping[int, int]] = {}
_NO_OWNER: Final = (None, None, None)
_number_of: Final = itemgetter(0)
_partition_of: Final = attrgetter("topic", "partition")
# The same as OffsetRow._make, without a call of a Python function for each row.
_as_row: Final[Callable[[tuple[object, ...]], OffsetRow]] = partial(tuple.__new__, OffsetRow)


class LagTotals(NamedTuple):
    """The totals of partitions; `margin` and `share` are each the smallest one, None if there is none.

    If a log start is unknown of a partition that may have lost messages, nobody knows the margin, nor that nothing was
    lost: `margin` and `share` are None, and so is `lost` unless another partition has lost messages.
    """

    lag: int | None
    readable_lag: int | None
    behind: int
    uncommitted: int
    lost: int | None
    margin: int | None
    share: float | None
    is_beyond_end: bool
    is_incomplete: bool


def lag_of(committed: int | None, end: int | None) -> int | None:
    """Return the number of messages from the committed offset to the log end offset.

    It is negative if the committed offset is the larger one, and None if one of both is unknown.
    """
    if committed is None or end is None:
        return None
    return end - committed


def sort_members(members: Iterable[Member]) -> list[Member]:
    """Return the members with the most partitions first, as Kafka's tool does; then by their first partition.

    A member whose assignment is unreadable stands with those without partitions.
    """
    return sorted(
        members, key=lambda member: (-(member.partition_count or 0), _first_partition(member), member.member_id)
    )


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


def total_lag(rows: Sequence[OffsetRow]) -> LagTotals:
    """Return the totals. Each partition is one row.

    A negative lag counts as 0, so that it hides no other partition's lag. Only a partition of which messages can still
    be read has a margin: no other one can lose any.
    """
    totals = _total_of_known(rows)
    if not any(map(_may_have_lost, rows)):
        return totals
    return totals._replace(lost=totals.lost or None, margin=None, share=None, is_incomplete=True)


def _may_have_lost(row: OffsetRow) -> bool:
    """Return whether nobody knows what was lost: the log start is unknown, and may be above the commit."""
    return row.log_start_offset is None and row.committed_offset is not None and (row.lag is None or row.lag > 0)


def _total_of_known(rows: Iterable[OffsetRow]) -> LagTotals:
    """Return the totals of what is known, in one pass: a cluster has hundreds of thousands of rows."""
    lag: int | None = None
    lost: int | None = None
    readable = behind = uncommitted = 0
    margin: int | None = None
    share: float | None = None
    is_beyond_end = is_incomplete = False
    for row in rows:
        committed, end, each_lag, start = row.committed_offset, row.log_end_offset, row.lag, row.log_start_offset
        is_incomplete = is_incomplete or end is None
        if committed is None:
            uncommitted += 1
            continue
        left = each_lag or 0
        if each_lag is not None:
            lag = lag or 0
            if left > 0:
                lag += left
                behind += 1
            elif left < 0:
                is_beyond_end = True
        if start is not None:
            lost = lost or 0
            each = committed - start
            if each < 0:
                lost -= each
                left += each
                each = 0
            if left > 0 and end is not None:
                margin = each if margin is None or each < margin else margin
                each_share = each / (end - start)
                share = each_share if share is None or each_share < share else share
        if left > 0:
            readable += left
    readable_lag = None if lag is None else readable
    return LagTotals(lag, readable_lag, behind, uncommitted, lost, margin, share, is_beyond_end, is_incomplete)


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
        ((topic.topic, min(topic.partitions)) for topic in member.assignment or () if topic.partitions), default=("", 0)
    )
