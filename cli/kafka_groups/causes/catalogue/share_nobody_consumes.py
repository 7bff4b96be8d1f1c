"""A share group has no members: nobody reads its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_start_offsets
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.sentences import count, name_member, name_partitions, name_time
from kafka_groups.causes.series import held_since, lag_of, total_lag
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group has no members, and records whose delivery is not final."""
    behind = {key: polls for key, polls in evidence.open_partitions().items() if lag_of(polls)}
    group = evidence.last.group
    if not behind or group.members or group.state not in STATES_WITHOUT_MEMBERS:
        return
    since = held_since([(poll.at_ms, not poll.group.members) for poll in evidence.polls])
    lag = total_lag(behind)
    left = next((poll.group.members for poll in reversed(evidence.polls) if poll.group.members), ())
    yield Finding(
        summary=f"The share group is {group.state}: nobody reads {count(lag, 'record')} of {name_partitions(behind)}.",
        certainty=Certainty.CERTAIN,
        facts=(
            *(
                Fact(
                    f"{name_member(member)} left before {name_time(since.latest_ms)}.",
                    at_ms=since.latest_ms,
                    member_id=member.member_id,
                    client_id=member.client_id,
                    host=member.host,
                    epoch=member.epoch,
                )
                for member in left
            ),
            Fact("The share group has no members.", at_ms=evidence.last.at_ms, epoch=group.group_epoch),
        ),
        refuted_by="A member that joins: the next description would show it.",
        next_step="Start the consumers again; if they should run, their own log says why they ended.",
        since=since,
        explains=frozenset(behind),
        lag=lag,
    )


CAUSE: Final = Cause(
    name="share_nobody_consumes",
    title="a share group has no members",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=51,
    applies_to=has_start_offsets,
)
