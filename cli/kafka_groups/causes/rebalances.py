"""Rebalances that polls see: one that does not end, and those that begin again and again.

In a group of the new protocol (KIP-848) a member that has partitions to revoke stays at its epoch until it has done so,
and members that wait for these partitions are at the target epoch already.
"""

from __future__ import annotations

from kafka_groups.causes.evidence import Evidence, GroupPoll
from kafka_groups.causes.finding import Since
from kafka_groups.causes.membership import is_rebalancing
from kafka_groups.causes.owners import partitions_of
from kafka_groups.model import GroupDescription, Member, TopicPartition


def hanging_polls(evidence: Evidence) -> list[GroupPoll]:
    """Return the last polls, without a break, that saw the rebalance of the last one: same state, epoch and members."""
    hanging: list[GroupPoll] = []
    for poll in reversed(evidence.polls):
        if not is_rebalancing(poll) or _identity(poll.group) != _identity(evidence.last.group):
            break
        hanging.append(poll)
    return hanging[::-1]


def _identity(group: GroupDescription) -> tuple[object, ...]:
    return group.state, group.group_epoch, group.is_described, member_ids(group)


def member_ids(group: GroupDescription) -> frozenset[str]:
    """Return the ids of the members of a group."""
    return frozenset(member.member_id for member in group.members)


def hanging_since(evidence: Evidence, polls: list[GroupPoll]) -> Since:
    """Return when the rebalance of these polls began."""
    earlier = evidence.polls[: -len(polls)]
    return Since(earlier[-1].at_ms if earlier else None, polls[0].at_ms)


def holders_of(polls: list[GroupPoll]) -> list[Member]:
    """Return the members that stay below the target epoch at all polls: others wait for what they hold."""
    behind = [{member.member_id for member in poll.group.members if _is_behind(member)} for poll in polls]
    ids = frozenset.intersection(*map(frozenset, behind))
    return [member for member in polls[-1].group.members if member.member_id in ids]


def _is_behind(member: Member) -> bool:
    return member.epoch is not None and member.target_epoch is not None and member.epoch < member.target_epoch


def partitions_waited_for(evidence: Evidence) -> list[TopicPartition]:
    """Return the partitions that members will get and do not have yet, at the last poll."""
    return sorted(
        key
        for member in evidence.last.group.members
        for key in {*partitions_of(member.target_assignment)} - {*partitions_of(member.assignment)}
    )
