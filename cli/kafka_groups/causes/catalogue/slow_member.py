"""All partitions of a member are behind, and those of the others are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts, member_fact
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.loads import Load, loads_of
from kafka_groups.causes.pace import has_same_members
from kafka_groups.causes.sentences import count, name_member, name_partitions, name_rate
from kafka_groups.causes.series import middle, total_lag

# A member that reads more than this share of what others read may only have more to read.
_SLOW: Final = 0.8


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each host with members that read less than the others and are behind on all they own."""
    loads = loads_of(evidence) if has_same_members(evidence) else []
    others = [load for load in loads if load.keeps_up and load.read]
    slow = [load for load in loads if load.is_behind and load.read < _SLOW * load.written]
    if not others or len(slow) > len(loads) / 2:
        return
    for host in sorted({load.member.host for load in slow}):
        here = [load for load in slow if load.member.host == host]
        yield _describe(evidence, here, others)


def _describe(evidence: Evidence, slow: Sequence[Load], others: Sequence[Load]) -> Finding:
    partitions = {key: evidence.partitions[key] for load in slow for key in load.partitions}
    names = ", ".join(name_member(load.member) for load in slow)
    read, written = sum(load.read for load in slow), sum(load.written for load in slow)
    usual = middle(load.read for load in others)
    reads_less = all(0 < load.read < _SLOW * usual for load in slow)
    return Finding(
        summary=f"{names}: {name_rate(read)} read of the {name_rate(written)} that are written to "
        f"{name_partitions(partitions)}. Others keep up, and the median of them reads {name_rate(usual)}.",
        certainty=Certainty.STRONG if reads_less and len(partitions) > 1 else Certainty.LIKELY,
        facts=(*(_fact(load, evidence.last.at_ms) for load in slow), *lag_facts(partitions)),
        refuted_by="The same partitions stay behind on another member: then the cause is what is in them.",
        next_step="Compare the host and the log of this member with another one: CPU, garbage collection, downstream "
        "calls and client quotas are not visible from Kafka.",
        explains=frozenset(partitions),
        lag=total_lag(partitions),
    )


def _fact(load: Load, at_ms: int) -> Fact:
    text = f"reads {name_rate(load.read)} of {name_rate(load.written)}, and is behind on all of its "
    return member_fact(load.member, f"{text}{count(len(load.partitions), 'partition')} with new records.", at_ms)


CAUSE: Final = Cause(
    name="slow_member",
    title="a member reads slowly, and others keep up",
    kind=CauseKind.TROUBLE,
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=31,
)
