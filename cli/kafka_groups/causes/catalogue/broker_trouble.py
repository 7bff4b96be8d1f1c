"""A broker that leads partitions of the group does not work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka_groups.causes.cause import Cause, Order, has_offsets
from kafka_groups.causes.comparison import groups_stopped_on
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import name_partitions
from kafka_groups.causes.series import total_lag
from kafka_groups.command_lines import command_line
from kafka_groups.model import TopicPartition

_MAX_FACTS: Final = 4


class _Trouble(NamedTuple):
    text: str
    certainty: Certainty
    facts: tuple[Fact, ...]


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for partitions without a leader, and for each leader that does not respond or serve groups.

    Partitions that another cause explains are judged, too, unless the coordinator is lost: it may be the same broker.
    """
    by_leader: dict[int | None, dict[TopicPartition, PartitionPolls]] = {}
    coordinator = evidence.last.group.coordinator
    is_lost = evidence.coordinator_failure is not None or (
        coordinator is not None and coordinator.id in evidence.unanswering_brokers
    )
    for key, polls in (evidence.open_partitions() if is_lost else evidence.partitions).items():
        if polls[-1].leader is not None or _lacks_leader(evidence, key, polls):
            by_leader.setdefault(polls[-1].leader, {})[key] = polls
    for broker, led in by_leader.items():
        trouble = _judge(evidence, broker)
        if trouble is not None:
            yield _describe(evidence, led, trouble)


def _lacks_leader(evidence: Evidence, key: TopicPartition, polls: PartitionPolls) -> bool:
    """Return whether the partition exists without a leader; a topic that was not described shows nothing."""
    topic = evidence.topics.get(key.topic, ())
    return polls[-1].log_end is None and bool(topic) and topic[-1].exists and key.partition < topic[-1].partitions


def _judge(evidence: Evidence, broker: int | None) -> _Trouble | None:
    """Return what is wrong with a leader; None if nothing is known."""
    at_ms = evidence.last.at_ms
    if broker is None:
        return _Trouble("no broker leads", Certainty.CERTAIN, (Fact("The brokers name no leader.", at_ms),))
    if broker in evidence.unanswering_brokers:
        text = f"Broker {broker} did not respond: {evidence.unanswering_brokers[broker]}."
        return _Trouble(
            f"broker {broker} does not respond, which leads", Certainty.STRONG, (Fact(text, at_ms, broker=broker),)
        )
    names = groups_stopped_on(evidence, broker)
    facts = tuple(
        Fact(f"The group {name} stopped on broker {broker}, and reads from other brokers.", at_ms, broker=broker)
        for name in names[:_MAX_FACTS]
    )
    text = f"{len(names):,} groups stopped at the same time on broker {broker}, which leads"
    return _Trouble(text, Certainty.LIKELY, facts) if names else None


def _describe(evidence: Evidence, led: Mapping[TopicPartition, PartitionPolls], trouble: _Trouble) -> Finding:
    summary = f"{trouble.text} {name_partitions(led)}."
    return Finding(
        summary=summary[0].upper() + summary[1:],
        certainty=trouble.certainty,
        facts=trouble.facts,
        refuted_by="Another group that reads from this broker, or partitions that stay behind with another leader.",
        next_step="Look at the log of the broker, its disk, its network and its client quotas.",
        next_command=command_line(
            "kafka-topics.sh", "--bootstrap-server", evidence.bootstrap_server, "--describe", "--unavailable-partitions"
        ),
        explains=frozenset(led),
        lag=total_lag(led),
    )


CAUSE: Final = Cause(
    name="broker_trouble",
    title="a broker that leads partitions of the group does not work",
    kind=CauseKind.TROUBLE,
    order=Order.EXACT,
    needs=(Need.LOG_ENDS, Need.TOPICS, Need.OTHER_GROUPS, Need.BROKERS),
    find=find,
    place=53,
    applies_to=has_offsets,
)
