"""The commit of a partition went backwards: records are read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.membership import described_polls
from kafka_groups.causes.sentences import count, name_partition, name_partitions, name_time
from kafka_groups.causes.series import Step, step_back, total_lag, with_commits
from kafka_groups.model import TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for resets without members, and one for what members committed.

    What polls saw holds beside other causes, so partitions that one of them explains are judged, too.
    """
    steps = {key: step for key, polls in evidence.partitions.items() if (step := step_back(polls)) is not None}
    same = {key: step for key, step in steps.items() if _is_same_topic(evidence, key)}
    empty = {poll.at_ms for poll in described_polls(evidence) if not poll.group.members}
    resets = {key: step for key, step in same.items() if {step.before.at_ms, step.after.at_ms} <= empty}
    late = {key: step for key, step in same.items() if key not in resets and _is_unread(evidence.partitions[key], step)}
    if resets:
        by_admin = all(_loses_epoch(step) for step in resets.values())
        reset = "An administrator reset" if by_admin else "Somebody reset"
        advice = "Kafka does not record who did it; ask for what was meant to be read again."
        yield _describe(
            evidence, resets, f"{reset} the offsets of {name_partitions(resets)}", Certainty.CERTAIN, advice
        )
    if late:
        text = f"A member committed lower offsets of {name_partitions(late)} than those before"
        advice = "Look for a seek in the application, or for a member that commits after it lost its partitions."
        yield _describe(evidence, late, text, Certainty.LIKELY, advice)


def _loses_epoch(step: Step) -> bool:
    """Return whether a commit without a leader epoch follows one with it: some clients commit without one, too."""
    return step.before.leader_epoch is not None and step.after.leader_epoch is None


def _is_unread(polls: PartitionPolls, step: Step) -> bool:
    return (with_commits(polls)[-1].committed or 0) < (step.before.committed or 0)


def _is_same_topic(evidence: Evidence, key: TopicPartition) -> bool:
    return len({poll.topic_id for poll in evidence.topics.get(key.topic, ()) if poll.topic_id is not None}) <= 1


def _describe(
    evidence: Evidence, steps: Mapping[TopicPartition, Step], text: str, certainty: Certainty, next_step: str
) -> Finding:
    again = sum(step.back for step in steps.values())
    last = max(steps.values(), key=lambda step: step.after.at_ms)
    return Finding(
        summary=f"{text}: {count(again, 'record')} are read again.",
        certainty=certainty,
        facts=tuple(_fact(key, step) for key, step in sorted(steps.items())),
        refuted_by="A topic that was recreated in the same moment: its id would differ.",
        next_step=next_step,
        since=Since(last.before.at_ms, last.after.at_ms),
        explains=frozenset(steps),
        lag=total_lag({key: evidence.partitions[key] for key in steps}),
    )


def _fact(key: TopicPartition, step: Step) -> Fact:
    text = f"{name_partition(key)} went from {step.before.committed or 0:,} to {step.after.committed or 0:,} between "
    times = f"{name_time(step.before.at_ms)} and {name_time(step.after.at_ms)}."
    epoch = step.after.leader_epoch
    return Fact(text + times, step.after.at_ms, key.topic, key.partition, step.after.committed, epoch=epoch)


CAUSE: Final = Cause(
    name="rewind",
    title="a commit went backwards",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=30,
)
