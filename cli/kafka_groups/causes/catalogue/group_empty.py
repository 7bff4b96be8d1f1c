"""The group has no members: nobody reads its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.sentences import count, name_member, name_time
from kafka_groups.causes.series import total_lag
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group is Empty or Dead, and had members at some time: a type, or polls that saw them."""
    lag = total_lag(evidence.open_partitions())
    if evidence.last.group.state not in STATES_WITHOUT_MEMBERS or not lag:
        return
    with_members = [poll for poll in evidence.polls if poll.group.members]
    if not with_members and not evidence.last.group.protocol_type:
        return
    since = _since(evidence, with_members)
    leavers = _facts_of_leavers(with_members, since)
    yield Finding(
        summary=_summarize(leavers, lag, evidence.last.group.state),
        certainty=Certainty.CERTAIN,
        facts=(
            *leavers,
            Fact(f"The group is {evidence.last.group.state} and has no members.", at_ms=evidence.last.at_ms),
        ),
        refuted_by="A member that joins: the next description would show it.",
        next_step="Start the application again; if it should run, its own log says why it ended.",
        next_command=None,
        since=since,
        explains=evidence.unexplained,
        lag=lag,
    )


def _since(evidence: Evidence, with_members: list[GroupPoll]) -> Since:
    empty_polls = [poll.at_ms for poll in evidence.polls if not poll.group.members]
    if not with_members:
        return Since(None, empty_polls[0])
    left_ms = with_members[-1].at_ms
    return Since(left_ms, min(at_ms for at_ms in empty_polls if at_ms > left_ms))


def _facts_of_leavers(with_members: list[GroupPoll], since: Since) -> tuple[Fact, ...]:
    """Return a fact for each member of the last poll that saw some."""
    if not with_members:
        return ()
    between = f"between {name_time(with_members[-1].at_ms)} and {name_time(since.latest_ms)}"
    return tuple(
        Fact(
            f"{name_member(member)} left {between}.",
            at_ms=since.latest_ms,
            member_id=member.member_id,
            client_id=member.client_id,
            host=member.host,
            epoch=member.epoch,
        )
        for member in with_members[-1].group.members
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
