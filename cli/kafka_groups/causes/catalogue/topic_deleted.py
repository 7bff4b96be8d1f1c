"""A topic of the group does not exist any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_offsets
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.owners import owners
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.causes.series import held_since
from kafka_groups.command_lines import group_command
from kafka_groups.model import TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each topic of the group that the last poll did not find.

    That holds beside other causes, so partitions that one of them explains are judged, too.
    """
    for topic, polls in sorted(evidence.topics.items()):
        keys = [key for key in evidence.partitions if key.topic == topic]
        if keys and polls and not polls[-1].exists:
            yield _describe(evidence, topic, keys)


def _describe(evidence: Evidence, topic: str, keys: list[TopicPartition]) -> Finding:
    polls = evidence.topics[topic]
    since = held_since([(poll.at_ms, not poll.exists) for poll in polls])
    assigned = owners(evidence.last.group)
    members = {member.member_id: member for key, member in assigned.items() if key.topic == topic}
    has_members = bool(evidence.last.group.members)
    return Finding(
        summary=f"The topic {topic} does not exist any more: the group has {count(len(keys), 'partition')} of it.",
        certainty=Certainty.CERTAIN,
        facts=(
            Fact(f"The brokers do not know the topic {topic}.", at_ms=polls[-1].at_ms, topic=topic),
            *(
                Fact(
                    f"{name_member(member)} still has partitions of it.",
                    at_ms=evidence.last.at_ms,
                    topic=topic,
                    member_id=member.member_id,
                    client_id=member.client_id,
                    host=member.host,
                )
                for member in members.values()
            ),
        ),
        refuted_by="A description of the topic by another broker, with partitions.",
        next_step=f"If the topic is still needed, create it again. If not, remove {topic} from the subscription of the "
        "members; offsets without a topic can be deleted.",
        next_command=None if has_members else group_command("delete-offsets", evidence.group, "--topic", topic),
        since=since,
        explains=frozenset(keys),
    )


CAUSE: Final = Cause(
    name="topic_deleted",
    title="a topic of the group was deleted",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.TOPICS,),
    find=find,
    place=50,
    applies_to=has_offsets,
)
