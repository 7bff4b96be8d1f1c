"""A transaction stays open: consumers of committed records cannot read beyond its first record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, OpenTransaction
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import count, name_partition, name_time
from kafka_groups.causes.series import lag_of
from kafka_groups.causes.transactions import begun, held_partitions, open_transaction, still_writes, stops_at
from kafka_groups.command_lines import command_line
from kafka_groups.model import TopicPartition

# Most transactions end within fewer polls.
_MIN_POLLS: Final = 4
# The defaults of transaction.timeout.ms and transaction.max.timeout.ms: coordinators abort what is older.
_USUAL_MS: Final = 60_000
_LONGEST_MS: Final = 900_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each partition that a transaction holds, unless its producer still writes."""
    held = held_partitions(evidence)
    for key in sorted(held, key=lambda key: -lag_of(held[key])):
        transaction = open_transaction(evidence, key)
        if transaction is None and len(held[key]) >= _MIN_POLLS:
            yield _describe(evidence, key, None)
        elif transaction is not None and not still_writes(evidence, transaction):
            yield _describe(evidence, key, transaction)


def _describe(evidence: Evidence, key: TopicPartition, transaction: OpenTransaction | None) -> Finding:
    last = evidence.partitions[key][-1]
    age_ms = None if transaction is None else last.at_ms - transaction.updated_ms
    name, stable_end = name_partition(key), last.stable_end or 0
    groups = [other.group for other in evidence.others if stops_at(other.partitions.get(key, (last,)), stable_end)]
    texts = [f"The last stable offset of {name} stays at {stable_end:,}, below the log end {last.log_end:,}."]
    texts += [f"The group {group} stops at the same offset." for group in groups[:2]]
    texts.append(f"The commit stays at {last.committed:,}.")
    if transaction:
        texts.append(
            f"Producer {transaction.producer_id} with epoch {transaction.producer_epoch} began a transaction there, "
            f"and wrote its last record at {name_time(transaction.updated_ms)}."
        )
    return Finding(
        summary=f"An open transaction holds {name} at offset {stable_end:,}: consumers of committed records wait for "
        f"its end, and {count(lag_of(evidence.partitions[key]), 'record')} behind it.",
        certainty=_certainty(age_ms, has_groups=bool(groups)),
        facts=tuple(Fact(text, last.at_ms, key.topic, key.partition, stable_end, broker=last.leader) for text in texts),
        refuted_by="A last stable offset that moves, or a group that reads uncommitted records: then the record at the "
        "offset may be poison.",
        next_step=_advise(age_ms),
        next_command=_next_command(evidence, key, age_ms),
        since=begun(evidence, key),
        explains=frozenset({key}),
        lag=lag_of(evidence.partitions[key]),
    )


def _certainty(age_ms: int | None, *, has_groups: bool) -> Certainty:
    """Return how certain it is, by the time since the producer's last record; None if that is unknown."""
    if age_ms is None:
        return Certainty.STRONG if has_groups else Certainty.LIKELY
    return Certainty.CERTAIN if age_ms >= _USUAL_MS else Certainty.STRONG


def _advise(age_ms: int | None) -> str:
    if age_ms is None:
        return "Look for the producer of the transaction. A producer that starts again ends it."
    if age_ms < _LONGEST_MS:
        return (
            "Look whether the producer runs: it ends the transaction, or the coordinator aborts it after "
            "transaction.timeout.ms."
        )
    return (
        "Start the producer again, which ends its transaction. If it is gone, abort the transaction; its records are "
        "lost then."
    )


def _next_command(evidence: Evidence, key: TopicPartition, age_ms: int | None) -> str:
    tool = ("kafka-transactions.sh", "--bootstrap-server", evidence.bootstrap_server)
    place = ("--topic", key.topic, "--partition", key.partition)
    if age_ms is None:
        return command_line(*tool, "find-hanging", *place)
    if age_ms < _LONGEST_MS:
        return command_line(*tool, "describe-producers", *place)
    return command_line(*tool, "abort", *place, "--start-offset", evidence.partitions[key][-1].stable_end or 0)


CAUSE: Final = Cause(
    name="hanging_transaction",
    title="an open transaction holds consumers of committed records",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.COMMITS, Need.LOG_ENDS, Need.STABLE_ENDS, Need.TRANSACTIONS),
    find=find,
    place=52,
)
