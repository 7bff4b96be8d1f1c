"""Members of a streams group have another version of the topology than the group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_tasks
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.causes.series import held_since
from kafka_groups.model import Member

# A member that joins with a new version changes the group with its next heartbeats.
_POLLS: Final = 2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if topology epochs differed at the last two polls; a single poll counts alone."""
    if not all(map(_others, evidence.polls[-_POLLS:])):
        return
    group, at_ms = evidence.last.group, evidence.last.at_ms
    others = _others(evidence.last)
    epoch = group.topology.epoch if group.topology else None
    yield Finding(
        summary=f"{count(len(others), 'member')} of {len(group.members):,} have another topology than the group: "
        "two versions of the application run.",
        certainty=Certainty.CERTAIN,
        facts=(
            Fact(f"The topology epoch of the group is {epoch}.", at_ms=at_ms, epoch=epoch),
            *(
                Fact(
                    f"{name_member(member)} has the topology epoch {own}.",
                    at_ms=at_ms,
                    member_id=member.member_id,
                    client_id=member.client_id,
                    host=member.host,
                    epoch=own,
                )
                for member, own in others
            ),
        ),
        refuted_by="Topology epochs that are equal: a rolling upgrade ends so by itself.",
        next_step="Upgrade the members that have another epoch: they get no new tasks until then.",
        since=held_since([(poll.at_ms, bool(_others(poll))) for poll in evidence.polls]),
    )


def _others(poll: GroupPoll) -> list[tuple[Member, int]]:
    """Return the members whose topology epoch is not that of the group, with theirs."""
    topology = poll.group.topology
    if topology is None:
        return []
    members = [(member, member.streams) for member in poll.group.members if member.streams is not None]
    return [
        (member, streams.topology_epoch)
        for member, streams in members
        if not streams.is_classic and streams.topology_epoch != topology.epoch
    ]


CAUSE: Final = Cause(
    name="streams_mixed_topologies",
    title="members of a streams group have different topologies",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.MEMBERS,),
    find=find,
    place=55,
    applies_to=has_tasks,
)
