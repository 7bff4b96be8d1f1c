"""Members of a streams group restore the state of tasks that they will run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_tasks
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.causes.series import held_since, total_lag
from kafka_groups.model import GroupDescription, Member, TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if members have warm-up tasks, whose work the members before still do."""
    warming = _warming_members(evidence.last)
    if not warming:
        return
    last = _restoration_lag(evidence.last)
    known = [lag for poll in evidence.polls if (lag := _restoration_lag(poll)) is not None]
    is_falling = last is not None and last < known[0]
    keys = _warm_partitions(evidence.last.group) & evidence.unexplained
    left = "" if last is None else f": {count(last, 'record')} of changelogs are left"
    yield Finding(
        summary=f"{count(len(warming), 'member')} restore the state of tasks before they take them over{left}.",
        certainty=Certainty.STRONG if is_falling else Certainty.LIKELY,
        facts=tuple(_fact(member, evidence.last.at_ms) for member in warming),
        refuted_by="A restoration lag that does not fall, or a lag on partitions of other tasks, too.",
        next_step="Wait until the warm-up tasks have caught up; acceptable.recovery.lag says when a task moves.",
        since=held_since([(poll.at_ms, bool(_warming_members(poll))) for poll in evidence.polls]),
        explains=keys,
        lag=total_lag({key: evidence.partitions[key] for key in keys}),
    )


def _warming_members(poll: GroupPoll) -> list[Member]:
    return [member for member in poll.group.members if member.streams and member.streams.tasks.warmup]


def _restoration_lag(poll: GroupPoll) -> int | None:
    """Return the restoration lag of the members with warm-up tasks; None if that of one is unknown."""
    lags = [member.streams.restoration_lag for member in _warming_members(poll) if member.streams]
    known = [lag for lag in lags if lag is not None]
    return sum(known) if lags and len(known) == len(lags) else None


def _warm_partitions(group: GroupDescription) -> frozenset[TopicPartition]:
    """Return the partitions that the warm-up tasks will read."""
    subtopologies = (group.topology.subtopologies if group.topology else None) or ()
    topics = {subtopology.id: subtopology.input_topics for subtopology in subtopologies}
    return frozenset(
        TopicPartition(topic, partition)
        for member in group.members
        for tasks in (member.streams.tasks.warmup if member.streams else ())
        for topic in topics.get(tasks.subtopology, ())
        for partition in tasks.partitions
    )


def _fact(member: Member, at_ms: int) -> Fact:
    assert member.streams is not None, "only members with warm-up tasks restore"
    tasks = sum(len(tasks.partitions) for tasks in member.streams.tasks.warmup)
    lag = member.streams.restoration_lag
    left = "an unknown number of records" if lag is None else count(lag, "record")
    text = f"{name_member(member)} has {count(tasks, 'warm-up task')}, and {left} to restore."
    return Fact(text, at_ms, member_id=member.member_id, client_id=member.client_id, host=member.host)


CAUSE: Final = Cause(
    name="streams_restoration",
    title="members of a streams group restore the state of tasks",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.MEMBERS,),
    find=find,
    place=51,
    applies_to=has_tasks,
)
