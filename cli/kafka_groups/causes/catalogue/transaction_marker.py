"""A lag of one to three at the end of a log to which nothing is written: markers of transactions are no records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.owners import owners
from kafka_groups.causes.pace import BEHIND_MS, waits
from kafka_groups.causes.sentences import console_consumer, count, name_partitions
from kafka_groups.causes.series import is_still, lag_of, produced, total_lag

_MAX_MARKERS: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield one finding for all partitions that a member owns, with a small lag that has been the same for a minute."""
    owned = owners(evidence.last.group)
    marked = {
        key: polls
        for key, polls in evidence.open_partitions().items()
        if key in owned and _is_small(polls) and waits(polls, evidence.log_times.get(key, ()))[-1] >= BEHIND_MS
    }
    if not marked:
        return
    first = min(marked)
    offset = evidence.partitions[first][-1].committed or 0
    yield Finding(
        summary=f"The lag of {count(total_lag(marked), 'offset')} on {name_partitions(marked)} does not change, and "
        "nothing is written: the last offsets may be markers of transactions, which are no records.",
        certainty=Certainty.STRONG if len(marked) > 1 else Certainty.LIKELY,
        facts=lag_facts(marked),
        refuted_by=f"A record at offset {offset:,} or above: the command prints none if there are only markers.",
        next_step="Read at the commit: a marker is not printed.",
        next_command=console_consumer(evidence.bootstrap_server, first, offset),
        explains=frozenset(marked),
        lag=total_lag(marked),
    )


def _is_small(polls: PartitionPolls) -> bool:
    return is_still(polls) and not produced(polls) and 0 < lag_of(polls) <= _MAX_MARKERS


CAUSE: Final = Cause(
    name="transaction_marker",
    title="a small lag stays the same, and nothing is written",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=32,
)
