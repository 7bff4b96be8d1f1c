"""The coordinator of the group does not work: no group of it can commit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_coordinator
from kafka_groups.causes.comparison import anybody_moves, compared_groups, stopped_together
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import count
from kafka_groups.causes.series import total_lag
from kafka_groups.causes.transactions import held_partitions
from kafka_groups.model import Broker

# What brokers return for a coordinator that does not serve its groups.
_UNAVAILABLE: Final = frozenset({"COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"})
# Names of failures to reach it in time.
_UNREACHABLE: Final = frozenset({"CONNECTION_FAILED", "TIMEOUT"})
# Fewer groups may stop together by chance, and batch readers stop for a while.
_MIN_GROUPS: Final = 3
_MIN_STOP_MS: Final = 60_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the coordinator does not respond, or all its groups stopped at the same time."""
    broker, failure = evidence.last.group.coordinator, evidence.coordinator_failure
    text = "" if failure is None else f"The last request to the coordinator failed: {failure.message} ({failure.name})."
    if failure is not None and failure.name in _UNAVAILABLE:
        yield _describe(evidence, "is not available", Certainty.CERTAIN, [text])
    elif failure is not None and failure.name in _UNREACHABLE:
        yield _describe(evidence, "does not respond", Certainty.STRONG, [text])
    elif broker is not None and broker.id in evidence.unanswering_brokers:
        text = f"Broker {broker.id} did not respond: {evidence.unanswering_brokers[broker.id]}."
        yield _describe(evidence, "does not respond", Certainty.STRONG, [text])
    elif broker is not None:
        yield from _compare(evidence, broker)


def _compare(evidence: Evidence, broker: Broker) -> Iterator[Finding]:
    groups = compared_groups(evidence)
    same = [group for group in groups if group.coordinator == broker.id]
    others = [group for group in groups if group.coordinator not in (broker.id, None)]
    together = stopped_together(same, _MIN_STOP_MS)
    if len(together) < _MIN_GROUPS or anybody_moves(same) or not anybody_moves(others) or held_partitions(evidence):
        return
    texts = [f"The group {group.group} stopped, too, and has the same coordinator." for group in together[1:4]]
    texts.append(f"Groups of other coordinators commit: {count(len(others), 'group')} were compared.")
    yield _describe(evidence, f"has {len(together):,} groups that stopped together", Certainty.STRONG, texts)


def _describe(evidence: Evidence, trouble: str, certainty: Certainty, texts: list[str]) -> Finding:
    broker, at_ms = evidence.last.group.coordinator, evidence.last.at_ms
    name = (
        "The coordinator" if broker is None else f"The coordinator, broker {broker.id} ({broker.host}:{broker.port}),"
    )
    return Finding(
        summary=f"{name} {trouble}: its groups cannot commit.",
        certainty=certainty,
        facts=tuple(Fact(text, at_ms, broker=broker.id if broker else None) for text in texts),
        refuted_by="A commit of a group with the same coordinator.",
        next_step="Look at the log of this broker, and at the replicas of its partitions of __consumer_offsets: below "
        "min.insync.replicas no commit succeeds.",
        next_command=f"kafka-topics.sh --bootstrap-server {evidence.bootstrap_server} --describe --topic "
        "__consumer_offsets --under-min-isr-partitions",
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()) if evidence.partitions else None,
    )


CAUSE: Final = Cause(
    name="coordinator_trouble",
    title="the coordinator of the group does not work",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.BROKERS, Need.OTHER_GROUPS),
    find=find,
    place=50,
    applies_to=has_coordinator,
)
