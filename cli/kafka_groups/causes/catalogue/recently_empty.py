"""The group has no members and nothing old to read: a batch job between two runs, or a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.emptiness import (
    QUIET_MS,
    empty_since,
    is_between_runs,
    is_empty,
    last_with_members,
    unread_ms,
)
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.membership import member_fact
from kafka_groups.causes.sentences import count, name_member, name_time
from kafka_groups.causes.series import total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the records that are unread came since the last member left, or shortly before."""
    if not is_empty(evidence) or not is_between_runs(evidence):
        return
    left = last_with_members(evidence)
    lag = total_lag(evidence.open_partitions())
    state = evidence.last.group.state
    members = left.group.members if left is not None else ()
    yield Finding(
        summary=f"The group is {state} with {count(lag, 'record')} unread, the oldest for "
        f"{count(unread_ms(evidence) // 1000, 'second')}: its next run may be due.",
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
    title="the group has no members, as between two runs of a job",
    kind=CauseKind.EXPLANATION,
    # A regular batch reader is the better explanation, so this comes after all others.
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=10,
)
