"""The group reads less than is written, on nearly all partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.loads import falling_behind
from kafka_groups.causes.pace import Pace, has_same_members
from kafka_groups.causes.sentences import count, name_duration, name_rate
from kafka_groups.causes.series import total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if nearly all partitions with new records are behind, and their lag together grows."""
    behind, pace = falling_behind(evidence)
    if pace is None or not pace.read or not has_same_members(evidence):
        return
    members = [member for member in evidence.last.group.members if member.partition_count]
    yield Finding(
        summary=f"The group reads {name_rate(pace.read)} of {name_rate(pace.written)} that are written to "
        f"{count(len(behind), 'partition')}: it needs {pace.written / pace.read:.1f} times its capacity.",
        certainty=Certainty.STRONG if pace.growth > pace.noise else Certainty.LIKELY,
        facts=(
            Fact(
                f"The lag grew by {count(pace.growth, 'record')} between two commits that polls saw; they watched for "
                f"{name_duration(evidence.duration_ms)}.",
                at_ms=evidence.last.at_ms,
            ),
            *lag_facts(behind),
        ),
        refuted_by="A lag that shrinks over a longer time, or a client quota that limits the members.",
        next_step=_advise(pace, len(members), len(behind)),
        explains=frozenset(behind),
        lag=total_lag(behind),
    )


def _advise(pace: Pace, members: int, partitions: int) -> str:
    needed = pace.written / pace.read
    if not members or members >= partitions:
        return "Each partition has a member of its own: make processing faster, or add partitions and members."
    gain = partitions / members
    advice = f"Add members: {partitions} partitions allow {gain:.1f} times the {count(members, 'member')} of now"
    return f"{advice}." if gain >= needed else f"{advice}, which is not enough alone: make processing faster, too."


CAUSE: Final = Cause(
    name="too_little_capacity",
    title="the group reads less than is written",
    kind=CauseKind.TROUBLE,
    order=Order.WHOLE,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=33,
)
