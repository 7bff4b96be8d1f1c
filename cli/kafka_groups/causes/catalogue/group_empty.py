"""The group has no members: nobody reads its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.emptiness import empty_since, is_abandoned, is_empty, last_with_members
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.membership import described_polls, lives_of, member_fact
from kafka_groups.causes.sentences import count, name_member, name_time
from kafka_groups.causes.series import total_lag

_MAX_LEAVERS: Final = 5


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group is Empty or Dead, had members at some time, and nobody reads it."""
    left = last_with_members(evidence)
    has_had_members = left is not None or evidence.kind.has_had_members
    if not (is_empty(evidence) and has_had_members and is_abandoned(evidence)):
        return
    state = evidence.last.group.state
    since = empty_since(evidence)
    lag = total_lag(evidence.open_partitions())
    leavers = _facts_of_leavers(evidence)
    yield Finding(
        summary=_summarize(leavers, lag, state),
        certainty=Certainty.CERTAIN,
        facts=(*leavers, Fact(f"The group is {state} and has no members.", at_ms=evidence.last.at_ms)),
        refuted_by="A member that joins, such as at the next run of a scheduled job.",
        next_step="Start the application again; if it should run, its own log says why it ended.",
        since=since,
        explains=evidence.unexplained,
        lag=lag,
    )


def _facts_of_leavers(evidence: Evidence) -> tuple[Fact, ...]:
    """Return a fact for each of the last members that polls saw leave, the last one at the end."""
    return tuple(
        member_fact(
            f"{name_member(life.member)} left between {name_time(life.last_ms)} and {name_time(life.left.latest_ms)}.",
            life.member,
            life.left.latest_ms,
        )
        for life in lives_of(described_polls(evidence))[-_MAX_LEAVERS:]
        if life.left is not None
    )


def _summarize(leavers: tuple[Fact, ...], lag: int, state: str | None) -> str:
    summary = f"The group is {state}: nobody reads its {count(lag, 'record')}"
    if not leavers:
        return f"{summary}."
    return f"{summary}. The last member to leave was {leavers[-1].client_id} on {leavers[-1].host}."


CAUSE: Final = Cause(
    name="group_empty",
    title="the group has no members",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=1,
)
