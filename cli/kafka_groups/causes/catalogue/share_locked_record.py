"""A record of a share group is not acknowledged, while later ones are: the start offset cannot move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_start_offsets
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import console_consumer, count, name_partition, name_time
from kafka_groups.causes.series import is_still, lag_of, unmoved_since
from kafka_groups.causes.share_progress import delivered_ahead, known_polls
from kafka_groups.model import TopicPartition

# A lock lasts 30 s by default (group.share.record.lock.duration.ms): fewer polls show no more than one delivery.
_MIN_POLLS: Final = 4
# Near the smallest default of group.share.partition.max.record.locks, 200: at the limit nothing is delivered.
_MANY_AHEAD: Final = 180


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each partition with a lag whose start offset stands still behind delivered records."""
    if not evidence.last.group.members:
        return
    locked = [key for key, polls in evidence.open_partitions().items() if _is_locked(polls)]
    for key in sorted(locked, key=lambda key: -lag_of(evidence.partitions[key])):
        yield _describe(evidence, key)


def _is_locked(polls: PartitionPolls) -> bool:
    known = known_polls(polls)
    if len(known) < _MIN_POLLS or not is_still(polls) or not lag_of(polls):
        return False
    first, last = delivered_ahead(known[0]) or 0, delivered_ahead(known[-1]) or 0
    return last > first or last >= _MANY_AHEAD


def _describe(evidence: Evidence, key: TopicPartition) -> Finding:
    polls = evidence.partitions[key]
    known = known_polls(polls)
    last = known[-1]
    start, name = last.committed or 0, name_partition(key)
    first_ahead, ahead = delivered_ahead(known[0]) or 0, delivered_ahead(last) or 0
    since = unmoved_since(polls)
    return Finding(
        summary=f"The record at offset {start:,} of {name} is not acknowledged, while {count(ahead, 'record')} beyond "
        "it are final: its processing fails or hangs.",
        certainty=Certainty.STRONG if ahead >= _MANY_AHEAD else Certainty.LIKELY,
        facts=tuple(
            Fact(text, at_ms, key.topic, key.partition, start)
            for text, at_ms in (
                (f"The start offset has been {start:,} since {name_time(since.latest_ms)} or longer.", last.at_ms),
                (f"At the first poll {count(first_ahead, 'record')} beyond it were final.", known[0].at_ms),
                (f"Now {count(ahead, 'record')} beyond it are final.", last.at_ms),
            )
        ),
        refuted_by="A start offset that moves: a record that takes longer than its lock is delivered again.",
        next_step=f"Look at the record at offset {start:,}. Deliveries stop when the partition has "
        "group.share.partition.max.record.locks records in flight.",
        next_command=console_consumer(evidence.bootstrap_server, key, start),
        since=since,
        explains=frozenset({key}),
        lag=lag_of(polls),
    )


CAUSE: Final = Cause(
    name="share_locked_record",
    title="a record of a share group stays locked",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=54,
    applies_to=has_start_offsets,
)
