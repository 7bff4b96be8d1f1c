"""No commit of the group moves, although its members are alive and records wait for minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.loads import lagging_partitions
from kafka_groups.causes.pace import STOPPED_MS, has_same_members, stop_of, waits
from kafka_groups.causes.sentences import count, name_duration, name_time
from kafka_groups.causes.series import total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if no partition moves, and a record has waited for two minutes or more."""
    lagging = lagging_partitions(evidence)
    stop = stop_of(evidence)
    if not lagging or stop is None or not has_same_members(evidence, stop.since.latest_ms):
        return
    waited_ms = max(waits(polls, evidence.log_times.get(key, ()))[-1] for key, polls in lagging.items())
    was_silent = stop.since.earliest_ms is None or stop.silent_ms >= STOPPED_MS
    if waited_ms < STOPPED_MS or not was_silent or stop.silent_ms <= 2 * stop.usual_ms:
        return
    silence, members = name_duration(stop.silent_ms), evidence.last.group.members
    lag = total_lag(lagging)
    yield Finding(
        summary=f"No partition moves, and the group keeps its {count(len(members), 'member')}: they do not process, or "
        f"their commits fail. The oldest of {count(lag, 'unread record')} has waited for {name_duration(waited_ms)} or "
        "longer.",
        certainty=Certainty.STRONG if stop.silent_ms >= STOPPED_MS and stop.usual_ms else Certainty.LIKELY,
        facts=(
            Fact(f"No commit moved in the last {silence} or longer.", at_ms=evidence.last.at_ms),
            Fact(_describe_members(stop.since), at_ms=evidence.last.at_ms),
            *lag_facts(lagging),
        ),
        refuted_by=f"A commit that moves: then commits come more seldom than each {silence}, as those of a batch "
        "reader. The two readings differ after a restart: a group that processed reads the same records again.",
        next_step="Look at the log of a member: a call that hangs, an error that is repeated at the same record, or a "
        "commit that fails or is switched off.",
        since=stop.since,
        explains=frozenset(lagging),
        lag=lag,
    )


def _describe_members(since: Since) -> str:
    return f"The group has been Stable with the same members since {name_time(since.latest_ms)} or longer."


CAUSE: Final = Cause(
    name="all_stopped",
    title="no partition moves, and the members are alive",
    kind=CauseKind.TROUBLE,
    order=Order.WHOLE,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=30,
)
