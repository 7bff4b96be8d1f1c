"""The group has had no members for a short time, and had read everything before: a batch job, or a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.emptiness import (
    QUIET_MS,
    empty_since,
    had_read_all,
    is_abandoned,
    is_empty,
    last_with_members,
    unread_partitions,
)
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.membership import member_fact
from kafka_groups.causes.sentences import count, name_member, name_time
from kafka_groups.causes.series import total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if all that is unread was written after the last member left, or within the window."""
    if not is_empty(evidence) or not unread_partitions(evidence) or is_abandoned(evidence):
        return
    left = last_with_members(evidence)
    if left is not None and not had_read_all(evidence, left.at_ms):
        return
    lag = total_lag(evidence.open_partitions())
    state = evidence.last.group.state
    members = left.group.members if left is not None else ()
    yield Finding(
        summary=f"The group is {state}, and {count(lag, 'record')} came after it had read everything: "
        "its next run may be due.",
        certainty=Certainty.LIKELY,
        facts=(
            *(
                member_fact(f"{name_member(each)} left after {name_time(left.at_ms)}.", each, left.at_ms)
                for each in members
                if left is not None
            ),
            Fact(f"The group is {state}, and has no members.", at_ms=evidence.last.at_ms),
        ),
        refuted_by=f"Nobody joins, and the records stay unread for more than {QUIET_MS // 1000} seconds.",
        next_step="Run this command again after the next run is due; if the application should run always, start it.",
        since=empty_since(evidence),
        explains=evidence.unexplained,
        lag=lag,
    )


CAUSE: Final = Cause(
    name="recently_empty",
    title="the group has no members since a short time, and had read everything",
    kind=CauseKind.EXPLANATION,
    # A regular batch reader is the better explanation, so this comes after all others.
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=10,
)
