"""How long nobody has read a group without members, and whether its last member had read everything.

A batch job leaves its group empty between two runs, and so does a consumer that died: what it left unread, and for how
long, is the difference that polls can see.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from kafka_groups.causes.evidence import Evidence, GroupPoll, PartitionPolls
from kafka_groups.causes.finding import Since
from kafka_groups.causes.membership import described_polls
from kafka_groups.causes.series import consumed, is_unread_since, lag_of, produced, span, unread_since
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS

# The time from the first to the last of six polls, five seconds apart.
QUIET_MS: Final = 25_000
# How much longer than the longest pause between two runs nobody may read.
_PAUSES: Final = 1.5
# The age of an unread record that is no remainder of a run.
_OLD_MS: Final = 60_000


def is_empty(evidence: Evidence) -> bool:
    """Return whether the group has no members at the last poll."""
    return evidence.last.group.is_described and evidence.last.group.state in STATES_WITHOUT_MEMBERS


def last_with_members(evidence: Evidence) -> GroupPoll | None:
    """Return the last poll that saw members, None if none did."""
    return next((poll for poll in reversed(described_polls(evidence)) if poll.group.members), None)


def empty_since(evidence: Evidence) -> Since:
    """Return when the last member of an empty group left: between two polls, or before the first one."""
    polls = described_polls(evidence)
    left = last_with_members(evidence)
    if left is None:
        return Since(None, polls[0].at_ms)
    return Since(left.at_ms, min(poll.at_ms for poll in polls if poll.at_ms > left.at_ms))


def unread_partitions(evidence: Evidence) -> list[PartitionPolls]:
    """Return the polls of open partitions with a lag.

    One record, where nothing is written, may be the marker of a transaction: no consumer reads it.
    """
    behind = (polls for polls in evidence.open_partitions().values() if lag_of(polls))
    return [polls for polls in behind if lag_of(polls) > 1 or produced(polls)]


def had_read_all(evidence: Evidence, at_ms: int) -> bool:
    """Return whether the group has read by now what was written until a poll, except a marker of a transaction."""
    return not any(is_unread_since(polls, at_ms, markers=1) for polls in unread_partitions(evidence))


def unread_ms(evidence: Evidence) -> int:
    """Return the known age of the oldest unread record at the last poll, in ms; 0 without one."""
    ages = [
        polls[-1].at_ms - since.latest_ms
        for key, polls in evidence.open_partitions().items()
        if (since := unread_since(polls, evidence.log_times.get(key, ()))) is not None
    ]
    return max(ages, default=0)


def pauses_ms(evidence: Evidence) -> list[int]:
    """Return the times without members between two polls that saw some, in ms: the pauses between runs."""
    polls = described_polls(evidence)
    with_members = [number for number, poll in enumerate(polls) if poll.group.members]
    return [polls[after].at_ms - polls[before].at_ms for before, after in pairwise(with_members) if after - before > 1]


def is_abandoned(evidence: Evidence) -> bool:
    """Return whether nobody reads an empty group, rather than that its next run is due.

    The last member died with unread records, or nobody has read an unread record for as long as a default window lasts.
    A group that was empty before within the window may be so again, for somewhat longer.
    """
    if not unread_partitions(evidence):
        return False
    left = last_with_members(evidence)
    pauses = pauses_ms(evidence)
    if left is not None and not pauses and _died(evidence, left.at_ms):
        return True
    quiet_ms = max(QUIET_MS, *(int(_PAUSES * pause) for pause in pauses)) if pauses else QUIET_MS
    empty_ms = evidence.last.at_ms - left.at_ms if left is not None else quiet_ms
    return min(empty_ms, unread_ms(evidence)) >= quiet_ms


def _died(evidence: Evidence, left_ms: int) -> bool:
    """Return whether the last member left records unread that a job at its regular end has read.

    A member that leaves commits once more, and a job may end at the offsets that were the log ends at its start.
    """
    if had_read_all(evidence, left_ms):
        return False
    has_committed = any(consumed(span(polls, left_ms, polls[-1].at_ms)) > 0 for polls in evidence.partitions.values())
    return not has_committed or unread_ms(evidence) >= _OLD_MS


def is_between_runs(evidence: Evidence) -> bool:
    """Return whether what an empty group has unread came since its last run, or is a remainder of it."""
    if not unread_partitions(evidence) or is_abandoned(evidence):
        return False
    left = last_with_members(evidence)
    return left is None or had_read_all(evidence, left.at_ms) or unread_ms(evidence) < _OLD_MS


def is_read(evidence: Evidence) -> bool:
    """Return whether a commit moved within the window: somebody reads, who need not be a member."""
    return any(consumed(polls) > 0 for polls in evidence.partitions.values())
