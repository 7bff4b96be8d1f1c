"""Members of the group have nothing to read; mostly it has more members than partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.membership import describe_members, member_fact
from kafka_groups.causes.owners import owners
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.model import Member

# A member that has just joined has no partition yet.
_LEAST_POLLS: Final = 2
_MAX_FACTS: Final = 5


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if members of a Stable group have no partition at the last two polls."""
    group = evidence.last.group
    polls = evidence.polls[-_LEAST_POLLS:]
    if len(polls) < _LEAST_POLLS or not all(map(_is_settled, polls)):
        return
    idle_before = {member.member_id for member in polls[0].group.members if _is_idle(member)}
    idle = [member for member in group.members if _is_idle(member) and member.member_id in idle_before]
    if not idle:
        return
    yield Finding(
        summary=f"{len(idle):,} of {count(len(group.members), 'member')} have no partition: "
        f"the group reads {count(len(owners(group)), 'partition')}.",
        certainty=Certainty.CERTAIN,
        facts=tuple(
            member_fact(f"{name_member(member)} has no partition.", member, evidence.last.at_ms)
            for member in idle[:_MAX_FACTS]
        ),
        refuted_by="A partition in the assignment of one of these members.",
        next_step="More members do not help; more partitions would, and idle members are a reserve.",
        next_command=describe_members(evidence),
    )


def _is_settled(poll: GroupPoll) -> bool:
    return poll.group.is_described and poll.group.state == "Stable"


def _is_idle(member: Member) -> bool:
    """Return whether a member has no partition and will get none; a member of a streams group may have copies."""
    has_tasks = member.streams is not None and member.streams.tasks.task_count > 0
    return member.partition_count == 0 and not member.target_assignment and not has_tasks


CAUSE: Final = Cause(
    name="idle_members",
    title="members have no partition",
    kind=CauseKind.EXPLANATION,
    order=Order.REMARK,
    needs=(Need.MEMBERS,),
    find=find,
    place=10,
)
