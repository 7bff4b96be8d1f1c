"""What each member reads, and what is written to its partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import Evidence, PartitionPolls
from kafka_groups.causes.owners import owners
from kafka_groups.causes.pace import (
    Pace,
    behind_partitions,
    busy_partitions,
    grows_steadily,
    keeps_up,
    leaves_little,
    pace,
    sum_of,
)
from kafka_groups.causes.series import consumed, lag_of, moves, produced, rate
from kafka_groups.model import Member, TopicPartition

_NEARLY_ALL: Final = 0.7


class Load(NamedTuple):
    """A member with its partitions that got records while polls watched, and both rates, in records a second.

    `is_behind` is True if it is behind on all of them, or its lag grows steadily, and no cause has explained one;
    `keeps_up` if on none. A member may read its partitions in turn, so that only its whole lag grows at each commit.
    """

    member: Member
    partitions: tuple[TopicPartition, ...]
    read: float
    written: float
    is_behind: bool
    keeps_up: bool


def lagging_partitions(evidence: Evidence) -> dict[TopicPartition, PartitionPolls]:
    """Return the partitions with a lag that no cause has explained, and that a member owns or may own."""
    members = evidence.last.group.members
    owned = owners(evidence.last.group)
    may_own = any(member.assignment is None for member in members)
    return {
        key: polls for key, polls in evidence.open_partitions().items() if lag_of(polls) and (may_own or key in owned)
    }


def loads_of(evidence: Evidence) -> list[Load]:
    """Return the loads of all members to whose partitions records were written."""
    busy = busy_partitions(evidence)
    behind = behind_partitions(evidence)
    of_member = _keys_by_member(evidence, busy)
    loads = []
    for member in evidence.last.group.members:
        keys = of_member.get(member.member_id)
        if keys:
            together = sum_of(busy[key] for key in keys)
            grows = grows_steadily(together) and not any(leaves_little(busy[key]) for key in keys)
            is_late = bool(moves(together)) and not leaves_little(together)
            loads.append(
                Load(
                    member,
                    tuple(keys),
                    sum(rate(max(0, consumed(busy[key])), evidence.duration_ms) for key in keys),
                    sum(rate(produced(busy[key]), evidence.duration_ms) for key in keys),
                    is_behind=(grows and evidence.unexplained.issuperset(keys)) or all(key in behind for key in keys),
                    keeps_up=not is_late and all(keeps_up(busy[key], evidence.log_times.get(key, ())) for key in keys),
                )
            )
    return loads


def _keys_by_member(
    evidence: Evidence, busy: Mapping[TopicPartition, PartitionPolls]
) -> dict[str, list[TopicPartition]]:
    """Return the busy partitions of each member that has some, by member id."""
    owned = owners(evidence.last.group)
    found: dict[str, list[TopicPartition]] = {}
    for key in busy:
        if key in owned:
            found.setdefault(owned[key].member_id, []).append(key)
    return found


def overloaded_members(evidence: Evidence) -> list[frozenset[TopicPartition]]:
    """Return the busy partitions of each member that reads less than is written to all of them together.

    A member may read its partitions in turn, so that the lag of one shrinks while that of the others grows. Those that
    a cause has explained do not count.
    """
    busy = {key: polls for key, polls in busy_partitions(evidence).items() if key in evidence.unexplained}
    found = []
    for keys in _keys_by_member(evidence, busy).values():
        together = pace(sum_of(busy[key] for key in keys))
        if together is not None and together.is_slower:
            found.append(frozenset(keys))
    return found


def falling_behind(evidence: Evidence) -> tuple[Mapping[TopicPartition, PartitionPolls], Pace | None]:
    """Return the partitions that are behind, and the pace of them together.

    The pace is None unless they are nearly all to which records were written, and less is read than is written.
    Members that are behind on one of their partitions, and overloaded, are behind on all of them.
    """
    busy = busy_partitions(evidence)
    behind = {key: polls for key, polls in behind_partitions(evidence).items() if key in busy}
    if evidence.unexplained.issuperset(busy) and (
        grows_steadily(sum_of(busy.values())) or _are_all_overloaded(evidence, busy, behind)
    ):
        behind = {key: polls for key, polls in busy.items() if lag_of(polls)}
    if not behind or len(behind) < _NEARLY_ALL * len(busy):
        return {}, None
    together = pace(sum_of(behind.values()))
    if together is None or not together.is_slower or not _grows(sum_of(busy.values())):
        return behind, None
    return behind, together


def _grows(polls: PartitionPolls) -> bool:
    """Return whether the lag grew by more than commits explain; True if nobody can say."""
    known = pace(polls)
    return known is None or known.growth > known.noise / 2


def _are_all_overloaded(
    evidence: Evidence, busy: Mapping[TopicPartition, PartitionPolls], behind: Mapping[TopicPartition, PartitionPolls]
) -> bool:
    members = overloaded_members(evidence)
    return frozenset().union(*members) == frozenset(busy) and all(not keys.isdisjoint(behind) for keys in members)
