"""Who joined a group and who left it between polls.

A client is a client id with its host. A process that starts again is the same client with another member id; in a group
of the new protocol (KIP-848) a process that joins again keeps its member id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.causes.evidence import Evidence, GroupPoll
from kafka_groups.causes.finding import Fact, Since
from kafka_groups.causes.owners import partitions_of
from kafka_groups.causes.sentences import name_member, name_time
from kafka_groups.causes.series import moves
from kafka_groups.command_lines import group_command
from kafka_groups.kinds import REBALANCING_STATES
from kafka_groups.model import GroupDescription, Member

_MAX_LEAVERS: Final = 5
# A client id and a host.
Client: TypeAlias = tuple[str, str]


class Life(NamedTuple):
    """The time for which polls saw a member, each of them from `first_ms` to `last_ms`.

    `member` is that of its last poll, which had partitions if any of them had. `joined` is None if the first poll saw
    it, and `left` None if the last poll sees it.
    """

    member: Member
    first_ms: int
    last_ms: int
    joined: Since | None
    left: Since | None

    @property
    def is_short(self) -> bool:
        """Return whether polls saw both its beginning and its end."""
        return self.joined is not None and self.left is not None


def described_polls(evidence: Evidence) -> tuple[GroupPoll, ...]:
    """Return the polls whose members are known."""
    return tuple(poll for poll in evidence.polls if poll.group.is_described)


def is_rebalancing(poll: GroupPoll) -> bool:
    """Return whether a poll saw the group in a state of a rebalance."""
    return poll.group.state in REBALANCING_STATES


def lives_of(polls: Sequence[GroupPoll]) -> list[Life]:
    """Return the lives of members in the order of their ends; a member that comes back has several."""
    lives: list[Life] = []
    current: dict[str, Life] = {}
    for before, poll in zip((None, *polls), polls, strict=False):
        seen = {member.member_id: member for member in poll.group.members}
        for member_id in current.keys() - seen.keys():
            life = current.pop(member_id)
            lives.append(life._replace(left=Since(life.last_ms, poll.at_ms)))
        for member_id, member in seen.items():
            joined = None if before is None else Since(before.at_ms, poll.at_ms)
            life = current.get(member_id) or Life(member, poll.at_ms, poll.at_ms, joined, None)
            # Brokers return no assignments of a classic group while it rebalances.
            known = member if member.assignment else life.member
            current[member_id] = life._replace(member=known, last_ms=poll.at_ms)
    return sorted((*lives, *current.values()), key=lambda life: life.last_ms)


def lives_by_client(lives: Iterable[Life]) -> dict[Client, list[Life]]:
    """Return the lives of the members of each client."""
    clients: dict[Client, list[Life]] = {}
    for life in lives:
        clients.setdefault((life.member.client_id, life.member.host), []).append(life)
    return clients


def overlap(lives: Iterable[Life]) -> bool:
    """Return whether two members of one client were there at the same poll."""
    ordered = sorted(lives, key=lambda life: life.first_ms)
    return any(after.first_ms <= before.last_ms for before, after in pairwise(ordered))


def has_committed(evidence: Evidence, life: Life) -> bool:
    """Return whether a commit on a partition of a member moved while polls saw the member."""
    return any(
        life.first_ms < poll.at_ms <= life.last_ms
        for key in partitions_of(life.member.assignment)
        for poll in moves(evidence.partitions.get(key, ()))
    )


def member_fact(text: str, member: Member, at_ms: int) -> Fact:
    """Return a fact about a member."""
    return Fact(
        text,
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        epoch=member.epoch,
    )


def describe_members(evidence: Evidence) -> str:
    """Return the command line that prints the members of the group with their partitions and epochs."""
    return group_command("describe", evidence.group, "--members", "--verbose")


def topics_of_members(group: GroupDescription) -> frozenset[str] | None:
    """Return the topics that the members of a Stable group read; None if they are not all known.

    A member that is about to get a partition has its topic in the target assignment. The subscriptions of consumers are
    unknown, but each subscribed topic is assigned to some member.
    """
    is_known = group.is_described and not group.unnamed_topics and all(map(_has_assignment, group.members))
    if group.state != "Stable" or not is_known:
        return None
    assigned = (
        topic.topic
        for member in group.members
        for topic in (*(member.assignment or ()), *(member.target_assignment or ()))
        if topic.partitions
    )
    return frozenset(assigned) or None


def _has_assignment(member: Member) -> bool:
    return member.assignment is not None


def comes_back(lives: Sequence[Life]) -> bool:
    """Return whether a member id left and came back: its process was not restarted (KIP-848)."""
    return len({life.member.member_id for life in lives}) < len(lives)


def life_fact(life: Life) -> Fact:
    """Return the fact that polls saw a member for a time, and whether it left."""
    end = f"to {name_time(life.last_ms)}" if life.left is None else f"and left by {name_time(life.left.latest_ms)}"
    text = f"{name_member(life.member)} was a member from {name_time(life.first_ms)} {end}."
    return member_fact(text, life.member, life.last_ms)


def leaver_facts(evidence: Evidence) -> tuple[Fact, ...]:
    """Return a fact for each of the last members that polls saw leave, the last one at the end."""
    return tuple(
        member_fact(
            f"{name_member(life.member)} left between {name_time(life.last_ms)} and {name_time(life.left.latest_ms)}.",
            life.member,
            life.left.latest_ms,
        )
        for life in lives_of(described_polls(evidence))[-_MAX_LEAVERS:]
        if life.left is not None
    )
