"""The group reads in bursts at a regular period, and reads all then: the lag between them is no trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kafka_groups.causes.cause import Cause, Due, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.pace import sum_of
from kafka_groups.causes.sentences import count, name_duration, name_time
from kafka_groups.causes.series import lag_of, middle, moves, total_lag

_PAUSE_POLLS: Final = 3
_MIN_BURSTS: Final = 3
_STRONG_BURSTS: Final = 4
_TOLERANCE: Final = 0.25
_READ_ALL: Final = 0.2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if three bursts or more have equal distances, and each leaves a fifth of the lag or less."""
    lagging = {key: polls for key, polls in evidence.open_partitions().items() if lag_of(polls)}
    together = sum_of(evidence.partitions.values())
    begins = _begins_of_bursts(together, evidence.interval_ms)
    if not lagging or len(begins) < _MIN_BURSTS or not _reads_all(together):
        return
    periods = [after - before for before, after in pairwise(begins)]
    period_ms = middle(periods)
    tolerance_ms = _TOLERANCE * period_ms + evidence.interval_ms
    since_last_ms = together[-1].at_ms - begins[-1]
    if any(abs(each - period_ms) > tolerance_ms for each in periods) or since_last_ms > period_ms + tolerance_ms:
        return
    yield Finding(
        summary=f"The group reads in bursts each {name_duration(period_ms)}, and reads what waits then: "
        f"{count(total_lag(lagging), 'record')} wait for the next one.",
        certainty=Certainty.STRONG if len(begins) >= _STRONG_BURSTS else Certainty.LIKELY,
        facts=(*(Fact(f"A burst began at {name_time(at_ms)}.", at_ms) for at_ms in begins), *lag_facts(lagging)),
        refuted_by=f"No burst until {name_time(int(begins[-1] + period_ms + tolerance_ms))}.",
        next_step="Nothing to do, if the application is meant to read in batches.",
        explains=frozenset(lagging),
        lag=total_lag(lagging),
    )


def _begins_of_bursts(polls: PartitionPolls, interval_ms: int) -> Sequence[int]:
    """Return when bursts began, in ms: moves after a pause of three polls. The first burst may have begun before."""
    times = [poll.at_ms for poll in moves(polls)]
    pause_ms = (_PAUSE_POLLS - 0.5) * interval_ms
    return [*times[:1], *(after for before, after in pairwise(times) if after - before > pause_ms)]


def _reads_all(polls: PartitionPolls) -> bool:
    """Return whether the median of the lag after a move is a small part of the largest lag."""
    return middle(poll.lag or 0 for poll in moves(polls)) <= _READ_ALL * max(poll.lag or 0 for poll in polls)


CAUSE: Final = Cause(
    name="batch_reader",
    title="the group reads in bursts at a regular period",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.COMMITS, Need.LOG_ENDS),
    find=find,
    # Three bursts with pauses of three polls do not fit in 30 seconds.
    due=Due.HISTORY,
    place=30,
)
