"""A member leaves, joins again, and commits nothing: processing takes longer than max.poll.interval.ms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Due, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding, Since
from kafka_groups.causes.membership import (
    Life,
    comes_back,
    describe_members,
    described_polls,
    has_committed,
    life_fact,
    lives_by_client,
    lives_of,
    overlap,
)
from kafka_groups.causes.owners import partitions_of
from kafka_groups.causes.sentences import count, name_member, name_partitions
from kafka_groups.causes.series import lag_of, total_lag
from kafka_groups.model import TopicPartition

# One leave and one join are a restart, if the process has a new member id.
_LEAST_LEAVES: Final = 2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each client that leaves, joins again, and finds the same offsets."""
    polls = described_polls(evidence)
    for lives in lives_by_client(lives_of(polls)).values():
        held = {key for life in lives for key in partitions_of(life.member.assignment)} & evidence.unexplained
        unread = {key for key in held if lag_of(evidence.partitions[key])}
        if unread and _is_kicked(evidence, lives):
            yield _describe(evidence, lives, unread)


def _is_kicked(evidence: Evidence, lives: Sequence[Life]) -> bool:
    """Return whether a client leaves before it joins again, and each time held its partitions without a commit.

    A process that crashed leaves only after its next one joined, because its session has not ended before.
    """
    ended = [life for life in lives if life.left is not None]
    if not ended or all(life.joined is None for life in lives) or overlap(lives):
        return False
    has_waited = all(life.last_ms > life.first_ms for life in ended if life.is_short)
    has_committed_any = any(has_committed(evidence, life) for life in lives)
    return has_waited and not has_committed_any and (len(ended) >= _LEAST_LEAVES or comes_back(lives))


def _describe(evidence: Evidence, lives: Sequence[Life], unread: set[TopicPartition]) -> Finding:
    ended = [life.left for life in lives if life.left is not None]
    name = name_member(lives[-1].member)
    return Finding(
        summary=f"{name} left {count(len(ended), 'time')} and joined again, and {name_partitions(unread)} stay at the "
        "same offsets: processing may take longer than max.poll.interval.ms.",
        certainty=Certainty.STRONG if comes_back(lives) and len(ended) >= _LEAST_LEAVES else Certainty.LIKELY,
        facts=tuple(map(life_fact, lives)),
        refuted_by="A process that started again or stood still at these times, as its own log shows.",
        next_step="Look for max.poll.interval.ms in the log of the client; lower max.poll.records or raise the limit.",
        next_command=describe_members(evidence),
        since=Since(None, ended[0].latest_ms),
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()),
    )


CAUSE: Final = Cause(
    name="max_poll_kick",
    title="a member leaves because processing takes longer than max.poll.interval.ms",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    due=Due.HISTORY,  # The limit is five minutes by default.
    place=12,
)
