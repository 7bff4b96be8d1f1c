"""How fast logs were written before the first poll, from their offsets at earlier times."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import dropwhile, pairwise
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import Evidence
from kafka_groups.causes.finding import Since
from kafka_groups.causes.series import rate
from kafka_groups.model import TopicPartition

_SURGE: Final = 2.0
# Rates above this share of the present one belong to the surge.
_SAME: Final = 0.67


class LogRate(NamedTuple):
    """How many records a second were written from a time to another, in ms since 1970."""

    start_ms: int
    end_ms: int
    written: float

    @property
    def duration_ms(self) -> int:
        """Return the length of the time."""
        return self.end_ms - self.start_ms


class Surge(NamedTuple):
    """A surge: since when, the rate of now and the highest one before, and the time over which that is known."""

    since: Since
    now: float
    before: float
    known_ms: int


def log_rates(evidence: Evidence, keys: Collection[TopicPartition]) -> list[LogRate]:
    """Return the rates of partitions together, oldest first; the last is that of the polls.

    Times before the first record that a log still has are absent, and so is the time in which it was written: a rate
    over them would be too low.
    """
    ends = [_ends(evidence, key) for key in keys]
    times = sorted(set[int]().union(*ends).intersection(*ends))
    totals = [(at_ms, sum(end[at_ms] for end in ends)) for at_ms in times]
    rates = [LogRate(first, last, rate(max(0, b - a), last - first)) for (first, a), (last, b) in pairwise(totals)]
    known = [*dropwhile(lambda each: not each.written, rates)]
    return known[1:] if len(known) < len(rates) else known


def surge_of(rates: Sequence[LogRate]) -> Surge | None:
    """Return the surge that the last rate belongs to; None if there is none, or no earlier rate is known.

    The rate before the surge may have its begin within, so that it only counts if no older one is known.
    """
    now = rates[-1].written if rates else 0.0
    begin = len(rates)
    while begin and rates[begin - 1].written >= _SAME * now:
        begin -= 1
    older = rates[: begin - 1] or rates[:begin]
    before = max((each.written for each in older), default=0.0)
    if not before or now < _SURGE * before:
        return None
    return Surge(Since(older[-1].end_ms, rates[begin].start_ms), now, before, sum(each.duration_ms for each in older))


def _ends(evidence: Evidence, key: TopicPartition) -> dict[int, int]:
    """Return the log end by time: at earlier times, at the first poll and at the last one."""
    known = [poll for poll in evidence.partitions[key] if poll.log_end is not None]
    polled = {poll.at_ms: poll.log_end or 0 for poll in (*known[:1], *known[-1:])}
    return {each.at_ms: each.offset for each in evidence.log_times.get(key, ())} | polled
