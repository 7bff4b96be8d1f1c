"""Partitions are behind, and read faster than they are written: the lag shrinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.loads import overloaded_members
from kafka_groups.causes.pace import behind_partitions, pace
from kafka_groups.causes.sentences import count, name_duration, name_partition, name_partitions, name_rate
from kafka_groups.causes.series import lag_of, total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield one finding for all partitions that are behind and whose lag shrinks by more than one commit.

    A member that reads its partitions in turn, and less than is written to all of them, does not catch up.
    """
    overloaded = frozenset().union(*overloaded_members(evidence))
    behind = {key: polls for key, polls in behind_partitions(evidence).items() if key not in overloaded}
    paces = {key: known for key, polls in behind.items() if (known := pace(polls)) is not None and known.is_faster}
    if not paces:
        return
    times = {key: 1000 * lag_of(behind[key]) / (known.read - known.written) for key, known in paces.items()}
    last = max(times, key=lambda key: times[key])
    shrinking = {key: behind[key] for key in paces}
    yield Finding(
        summary=f"The lag of {name_partitions(shrinking)} shrinks, and is {count(total_lag(shrinking), 'record')}. "
        f"At these rates the group has caught up in {name_duration(times[last])}.",
        certainty=Certainty.STRONG,
        facts=(
            Fact(
                f"{name_partition(last)} needs the longest: {name_rate(paces[last].read)} read, "
                f"{name_rate(paces[last].written)} written.",
                at_ms=evidence.last.at_ms,
                topic=last.topic,
                partition=last.partition,
                offset=behind[last][-1].committed,
            ),
            *lag_facts(shrinking),
        ),
        refuted_by="A lag that grows again.",
        next_step="Nothing to do now; what made the lag was earlier than these polls.",
        explains=frozenset(shrinking),
        lag=total_lag(shrinking),
    )


CAUSE: Final = Cause(
    name="catching_up",
    title="the lag shrinks",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=33,
)
