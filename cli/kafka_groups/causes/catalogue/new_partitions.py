"""A topic has partitions that no member owns and the group has never committed: members do not know them yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, TopicPoll
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.owners import owners
from kafka_groups.causes.pace import has_same_members
from kafka_groups.causes.sentences import name_partitions, name_time
from kafka_groups.causes.series import total_lag
from kafka_groups.model import TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each topic whose partitions members own, except those with the highest numbers.

    Two polls with the same Stable members must have passed: a rebalance leaves partitions without an owner.
    """
    two_polls_ago = evidence.polls[-2].at_ms if len(evidence.polls) > 1 else None
    if two_polls_ago is None or not has_same_members(evidence, two_polls_ago) or _has_unreadable(evidence):
        return
    owned = owners(evidence.last.group)
    committed = {key for key, polls in evidence.partitions.items() if any(poll.committed is not None for poll in polls)}
    for topic in sorted({key.topic for key in owned}):
        known = {key.partition for key in {*owned, *committed} if key.topic == topic}
        polls = evidence.topics.get(topic, ())
        new = frozenset(TopicPartition(topic, number) for number in range(max(known) + 1, _count(polls)))
        if new:
            yield _describe(evidence, topic, new)


def _count(polls: tuple[TopicPoll, ...]) -> int:
    """Return how many partitions a topic had at both of the last two polls; 0 if fewer polls know it."""
    return min((poll.partitions for poll in polls[-2:]), default=0) if len(polls) > 1 else 0


def _has_unreadable(evidence: Evidence) -> bool:
    return any(member.assignment is None for member in evidence.last.group.members)


def _describe(evidence: Evidence, topic: str, new: frozenset[TopicPartition]) -> Finding:
    polls = evidence.topics[topic]
    before = [poll.at_ms for poll in polls if poll.partitions < polls[-1].partitions]
    after = [poll.at_ms for poll in polls if poll.partitions == polls[-1].partitions]
    since = Since(before[-1] if before else None, after[0])
    added = f"were added between {name_time(before[-1])} and" if before else "exist since"
    return Finding(
        summary=f"Nobody reads {name_partitions(new)}: no member owns them, and the group has never committed there.",
        certainty=Certainty.CERTAIN if before else Certainty.STRONG,
        facts=(
            Fact(f"{name_partitions(new)} {added} {name_time(after[0])}.", after[0], topic, min(new).partition),
            Fact("The group is Stable, and no assignment has them.", at_ms=evidence.last.at_ms, topic=topic),
        ),
        refuted_by="An assignment that has them: members ask for metadata each 5 minutes (metadata.max.age.ms).",
        next_step="Wait for metadata.max.age.ms, or restart a member. With auto.offset.reset=latest, records written "
        "before are skipped.",
        since=since,
        explains=new,
        lag=total_lag({key: evidence.partitions[key] for key in new if key in evidence.partitions}) or None,
    )


CAUSE: Final = Cause(
    name="new_partitions",
    title="no member knows the new partitions of a topic",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.MEMBERS, Need.COMMITS, Need.TOPICS),
    find=find,
    place=31,
)
