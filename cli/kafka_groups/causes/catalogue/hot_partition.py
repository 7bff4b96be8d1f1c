"""Far more is written to a few partitions than to the others, and their members read as much as others do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.owners import owners
from kafka_groups.causes.pace import behind_partitions
from kafka_groups.causes.sentences import name_partition, name_partitions, name_rate
from kafka_groups.causes.series import consumed, middle, produced, rate, total_lag
from kafka_groups.model import TopicPartition

_HOT: Final = 3
_MIN_PARTITIONS: Final = 3
_MAX_SHARE: Final = 0.34
_AS_MUCH: Final = 0.8
_SOME: Final = 0.01  # records/s


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each topic with a hot partition that is behind, and with it others of the same member."""
    behind = behind_partitions(evidence)
    owned = owners(evidence.last.group)
    for topic in sorted({key.topic for key in behind}):
        partitions = {key: polls for key, polls in evidence.partitions.items() if key.topic == topic}
        written = middle(map(_written, partitions.values()))
        read = middle(map(_read, partitions.values()))
        hot = [key for key, polls in partitions.items() if produced(polls) and _written(polls) >= _HOT * written]
        late = [key for key in hot if key in behind and _read(partitions[key]) >= max(_AS_MUCH * read, _SOME)]
        if late and len(partitions) >= _MIN_PARTITIONS and len(hot) <= _MAX_SHARE * len(partitions):
            members = {owned[key].member_id for key in late if key in owned}
            beside = {key for key in behind if key in owned and owned[key].member_id in members}
            yield _describe({key: evidence.partitions[key] for key in {*late, *beside}}, late, written)


def _describe(explained: dict[TopicPartition, PartitionPolls], hot: list[TopicPartition], usual: float) -> Finding:
    rates = [_written(explained[key]) for key in hot]
    factor = f"{max(rates) / usual:.1f} times" if usual else "far above"
    return Finding(
        summary=f"Producers write up to {name_rate(max(rates))} to each of {name_partitions(hot)}, {factor} the "
        f"median of the topic ({name_rate(usual)}), and a partition has one reader.",
        certainty=Certainty.STRONG,
        facts=tuple(_fact(key, explained[key]) for key in hot),
        refuted_by="Its member reads less than the others do, or rates that become equal.",
        next_step="Spread the keys of the producer over more partitions; more members do not help a single partition.",
        explains=frozenset(explained),
        lag=total_lag(explained),
    )


def _written(polls: PartitionPolls) -> float:
    return rate(produced(polls), polls[-1].at_ms - polls[0].at_ms)


def _read(polls: PartitionPolls) -> float:
    return rate(max(0, consumed(polls)), polls[-1].at_ms - polls[0].at_ms)


def _fact(key: TopicPartition, polls: PartitionPolls) -> Fact:
    text = f"{name_partition(key)}: {name_rate(_written(polls))} written, {name_rate(_read(polls))} read."
    return Fact(text, polls[-1].at_ms, key.topic, key.partition, polls[-1].committed)


CAUSE: Final = Cause(
    name="hot_partition",
    title="a few partitions get far more records than the others",
    kind=CauseKind.TROUBLE,
    order=Order.PARTIAL,
    needs=(Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=30,
)
