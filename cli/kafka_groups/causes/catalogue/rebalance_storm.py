"""The group rebalances again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.membership import Life, comes_back, describe_members, described_polls, lives_of
from kafka_groups.causes.rebalances import are_batch_runs, changed_polls, rebalances_without_changes
from kafka_groups.causes.sentences import count, name_member, name_time
from kafka_groups.causes.series import total_lag
from kafka_groups.name_lists import first_names

# A restart and a scale-out change members, too, but nobody who joins leaves again.
_LEAST_CHANGES: Final = 3
_LEAST_SHORT_LIVES: Final = 2
_STRONG_SHARE: Final = 0.5
_MAX_NAMES: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if members that join keep leaving, or if rebalances keep beginning without such a change."""
    polls = described_polls(evidence)
    if not polls or not total_lag(evidence.open_partitions()):
        return
    lives = lives_of(polls)
    short = [life for life in lives if life.is_short]
    changes = changed_polls(polls)
    quiet = rebalances_without_changes(polls)
    is_churn = len(short) >= (1 if comes_back(lives) else _LEAST_SHORT_LIVES) and len(changes) >= _LEAST_CHANGES
    if is_churn and not are_batch_runs(evidence):
        yield _describe(evidence, changes, _name_changes(lives))
    elif len(quiet) >= _LEAST_CHANGES:
        yield _describe(evidence, quiet, "no member joined or left")


def _name_changes(lives: Sequence[Life]) -> str:
    names = dict.fromkeys(name_member(life.member) for life in lives if life.joined or life.left)
    return f"{first_names(names, _MAX_NAMES, more=' and {:,} more')} came and went"


def _describe(evidence: Evidence, seen: Sequence[GroupPoll], changes: str) -> Finding:
    intervals = len(evidence.polls) - 1
    return Finding(
        summary=f"The group began a rebalance before {len(seen):,} of {count(intervals, 'poll')}: {changes}.",
        certainty=Certainty.STRONG if len(seen) > _STRONG_SHARE * intervals else Certainty.LIKELY,
        facts=tuple(
            Fact(
                f"At {name_time(poll.at_ms)} the group is {poll.group.state} with "
                f"{count(len(poll.group.members), 'member')}.",
                at_ms=poll.at_ms,
                epoch=poll.group.group_epoch,
            )
            for poll in seen
        ),
        refuted_by="A deployment that was still under way: after it the members stay the same.",
        next_step="Look at the logs of the members for session timeouts, restarts, and changes of the subscription.",
        next_command=describe_members(evidence),
        since=Since(None, seen[0].at_ms),
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()),
    )


CAUSE: Final = Cause(
    name="rebalance_storm",
    title="the group rebalances again and again",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=14,
)
