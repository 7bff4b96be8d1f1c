"""A transaction is open for longer than the polls, and its producer still writes: the group waits for its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, OpenTransaction
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import name_partition, name_time
from kafka_groups.causes.series import lag_of
from kafka_groups.causes.transactions import begun, held_partitions, open_transaction, still_writes
from kafka_groups.model import TopicPartition


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each partition that a transaction holds whose producer wrote while polls watched."""
    held = held_partitions(evidence)
    for key in sorted(held, key=lambda key: -lag_of(held[key])):
        transaction = open_transaction(evidence, key)
        if transaction is not None and still_writes(evidence, transaction):
            yield _describe(evidence, key, transaction)


def _describe(evidence: Evidence, key: TopicPartition, transaction: OpenTransaction) -> Finding:
    last = evidence.partitions[key][-1]
    start = transaction.start_offset
    return Finding(
        summary=f"{name_partition(key)} waits for the end of a transaction that began at offset {start:,}: its "
        "producer still writes, so the lag is that of long transactions.",
        certainty=Certainty.STRONG,
        facts=(
            Fact(
                f"Producer {transaction.producer_id} with epoch {transaction.producer_epoch} wrote its last record at "
                f"{name_time(transaction.updated_ms)}.",
                at_ms=transaction.updated_ms,
                topic=key.topic,
                partition=key.partition,
                offset=start,
                broker=last.leader,
            ),
        ),
        refuted_by="A producer that writes nothing more, and a last stable offset that still does not move.",
        next_step="Nothing, if transactions of this length are usual; shorter ones (checkpoints, commit intervals) "
        "lower the lag.",
        since=begun(evidence, key),
        explains=frozenset({key}),
        lag=lag_of(evidence.partitions[key]),
    )


CAUSE: Final = Cause(
    name="transaction_in_progress",
    title="the group waits for the end of a transaction in progress",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.COMMITS, Need.LOG_ENDS, Need.STABLE_ENDS, Need.TRANSACTIONS),
    find=find,
    # Records that a transaction holds are no matter of the commit interval.
    place=5,
)
