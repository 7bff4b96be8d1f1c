"""No commit moved while polls watched, and what is unread is young: readers in batches are healthy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.loads import lagging_partitions
from kafka_groups.causes.pace import STOPPED_MS, has_same_members, longest_wait, stop_of, waits
from kafka_groups.causes.sentences import count, name_duration, name_partitions
from kafka_groups.causes.series import total_lag


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if no partition moves, and no unread record is known to have waited for two minutes."""
    lagging = lagging_partitions(evidence)
    stop = stop_of(evidence)
    if not lagging or stop is None or not has_same_members(evidence, stop.since.latest_ms):
        return
    times = evidence.log_times
    known = [wait for key, polls in lagging.items() if (wait := longest_wait(polls, times.get(key, ()))) is not None]
    least = max(waits(polls, times.get(key, ()))[-1] for key, polls in lagging.items())
    if len(known) < len(lagging) or least >= STOPPED_MS:
        return
    silence = name_duration(stop.silent_ms)
    lag = total_lag(lagging)
    yield Finding(
        summary=f"No commit moved in the last {silence}, and the {count(lag, 'record')} of {name_partitions(lagging)} "
        f"have waited for at most {name_duration(max(known))}: a pause is usual for readers in batches.",
        certainty=Certainty.LIKELY,
        facts=(Fact(f"No commit moved in the last {silence}.", at_ms=evidence.last.at_ms), *lag_facts(lagging)),
        refuted_by=f"A record that waits for {name_duration(STOPPED_MS)} or longer.",
        next_step="Watch for longer than the group's usual time between commits.",
        since=stop.since,
        explains=frozenset(lagging),
        lag=lag,
    )


CAUSE: Final = Cause(
    name="quiet",
    title="no commit moved for a short time",
    kind=CauseKind.EXPLANATION,
    order=Order.WHOLE,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=31,
)
