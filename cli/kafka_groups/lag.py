"""The lag of partitions, one by one and in total, and the join of commits, log offsets and members."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.model import Member, OffsetRow, PartitionCommit, TopicCommits

Ends: TypeAlias = Mapping[str, Mapping[int, int]]

_UNKNOWN: Final[Mapping[int, int]] = {}
_NO_OWNER: Final = (None, None, None)
_partition_of: Final = attrgetter("topic", "partition")
# The same as OffsetRow._make, without a call of a Python function for each row.
_as_row: Final[Callable[[tuple[object, ...]], OffsetRow]] = partial(tuple.__new__, OffsetRow)


class LagTotals(NamedTuple):
    """The totals of partitions; `margin` and `share` are the smallest ones, None if none is known."""

    lag: int | None
    behind: int
    uncommitted: int
    lost: int
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
) -> list[OffsetRow]:
    """Return a row for each partition that a member owns or that has a commit.

    `committed` has the partitions of each topic in ascending order. `ends` and `starts` are log end offsets and
    log start offsets by topic and partition; the offset of a missing partition is unknown. Owned partitions come
    first, by member; then the commits of partitions that no member owns (KIP-88). A partition that several members own
    has a row for each of them.
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
            for row in _rows(group, topic, commits, ends, starts, _NO_OWNER)
        ]
    commits_of = {topic: {commit[0]: commit for commit in commits} for topic, commits in sorted(by_topic.items())}
    rows: list[OffsetRow] = []
    for member in sort_members(members):
        owner = (member.member_id, member.host, member.client_id)
        for topic, partitions in sorted(
            (assigned.topic, sorted(assigned.partitions)) for assigned in member.assignment or ()
        ):
            known = commits_of.get(topic, {})
            assigned_commits = [known.get(partition, (partition, None, None, None)) for partition in partitions]
            rows += _rows(group, topic, assigned_commits, ends, starts, owner)
    owned = {(row.topic, row.partition) for row in rows}
    for topic, known in commits_of.items():
        rest = [commit for partition, commit in known.items() if (topic, partition) not in owned]
        rows += _rows(group, topic, rest, ends, starts, _NO_OWNER)
    return rows


def distinct_partitions(rows: Sequence[OffsetRow]) -> Sequence[OffsetRow]:
    """Return the first row of each partition, for totals: several members may own the same partition."""
    keys = list(map(_partition_of, rows))
    if len(set(keys)) == len(keys):
        return rows
    first_rows = dict(zip(reversed(keys), reversed(rows), strict=True))
    return [first_rows[key] for key in dict.fromkeys(keys)]


def total_lag(rows: Iterable[OffsetRow]) -> LagTotals:
    """Return the totals, in one pass: a cluster has hundreds of thousands of rows. Each partition is one row.

    A negative lag counts as 0, so that it hides no other partition's lag.
    """
    lag: int | None = None
    behind = uncommitted = lost = 0
    margin: int | None = None
    share: float | None = None
    is_beyond_end = is_incomplete = False
    for row in rows:
        committed, end, each_lag, start = row.committed_offset, row.log_end_offset, row.lag, row.log_start_offset
        is_incomplete = is_incomplete or end is None
        if committed is None:
            uncommitted += 1
            continue
        if each_lag is not None:
            lag = (lag or 0) + (max(0, each_lag))
            behind += each_lag > 0
            is_beyond_end = is_beyond_end or each_lag < 0
        if start is None:
            continue
        each = committed - start
        lost -= min(0, each)
        margin = each if margin is None or each < margin else margin
        if end is not None and end > start:
            each_share = each / (end - start)
            share = each_share if share is None or each_share < share else share
    return LagTotals(lag, behind, uncommitted, lost, margin, share, is_beyond_end, is_incomplete)


def _merge(commits: Iterable[PartitionCommit], others: Iterable[PartitionCommit]) -> list[PartitionCommit]:
    """Return the commits of a topic that a response contains twice, ascending; the later one of each partition."""
    by_partition = {commit[0]: commit for commit in (*commits, *others)}
    return sorted(by_partition.values(), key=itemgetter(0))


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
