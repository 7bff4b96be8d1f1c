"""A rebalance does not end: members wait for one that holds on to its partitions, or that does not join again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.membership import describe_members, member_fact
from kafka_groups.causes.rebalances import hanging_polls, hanging_since, holders_of, partitions_waited_for
from kafka_groups.causes.sentences import count, name_member, name_partitions, name_time
from kafka_groups.causes.series import total_lag

# Members revoke at their next heartbeat, and a group of the new protocol may assign in the background.
_LEAST_MS: Final = 20_000
# A classic group waits for members that poll, and for the session of one that died.
_LEAST_CLASSIC_MS: Final = 25_000
_STRONG_CLASSIC_MS: Final = 60_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group stays in one rebalance for longer than a rebalance takes."""
    polls = hanging_polls(evidence)
    if not polls:
        return
    duration_ms = polls[-1].at_ms - polls[0].at_ms
    if evidence.last.group.group_epoch is None:
        if duration_ms >= _LEAST_CLASSIC_MS and evidence.unexplained:
            yield _describe_classic(evidence, polls, duration_ms)
    elif duration_ms >= _LEAST_MS and holders_of(polls) and partitions_waited_for(evidence):
        yield _describe(evidence, polls)


def _describe(evidence: Evidence, polls: list[GroupPoll]) -> Finding:
    group = evidence.last.group
    holders = holders_of(polls)
    waited = partitions_waited_for(evidence)
    explained = frozenset(waited) & evidence.unexplained
    names = ", ".join(map(name_member, holders))
    text = f"stays below epoch {group.target_assignment_epoch} since {name_time(polls[0].at_ms)} or longer."
    return Finding(
        summary=f"The rebalance to epoch {group.group_epoch} waits for {names}: {name_partitions(waited)} are blocked.",
        certainty=Certainty.CERTAIN,
        facts=tuple(member_fact(f"{name_member(each)} {text}", each, evidence.last.at_ms) for each in holders),
        refuted_by=f"The epoch of the member reaches {group.target_assignment_epoch}.",
        next_step=f"Look at the application on {holders[0].host.removeprefix('/')}: it revokes only when it polls.",
        next_command=describe_members(evidence),
        since=hanging_since(evidence, polls),
        explains=explained,
        lag=total_lag({key: evidence.partitions[key] for key in explained}),
    )


def _describe_classic(evidence: Evidence, polls: list[GroupPoll], duration_ms: int) -> Finding:
    group = evidence.last.group
    state = f"The group is in {group.state} since {name_time(polls[0].at_ms)} or longer"
    return Finding(
        summary=f"{state}: it waits for one of {count(len(group.members), 'member')} to join again.",
        certainty=Certainty.STRONG if duration_ms >= _STRONG_CLASSIC_MS else Certainty.LIKELY,
        facts=(Fact(f"{state}, and no member joined or left.", at_ms=evidence.last.at_ms),),
        refuted_by="The state becomes Stable, or members join and leave.",
        next_step="Look for a member whose application is busy or stopped: it joins again only when it polls.",
        next_command=describe_members(evidence),
        since=hanging_since(evidence, polls),
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()),
    )


CAUSE: Final = Cause(
    name="rebalance_hangs",
    title="a rebalance does not end",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=11,
)
