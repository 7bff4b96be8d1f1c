"""The group has commits of a topic that no member reads any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.membership import topics_of_members
from kafka_groups.causes.sentences import count, name_time
from kafka_groups.causes.series import consumed, lag_of, total_lag
from kafka_groups.command_lines import group_command
from kafka_groups.model import TopicPartition

# A cooperative rebalance may leave a topic without an owner for a moment.
_LEAST_POLLS: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each topic with a lag that no member of a Stable group has a partition of."""
    topics: dict[str, dict[TopicPartition, PartitionPolls]] = {}
    for key, polls in evidence.open_partitions().items():
        topics.setdefault(key.topic, {})[key] = polls
    for topic, partitions in sorted(topics.items(), key=lambda item: -total_lag(item[1])):
        unowned = _polls_without(evidence, topic)
        if len(unowned) >= _LEAST_POLLS and _is_unread(evidence, topic, partitions):
            yield _describe(evidence, topic, partitions, unowned)


def _polls_without(evidence: Evidence, topic: str) -> list[GroupPoll]:
    """Return the last polls, without a break, at which it is known that no member reads a topic."""
    unowned: list[GroupPoll] = []
    for poll in reversed(evidence.polls):
        topics = topics_of_members(poll.group)
        if topics is None or topic in topics:
            break
        unowned.append(poll)
    return unowned[::-1]


def _is_unread(evidence: Evidence, topic: str, partitions: dict[TopicPartition, PartitionPolls]) -> bool:
    """Return whether a topic that exists has a lag, and no commit on it moves."""
    exists = all(poll.exists for poll in evidence.topics.get(topic, ())[-1:])
    return exists and any(map(lag_of, partitions.values())) and not any(map(consumed, partitions.values()))


def _describe(
    evidence: Evidence, topic: str, partitions: dict[TopicPartition, PartitionPolls], unowned: Sequence[GroupPoll]
) -> Finding:
    earlier = evidence.polls[: -len(unowned)]
    first_ms, last_ms = unowned[0].at_ms, unowned[-1].at_ms
    members = count(len(evidence.last.group.members), "member")
    period = f"from {name_time(first_ms)} to {name_time(last_ms)}"
    return Finding(
        summary=f"No member reads topic {topic} any more, and the group has commits on it.",
        certainty=Certainty.CERTAIN if len(unowned) > _LEAST_POLLS else Certainty.STRONG,
        facts=(
            Fact(f"The group is Stable with {members}, and none has a partition of {topic}, {period}.", last_ms, topic),
        ),
        refuted_by=f"A member with a partition of {topic}.",
        next_step=f"Subscribe to {topic} again, or delete these commits: `kafka-groups orphans --export` plans that.",
        next_command=group_command("orphans", evidence.group),
        since=Since(earlier[-1].at_ms if earlier else None, first_ms),
        explains=frozenset(partitions),
        lag=total_lag(partitions),
    )


CAUSE: Final = Cause(
    name="not_subscribed",
    title="no member reads a topic that the group has commits of",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=10,
)
