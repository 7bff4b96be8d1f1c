"""Producers write far more than before, and the group reads no less than it used to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.loads import falling_behind
from kafka_groups.causes.log_rates import log_rates, surge_of
from kafka_groups.causes.sentences import count, name_duration, name_rate, name_time
from kafka_groups.causes.series import total_lag

# A reader below this share of the earlier rate of writing has become slow itself.
_USUAL: Final = 0.8
_LONG_MS: Final = 600_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group is behind, and twice as much is written as at any earlier time that is known."""
    behind, pace = falling_behind(evidence)
    surge = surge_of(log_rates(evidence, behind))
    if pace is None or surge is None or pace.read < _USUAL * surge.before:
        return
    factor = f"{surge.now / surge.before:.1f} times"
    yield Finding(
        summary=f"Producers write {name_rate(surge.now)} to {count(len(behind), 'partition')}, {factor} as much as "
        f"before ({name_rate(surge.before)}); the group reads {name_rate(pace.read)}.",
        certainty=Certainty.STRONG if surge.known_ms >= _LONG_MS else Certainty.LIKELY,
        facts=(
            Fact(
                f"Before {name_time(surge.since.latest_ms)}, at most {name_rate(surge.before)} were written in "
                f"{name_duration(surge.known_ms)}.",
                at_ms=surge.since.latest_ms,
            ),
            *lag_facts(behind),
        ),
        refuted_by="The same rates at this hour of other days: then the group has too little capacity for its peak.",
        next_step="Find out which producer writes more; the lag shrinks after the surge at the speed of the group, "
        f"{name_rate(pace.read)} less what is written then.",
        since=surge.since,
        explains=frozenset(behind),
        lag=total_lag(behind),
    )


CAUSE: Final = Cause(
    name="producer_surge",
    title="producers write far more than before",
    kind=CauseKind.TROUBLE,
    order=Order.WHOLE,
    needs=(Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=32,
)
