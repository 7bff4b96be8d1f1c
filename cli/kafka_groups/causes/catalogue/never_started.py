"""The group has commits and never had members: no application that subscribes was started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.emptiness import is_abandoned, is_empty, is_read, last_with_members
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.sentences import count, name_partition
from kafka_groups.causes.series import lag_of, total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group has no protocol, which the first member would have set, and nobody reads it."""
    if evidence.kind.has_had_members or not is_empty(evidence) or last_with_members(evidence) is not None:
        return
    if is_read(evidence) or not is_abandoned(evidence):
        return
    behind = {key: polls for key, polls in evidence.open_partitions().items() if lag_of(polls)}
    key, polls = max(behind.items(), key=lambda item: lag_of(item[1]))
    lag = total_lag(behind)
    yield Finding(
        summary=f"No member ever joined, and {count(lag, 'record')} are unread: the commits came from a tool, "
        "or from a consumer without a subscription.",
        certainty=Certainty.STRONG,
        facts=(
            Fact(
                f"The group is {evidence.last.group.state}, and its protocol type is empty.", at_ms=evidence.last.at_ms
            ),
            Fact(
                f"The commit of {name_partition(key)} stays at {polls[-1].committed:,}.",
                at_ms=polls[-1].at_ms,
                topic=key.topic,
                partition=key.partition,
                offset=polls[-1].committed,
            ),
        ),
        refuted_by="A commit that moves: a consumer that assigns partitions itself is no member.",
        next_step="Start the application, and compare its group.id with the id of this group.",
        since=Since(None, evidence.polls[0].at_ms),
        explains=evidence.unexplained,
        lag=lag,
    )


CAUSE: Final = Cause(
    name="never_started",
    title="no member ever joined the group",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=10,
)
