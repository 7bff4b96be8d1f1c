"""Members were replaced once, as a deployment does: the lag since then is no trouble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Finding, Since
from kafka_groups.causes.membership import Life, described_polls, is_rebalancing, life_fact, lives_of
from kafka_groups.causes.pace import pace
from kafka_groups.causes.rebalances import changed_polls
from kafka_groups.causes.sentences import count, name_time
from kafka_groups.causes.series import consumed, is_unread_since, lag_of, total_lag
from kafka_groups.model import Member, TopicPartition

_MAX_FACTS: Final = 6


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if members left once and others of the same client ids or hosts joined, who stay."""
    polls = described_polls(evidence)
    changes = changed_polls(polls)
    lives = lives_of(polls)
    if not changes or any(life.is_short for life in lives) or is_rebalancing(polls[0]):
        return
    left = [life for life in lives if life.left is not None]
    joined = [life for life in lives if life.joined is not None]
    replaced = [life for life in joined if any(_is_same(life.member, other.member) for other in left)]
    explained = frozenset(
        key
        for key, series in evidence.open_partitions().items()
        if lag_of(series)
        and not is_unread_since(series, _time_before(polls, changes[0]))
        and not _is_slow_after(series, changes[-1])
    )
    if replaced and explained:
        yield _describe(evidence, changes, (*left, *joined), explained)


def _is_same(member: Member, other: Member) -> bool:
    """Return whether a member may replace another: the same instance, client id, or host."""
    is_instance = member.group_instance_id is not None and member.group_instance_id == other.group_instance_id
    return is_instance or member.client_id == other.client_id or member.host == other.host


def _time_before(polls: Sequence[GroupPoll], change: GroupPoll) -> int:
    """Return the time of the poll before the last one without the change: members may have stopped since."""
    return polls[max(0, polls.index(change) - 2)].at_ms


def _is_slow_after(series: PartitionPolls, change: GroupPoll) -> bool:
    """Return whether a partition is read more slowly than it is written since a change: the restart is no reason."""
    since = pace(tuple(poll for poll in series if poll.at_ms >= change.at_ms))
    return since is not None and since.read > 0 and since.is_slower


def _describe(
    evidence: Evidence, changes: list[GroupPoll], lives: tuple[Life, ...], explained: frozenset[TopicPartition]
) -> Finding:
    series = {key: evidence.partitions[key] for key in explained}
    reads = any(consumed(polls[-2:]) > 0 for polls in series.values())
    joined = sum(life.joined is not None for life in lives)
    before_ms = next(poll.at_ms for poll in reversed(evidence.polls) if poll.at_ms < changes[0].at_ms)
    return Finding(
        summary=f"{count(len(lives) - joined, 'member')} left and {joined:,} joined between {name_time(before_ms)} and "
        f"{name_time(changes[-1].at_ms)}, as in a rolling restart.",
        certainty=Certainty.STRONG if reads and not is_rebalancing(evidence.last) else Certainty.LIKELY,
        facts=tuple(map(life_fact, lives[-_MAX_FACTS:])),
        refuted_by="A member that joined and leaves again, or a lag that does not shrink after the restart.",
        next_step="Nothing: run this command again after the restart.",
        since=Since(before_ms, changes[0].at_ms),
        explains=explained,
        lag=total_lag(series),
    )


CAUSE: Final = Cause(
    name="rolling_restart",
    title="members were replaced once, as in a deployment",
    kind=CauseKind.EXPLANATION,
    order=Order.EXPLANATION,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=10,
)
