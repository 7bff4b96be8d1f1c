"""One partition does not move, although others of the same member do: a record may be poison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.owners import owners
from kafka_groups.causes.sentences import console_consumer, name_member, name_partition, name_time
from kafka_groups.causes.series import consumed, is_still, lag_of, unmoved_since
from kafka_groups.model import Member, TopicPartition

_POLLS_OF_STRONG: Final = 6


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each partition that stands still beside a partition of the same member that moves."""
    owned = owners(evidence.last.group)
    reading = [key for key, polls in evidence.partitions.items() if key in owned and consumed(polls) > 0]
    moving = {owned[key].member_id for key in reading}
    stuck = [
        key
        for key, polls in evidence.open_partitions().items()
        if is_still(polls) and lag_of(polls) and key in owned and owned[key].member_id in moving
    ]
    for key in sorted(stuck, key=lambda key: -lag_of(evidence.partitions[key])):
        yield _describe(evidence, key, owned[key])


def _describe(evidence: Evidence, key: TopicPartition, owner: Member) -> Finding:
    polls = evidence.partitions[key]
    last = polls[-1]
    committed = last.committed or 0
    since = unmoved_since(polls)
    return Finding(
        summary=f"{name_partition(key)} stays at offset {committed:,}, while other partitions of the same member move.",
        certainty=Certainty.STRONG if len(polls) >= _POLLS_OF_STRONG else Certainty.LIKELY,
        facts=(
            Fact(
                f"{name_partition(key)} has been at {committed:,} since {name_time(since.latest_ms)} or longer.",
                at_ms=last.at_ms,
                topic=key.topic,
                partition=key.partition,
                offset=committed,
            ),
            Fact(
                f"{name_member(owner)} owns it, and reads its other partitions.",
                at_ms=last.at_ms,
                member_id=owner.member_id,
                client_id=owner.client_id,
                host=owner.host,
                epoch=owner.epoch,
            ),
        ),
        refuted_by="The offset moves, or the record at it was processed and not committed.",
        next_step=f"Look at the record at offset {committed:,}: the application may fail on it each time.",
        next_command=console_consumer(evidence.bootstrap_server, key, committed),
        since=since,
        explains=frozenset({key}),
        lag=lag_of(polls),
    )


CAUSE: Final = Cause(
    name="stuck_partition",
    title="a partition stands still, and others of the same member do not",
    kind=CauseKind.TROUBLE,
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=1,
)
