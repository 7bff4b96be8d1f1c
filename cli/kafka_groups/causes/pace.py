"""Whether partitions are behind, and how fast they are read and written, from polls that see commits late.

A commit interval makes the lag a saw-tooth, and polls see each commit up to one interval late. So partitions are
compared just after commits: a reader that keeps up has little left to read there, however seldom it commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import Evidence, LogTime, PartitionPoll, PartitionPolls
from kafka_groups.causes.finding import Since
from kafka_groups.causes.series import consumed, lag_of, moves, produced, rate, unread_since, with_commits
from kafka_groups.model import TopicPartition

# A record that a commit left unread for longer is no matter of the commit interval.
BEHIND_MS: Final = 60_000
# A wait without a commit; `verdicts.Limits.stop_after_ms` is the same.
STOPPED_MS: Final = 120_000
# A growth over fewer commits may be chance.
_STEADY_MOVES: Final = 5
# Fewer polls show no rate.
MIN_POLLS: Final = 4
# Below this share of what is written, a reader is slower than its producers.
SLOWER: Final = 0.9


class Pace(NamedTuple):
    """How fast a series was read and written, in records a second, and how its lag grew, in records.

    `noise` is the largest move of the commit: a growth of the lag that is smaller may be the saw-tooth of commits.
    """

    read: float
    written: float
    growth: int
    noise: int

    @property
    def is_slower(self) -> bool:
        """Return whether less was read than was written."""
        return self.read < SLOWER * self.written and self.growth > self.noise / 2

    @property
    def is_faster(self) -> bool:
        """Return whether the lag fell by more than commits explain."""
        return self.read > self.written and -self.growth > self.noise


def pace(polls: PartitionPolls) -> Pace | None:
    """Return the pace from the first move to the last one; None if one move or fewer polls than four show none."""
    seen = with_commits(polls)
    moved = moves(polls)
    if len(seen) < MIN_POLLS or len(moved) == 1:
        return None
    first, last = (moved[0], moved[-1]) if moved else (seen[0], seen[-1])
    read = (last.committed or 0) - (first.committed or 0)
    written = (last.log_end or 0) - (first.log_end or 0)
    duration_ms = last.at_ms - first.at_ms
    return Pace(rate(read, duration_ms), rate(written, duration_ms), written - read, max(_steps(polls)))


def sum_of(partitions: Iterable[PartitionPolls]) -> PartitionPolls:
    """Return the sums over partitions at each time at which all of them are known."""
    by_time: dict[int, list[PartitionPoll]] = {}
    series = [with_commits(polls) for polls in partitions]
    for poll in (poll for polls in series for poll in polls):
        by_time.setdefault(poll.at_ms, []).append(poll)
    return tuple(
        PartitionPoll(
            at_ms,
            committed=sum(poll.committed or 0 for poll in polls),
            log_end=sum(poll.log_end or 0 for poll in polls),
            lag=sum(max(0, poll.lag or 0) for poll in polls),
        )
        for at_ms, polls in sorted(by_time.items())
        if len(polls) == len(series)
    )


def waits(polls: PartitionPolls, log_times: Sequence[LogTime] = ()) -> list[int]:
    """Return how long the record at the commit had waited at least, in ms, at each poll that knows it; 0 without."""
    seen = with_commits(polls)
    ends = [*log_times, *(LogTime(poll.at_ms, poll.log_end or 0) for poll in seen)]
    return [_wait(poll, ends) for poll in seen]


def _wait(poll: PartitionPoll, ends: Iterable[LogTime]) -> int:
    committed = poll.committed or 0
    written = [end.at_ms for end in ends if end.offset > committed and end.at_ms <= poll.at_ms]
    return poll.at_ms - min(written, default=poll.at_ms)


def is_behind(polls: PartitionPolls, log_times: Sequence[LogTime] = ()) -> bool:
    """Return whether the last commit left a record that had waited a minute, or none came for two minutes.

    A lag that grows steadily is behind before a minute has passed.
    """
    known = waits(polls, log_times)
    if not known or not lag_of(polls):
        return False
    if grows_steadily(polls):
        return True
    moved = moves(polls)
    times = [poll.at_ms for poll in with_commits(polls)]
    after_move = known[times.index(moved[-1].at_ms)] if moved else 0
    return after_move >= BEHIND_MS or known[-1] >= STOPPED_MS


def keeps_up(polls: PartitionPolls, log_times: Sequence[LogTime] = ()) -> bool:
    """Return whether no poll saw a record that had waited a minute, nor a steady growth; False if no poll knows it."""
    known = waits(polls, log_times)
    return bool(known) and max(known) < BEHIND_MS and not grows_steadily(polls)


def grows_steadily(polls: PartitionPolls) -> bool:
    """Return whether each commit, of five or more, left more unread than the one before, and half was read or less.

    What a reader that keeps up leaves unread is at most what was written until the next commit: one move. In a burst,
    healthy readers are slower than their producers for a while, but rarely at half the speed.
    """
    moved = moves(polls)
    left = [max(0, poll.lag or 0) for poll in moved]
    if len(left) < _STEADY_MOVES or any(after <= before for before, after in pairwise(left)):
        return False
    return left[-1] > 2 * max(_steps(polls)) and 2 * consumed(polls) <= produced(polls)


def leaves_little(polls: PartitionPolls) -> bool:
    """Return whether the last commit left no more than the largest step: what a reader that keeps up leaves."""
    moved = moves(polls)
    return bool(moved) and max(0, moved[-1].lag or 0) <= max(_steps(polls))


def _steps(polls: PartitionPolls) -> list[int]:
    """Return by how much the commit moved from each poll to the next one."""
    seen = with_commits(polls)
    return [(after.committed or 0) - (before.committed or 0) for before, after in pairwise(seen)]


def behind_partitions(evidence: Evidence) -> dict[TopicPartition, PartitionPolls]:
    """Return the partitions that no cause has explained and that are behind."""
    return {
        key: polls
        for key, polls in evidence.open_partitions().items()
        if is_behind(polls, evidence.log_times.get(key, ()))
    }


def busy_partitions(evidence: Evidence) -> dict[TopicPartition, PartitionPolls]:
    """Return the partitions to which records were written while polls watched them."""
    return {key: polls for key, polls in evidence.partitions.items() if produced(polls) > 0}


def has_same_members(evidence: Evidence, since_ms: int = 0) -> bool:
    """Return whether the group was Stable with the same members, at least one, at all polls since a time."""
    groups = [poll.group for poll in evidence.polls if poll.at_ms >= since_ms] or [evidence.last.group]
    members = {frozenset(member.member_id for member in group.members) for group in groups}
    is_stable = all(group.state == "Stable" for group in groups)
    return is_stable and len(members) == 1 and bool(groups[-1].members)


class Stop(NamedTuple):
    """A group whose commits do not move: since when, for how long polls saw it at least, and its longest wait before.

    `usual_ms` is the longest time between two moves that polls saw, 0 if they saw fewer than two.
    """

    since: Since
    silent_ms: int
    usual_ms: int


def stop_of(evidence: Evidence) -> Stop | None:
    """Return the stop of a group; None if a commit moved at one of the last three polls, or polls are too few."""
    partitions = [polls for polls in evidence.partitions.values() if len(with_commits(polls)) >= MIN_POLLS]
    times = sorted({poll.at_ms for polls in partitions for poll in with_commits(polls)})
    if not times:
        return None
    moved = sorted({poll.at_ms for polls in partitions for poll in moves(polls)})
    since = Since(times[times.index(moved[-1]) - 1], moved[-1]) if moved else Since(None, times[0])
    silent_ms = times[-1] - since.latest_ms
    if sum(at_ms > since.latest_ms for at_ms in times) < MIN_POLLS - 1:
        return None
    return Stop(since, silent_ms, max((after - before for before, after in pairwise(moved)), default=0))


def longest_wait(polls: PartitionPolls, log_times: Sequence[LogTime] = ()) -> int | None:
    """Return how long the record at the commit has waited at most, in ms; None if nothing bounds it."""
    since = unread_since(polls, log_times)
    return None if since is None or since.earliest_ms is None else polls[-1].at_ms - since.earliest_ms
