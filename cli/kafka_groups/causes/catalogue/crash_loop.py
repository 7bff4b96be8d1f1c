"""New members of the same client keep coming: a process starts, ends, and starts again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding, Since
from kafka_groups.causes.membership import (
    Life,
    describe_members,
    described_polls,
    life_fact,
    lives_by_client,
    lives_of,
)
from kafka_groups.causes.rebalances import are_batch_runs
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.causes.series import total_lag

# In a rolling restart a process ends once, and its next one stays.
_LEAST_CHANGES: Final = 3
_LEAST_IDS: Final = 3
_STRONG_SHORT_LIVES: Final = 2
_MAX_FACTS: Final = 6


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each client with members that joined and left within the window, and others after them."""
    polls = described_polls(evidence)
    lag = total_lag(evidence.open_partitions())
    if not lag or not polls or are_batch_runs(evidence):
        return
    for lives in lives_by_client(lives_of(polls)).values():
        changes = {since.latest_ms for life in lives for since in (life.joined, life.left) if since is not None}
        ids = {life.member.member_id for life in lives}
        short = [life for life in lives if life.is_short]
        if short and len(ids) >= _LEAST_IDS and len(changes) >= _LEAST_CHANGES:
            yield _describe(evidence, lives, short, lag)


def _describe(evidence: Evidence, lives: Sequence[Life], short: Sequence[Life], lag: int) -> Finding:
    joined = [life.joined for life in lives if life.joined is not None]
    name = name_member(lives[-1].member)
    return Finding(
        summary=f"{name} joined {count(len(joined), 'time')} with a new member id in "
        f"{count(evidence.duration_ms // 1000, 'second')}: its process ends and starts again.",
        certainty=Certainty.STRONG if len(short) >= _STRONG_SHORT_LIVES else Certainty.LIKELY,
        facts=tuple(map(life_fact, lives[-_MAX_FACTS:])),
        refuted_by="A deployment that was still under way, a job that is started at these times on purpose, or a "
        "process that went on: a member that polls too seldom is removed, and joins with a new id, too.",
        next_step="Look at the log of the application for the error with which it ends.",
        next_command=describe_members(evidence),
        since=Since(None, min(since.latest_ms for since in joined)),
        explains=evidence.unexplained,
        lag=lag,
    )


CAUSE: Final = Cause(
    name="crash_loop",
    title="a process ends and starts again, over and over",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=13,
)
