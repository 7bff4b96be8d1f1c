"""Retention deleted records before the group had read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPoll
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.sentences import count, name_partition, name_partitions
from kafka_groups.causes.series import lost_records, total_lag
from kafka_groups.command_lines import command_line
from kafka_groups.model import TopicPartition

# Kafka Streams deletes records of these topics once they are committed: a poll that fetched the commit just before the
# log start sees one above the other.
_PURGED: Final = "-repartition"


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield one finding for all partitions whose log starts above the commit, now or at an earlier poll.

    They may be explained already: whatever stopped the group, these records are lost.
    """
    lost: dict[TopicPartition, PartitionPoll] = {}
    for key, polls in evidence.partitions.items():
        below = [poll for poll in polls if lost_records(poll)]
        if below and not (len(below) == 1 < len(polls) and key.topic.endswith(_PURGED)):
            lost[key] = below[-1]
    if not lost:
        return
    records = sum(map(lost_records, lost.values()))
    topics = sorted({key.topic for key in lost})
    yield Finding(
        summary=f"{count(records, 'record')} of {name_partitions(lost)} were deleted before the group read them.",
        certainty=Certainty.CERTAIN,
        facts=tuple(_fact(key, poll) for key, poll in sorted(lost.items())),
        refuted_by="A log start at or below the commit.",
        next_step="Raise the retention of the topic until the group has caught up; what was deleted is lost.",
        next_command=command_line(
            "kafka-configs.sh",
            "--bootstrap-server",
            evidence.bootstrap_server,
            "--describe",
            "--topic",
            topics[0],
        ),
        since=_since(evidence, lost),
        explains=frozenset(lost),
        lag=total_lag({key: evidence.partitions[key] for key in lost}),
        is_consequence=True,
    )


def _since(evidence: Evidence, lost: Iterable[TopicPartition]) -> Since:
    """Return when polls first saw a log that starts above the commit, and the poll before."""
    seen = [poll.at_ms for key in lost for poll in evidence.partitions[key] if lost_records(poll)]
    before = [poll.at_ms for key in lost for poll in evidence.partitions[key] if poll.at_ms < min(seen)]
    return Since(max(before, default=None), min(seen))


def _fact(key: TopicPartition, poll: PartitionPoll) -> Fact:
    return Fact(
        f"The log of {name_partition(key)} starts at {poll.log_start:,}, and the commit is {poll.committed:,}: "
        f"{count(lost_records(poll), 'record')} lost.",
        at_ms=poll.at_ms,
        topic=key.topic,
        partition=key.partition,
        offset=poll.committed,
    )


CAUSE: Final = Cause(
    name="retention_overrun",
    title="records were deleted before the group read them",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.COMMITS, Need.LOG_STARTS),
    find=find,
    place=2,
)
