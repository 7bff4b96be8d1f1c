"""Rebalances that polls see: one that does not end, and those that begin again and again.

In a group of the new protocol (KIP-848) a member that has partitions to revoke stays at its epoch until it has done so,
and members that wait for these partitions are at the target epoch already.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kafka_groups.causes.evidence import Evidence, GroupPoll
from kafka_groups.causes.finding import Since
from kafka_groups.causes.membership import described_polls, is_rebalancing
from kafka_groups.causes.owners import owners, partitions_of
from kafka_groups.causes.series import is_unread_since
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


def changed_polls(polls: Sequence[GroupPoll]) -> list[GroupPoll]:
    """Return the polls that saw other members than the poll before."""
    return [after for before, after in pairwise(polls) if member_ids(before.group) != member_ids(after.group)]


def rebalances_without_changes(polls: Sequence[GroupPoll]) -> list[GroupPoll]:
    """Return the polls that saw a new rebalance although the members had been the same for two polls.

    A change of members may cause a second rebalance (KIP-429), so the poll after it does not count.
    """
    return [
        polls[number]
        for number in range(2, len(polls))
        if polls[number].group.members
        and len({member_ids(poll.group) for poll in polls[number - 2 : number + 1]}) == 1
        and _began(polls[number - 1], polls[number])
    ]


def _began(before: GroupPoll, after: GroupPoll) -> bool:
    """Return whether a rebalance began between two polls: a new epoch, state, or assignment."""
    if before.group.group_epoch != after.group.group_epoch:
        return True
    if is_rebalancing(before) or before.group.group_epoch is not None or not _is_readable(before, after):
        return False
    return is_rebalancing(after) or owner_ids(before.group) != owner_ids(after.group)


def _is_readable(before: GroupPoll, after: GroupPoll) -> bool:
    members = (*before.group.members, *after.group.members)
    return all(member.assignment is not None for member in members)


def owner_ids(group: GroupDescription) -> dict[TopicPartition, str]:
    """Return the id of the member of each partition."""
    return {key: member.member_id for key, member in owners(group).items()}


def are_batch_runs(evidence: Evidence) -> bool:
    """Return whether members that come and go read everything, as a batch job does that is a group of its own."""
    polls = described_polls(evidence)
    has_others = all(poll.group.members for poll in polls) and any(len(poll.group.members) > 1 for poll in polls)
    first_ms = polls[0].at_ms
    unread = (is_unread_since(series, first_ms, markers=1) for series in evidence.open_partitions().values())
    return not has_others and not any(unread)
