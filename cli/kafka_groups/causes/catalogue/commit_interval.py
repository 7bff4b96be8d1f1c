"""What is unread is younger than the usual time between two commits: it may be read, and not committed yet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.facts import lag_facts
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.pace import longest_wait
from kafka_groups.causes.sentences import count, name_duration, name_partitions
from kafka_groups.causes.series import lag_of, moves, total_lag, with_commits

_STRONG_MOVES: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield one finding for all partitions whose oldest unread record is younger than a commit interval."""
    young = {
        key: polls
        for key, polls in evidence.open_partitions().items()
        if lag_of(polls) and _is_young(polls, evidence.interval_ms)
    }
    if not young:
        return
    gap_ms = max(map(usual_gap_ms, young.values()))
    fewest = min(len(moves(polls)) for polls in young.values())
    yield Finding(
        summary=f"{count(total_lag(young), 'unread record')} of {name_partitions(young)} are younger than the time "
        f"between two commits, {name_duration(gap_ms)}.",
        certainty=Certainty.STRONG if fewest >= _STRONG_MOVES else Certainty.LIKELY,
        facts=lag_facts(young),
        refuted_by="A commit that leaves older records unread.",
        next_step="Nothing to do: the next commit takes them up.",
        explains=frozenset(young),
        lag=total_lag(young),
    )


def usual_gap_ms(polls: PartitionPolls) -> int:
    """Return the longest time without a move that polls saw end, in ms; 0 without a move.

    The first one began before the first poll, so that it was at least as long.
    """
    moved = [poll.at_ms for poll in moves(polls)]
    begins = [poll.at_ms for poll in with_commits(polls)[:1]]
    return max((after - before for before, after in pairwise((*begins, *moved))), default=0)


def _is_young(polls: PartitionPolls, interval_ms: int) -> bool:
    longest_ms = longest_wait(polls)
    return bool(moves(polls)) and longest_ms is not None and longest_ms <= usual_gap_ms(polls) + interval_ms


CAUSE: Final = Cause(
    name="commit_interval",
    title="the lag is what was written since the last commit",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=31,
)
