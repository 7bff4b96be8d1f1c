"""A topic was deleted and recreated: the commits of the group belong to the old one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_offsets
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls, TopicPoll
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.sentences import name_partition, name_time
from kafka_groups.causes.series import with_commits
from kafka_groups.command_lines import group_command
from kafka_groups.model import TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each topic whose id changed between polls, or whose logs end below the commits."""
    for topic in sorted({key.topic for key in evidence.unexplained}):
        keys = [key for key in evidence.open_partitions() if key.topic == topic]
        polls = evidence.topics.get(topic, ())
        if polls and not polls[-1].exists:
            continue
        since = _recreation(polls)
        beyond = {key: evidence.partitions[key] for key in keys if _is_beyond(evidence.partitions[key])}
        if since or beyond:
            yield _describe(evidence, keys, since, beyond)


def _recreation(polls: tuple[TopicPoll, ...]) -> Since | None:
    """Return between which polls the id of the topic changed last; None if it did not."""
    known = [poll for poll in polls if poll.topic_id is not None]
    for before, after in reversed([*pairwise(known)]):
        if before.topic_id != after.topic_id:
            return Since(before.at_ms, after.at_ms)
    return None


def _is_beyond(polls: PartitionPolls) -> bool:
    """Return whether the commit is above the log end at the last two polls; a single poll counts alone."""
    seen = with_commits(polls)[-2:]
    return bool(seen) and all((poll.committed or 0) > (poll.log_end or 0) for poll in seen)


def _describe(
    evidence: Evidence, keys: list[TopicPartition], since: Since | None, beyond: dict[TopicPartition, PartitionPolls]
) -> Finding:
    topic = keys[0].topic
    when = f" between {name_time(since.earliest_ms or 0)} and {name_time(since.latest_ms)}" if since else ""
    facts = [_beyond_fact(key, polls) for key, polls in sorted(beyond.items())]
    if since:
        facts.insert(0, Fact(f"The id of the topic {topic} changed{when}.", at_ms=since.latest_ms, topic=topic))
    summary = f"The topic {topic} was deleted and recreated{when}: its offsets began again at 0."
    if not since:
        summary = f"Commits on {topic} are above the log ends: it was recreated, or its logs were truncated."
    return Finding(
        summary=summary,
        certainty=Certainty.CERTAIN if since else Certainty.LIKELY,
        facts=tuple(facts),
        refuted_by="The same topic id before and now: then the leader lost records (an unclean leader election).",
        next_step="Decide where the group reads on: a commit on the old topic is no position in the new one.",
        next_command=group_command("reset", evidence.group, "--topic", topic, "--to-earliest"),
        since=since,
        explains=frozenset(keys if since else beyond),
    )


def _beyond_fact(key: TopicPartition, polls: PartitionPolls) -> Fact:
    last = with_commits(polls)[-1]
    text = f"The commit on {name_partition(key)} is {last.committed:,}, and its log ends at {last.log_end:,}."
    return Fact(text, at_ms=last.at_ms, topic=key.topic, partition=key.partition, offset=last.committed)


CAUSE: Final = Cause(
    name="topic_recreated",
    title="a topic of the group was deleted and recreated",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.TOPICS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=51,
    applies_to=has_offsets,
)
