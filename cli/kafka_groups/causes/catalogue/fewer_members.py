"""Members left for good, and the group has read less since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_groups.causes.cause import Cause, Due, Order
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.membership import describe_members, described_polls, life_fact, lives_of
from kafka_groups.causes.sentences import count, name_member
from kafka_groups.causes.series import consumed, produced, rate, span, total_lag

_LEAST_POLLS_BEFORE: Final = 2
_LEAST_POLLS_AFTER: Final = 3
# Rates that differ by less than this factor are the same.
_SAME: Final = 0.9
_PROPORTION: Final = 0.25


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if fewer members read less than before, and less than is written."""
    polls = [poll for poll in described_polls(evidence) if poll.group.state == "Stable"]
    if not polls or not evidence.unexplained:
        return
    now = len(polls[-1].group.members)
    most = max(len(poll.group.members) for poll in polls)
    before = [poll for poll in polls if len(poll.group.members) == most]
    after = [poll for poll in polls if poll.at_ms > before[-1].at_ms and len(poll.group.members) == now]
    if not 0 < now < most or len(before) < _LEAST_POLLS_BEFORE or len(after) < _LEAST_POLLS_AFTER:
        return
    read_before, _ = _rates(evidence, before)
    read_after, written = _rates(evidence, after)
    if read_after < _SAME * read_before and read_after < _SAME * written:
        yield _describe(evidence, before, after, (read_before, read_after, written))


def _rates(evidence: Evidence, polls: Sequence[GroupPoll]) -> tuple[float, float]:
    """Return records a second that were read and written, from the first to the last of some polls."""
    first_ms, last_ms = polls[0].at_ms, polls[-1].at_ms
    ends = [span(series, first_ms, last_ms) for series in evidence.open_partitions().values()]
    return rate(sum(map(consumed, ends)), last_ms - first_ms), rate(sum(map(produced, ends)), last_ms - first_ms)


def _describe(
    evidence: Evidence, before: list[GroupPoll], after: list[GroupPoll], rates: tuple[float, float, float]
) -> Finding:
    read_before, read_after, written = rates
    most, now = len(before[-1].group.members), len(after[-1].group.members)
    is_proportional = abs(read_after / read_before - now / most) <= _PROPORTION
    left = [life for life in lives_of(described_polls(evidence)) if life.left is not None]
    names = dict.fromkeys(name_member(life.member) for life in left)
    return Finding(
        summary=f"{now:,} of {count(most, 'member')} are left, and the group reads {read_after:,.1f} records a second "
        f"in place of {read_before:,.1f}: {', '.join(names)} left.",
        certainty=Certainty.STRONG if is_proportional else Certainty.LIKELY,
        facts=(
            *map(life_fact, left),
            Fact(f"{written:,.1f} records a second are written.", at_ms=evidence.last.at_ms),
        ),
        refuted_by="A rate of reading that was as low before the members left.",
        next_step="Start the members again that left.",
        next_command=describe_members(evidence),
        since=Since(before[-1].at_ms, after[0].at_ms),
        explains=evidence.unexplained,
        lag=total_lag(evidence.open_partitions()),
    )


CAUSE: Final = Cause(
    name="fewer_members",
    title="members left, and the group reads less",
    kind=CauseKind.TROUBLE,
    order=Order.WHOLE,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    due=Due.HISTORY,  # The usual number of members is known only from a longer time.
    place=10,
)
