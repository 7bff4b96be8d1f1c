"""What a series of polls of a partition shows: how much was written and read, and when the commit moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import LogTime, PartitionPoll, PartitionPolls
from kafka_groups.causes.finding import Since
from kafka_groups.model import TopicPartition

_SECOND_MS: Final = 1000


def lag_of(polls: PartitionPolls) -> int:
    """Return the lag at the last poll; 0 if it is unknown or negative."""
    return max(0, polls[-1].lag or 0)


def total_lag(partitions: Mapping[TopicPartition, PartitionPolls]) -> int:
    """Return the lag of partitions at the last poll."""
    return sum(map(lag_of, partitions.values()))


def with_commits(polls: Iterable[PartitionPoll]) -> list[PartitionPoll]:
    """Return the polls that know both the commit and the log end."""
    return [poll for poll in polls if poll.committed is not None and poll.log_end is not None]


def produced(polls: PartitionPolls) -> int:
    """Return how far the log end moved from the first poll that knows it to the last one; at least 0."""
    ends = [poll.log_end for poll in polls if poll.log_end is not None]
    return max(0, ends[-1] - ends[0]) if ends else 0


def consumed(polls: PartitionPolls) -> int:
    """Return how far the commit moved from the first poll that knows it to the last one; negative after a rewind."""
    commits = [poll.committed for poll in polls if poll.committed is not None]
    return commits[-1] - commits[0] if commits else 0


def rate(records: int, duration_ms: int) -> float:
    """Return records a second; 0.0 without a duration."""
    return _SECOND_MS * records / duration_ms if duration_ms > 0 else 0.0


def moves(polls: PartitionPolls) -> list[PartitionPoll]:
    """Return the polls that saw another commit than the poll before."""
    seen = with_commits(polls)
    return [after for before, after in pairwise(seen) if after.committed != before.committed]


class Step(NamedTuple):
    """Two polls, one after the other, that both know the commit and the log end."""

    before: PartitionPoll
    after: PartitionPoll

    @property
    def back(self) -> int:
        """Return by how many records the commit went backwards; negative if it went on."""
        return (self.before.committed or 0) - (self.after.committed or 0)


def step_back(polls: PartitionPolls) -> Step | None:
    """Return the last step at which the commit went backwards; None without, or if the log ended below the commit."""
    back = [step for step in (Step(*pair) for pair in pairwise(with_commits(polls))) if step.back > 0]
    return back[-1] if back and (back[-1].after.log_end or 0) >= (back[-1].before.committed or 0) else None


def is_still(polls: PartitionPolls) -> bool:
    """Return whether the commit is the same at two polls or more, and at all of them."""
    seen = with_commits(polls)
    return len(seen) > 1 and all(poll.committed == seen[0].committed for poll in seen)


def unread_since(polls: PartitionPolls, log_times: Sequence[LogTime] = ()) -> Since | None:
    """Return when the record at the commit was written, by earlier log ends; None if there is no lag.

    It was written after the newest time at which the log ended at or before the commit.
    """
    last = polls[-1]
    if last.committed is None or not lag_of(polls):
        return None
    committed = last.committed
    known = [LogTime(poll.at_ms, poll.log_end) for poll in polls if poll.log_end is not None]
    ends = sorted((*log_times, *known))
    before = [each.at_ms for each in ends if each.offset <= committed]
    after = [each.at_ms for each in ends if each.offset > committed]
    return Since(max(before, default=None), min(after, default=last.at_ms))


def held_since(states: Sequence[tuple[int, bool]]) -> Since:
    """Return since when something holds, by whether it held at each time; it holds at the last one."""
    first = len(states) - 1
    while first > 0 and states[first - 1][1]:
        first -= 1
    return Since(states[first - 1][0] if first > 0 else None, states[first][0])


def moves_at_all(series: Iterable[PartitionPolls]) -> bool:
    """Return whether the commit of a partition moved."""
    return any(map(moves, series))


def stands_still(series: Iterable[PartitionPolls]) -> bool:
    """Return whether no commit moves, although records wait and others are written."""
    known = [polls for polls in series if len(with_commits(polls)) > 1]
    has_work = any(lag_of(polls) and produced(polls) for polls in known)
    return has_work and all(map(is_still, known))


def unmoved_since(polls: PartitionPolls) -> Since:
    """Return when the commit became what it is: between two polls, or before the first one."""
    seen = with_commits(polls) or list(polls)
    first_same = len(seen) - 1
    while first_same > 0 and seen[first_same - 1].committed == seen[-1].committed:
        first_same -= 1
    earliest_ms = seen[first_same - 1].at_ms if first_same > 0 else None
    return Since(earliest_ms, seen[first_same].at_ms)


def middle(values: Iterable[float]) -> float:
    """Return the median; 0.0 of nothing."""
    known = list(values)
    return median(known) if known else 0.0


def nearest(polls: PartitionPolls, at_ms: int) -> PartitionPoll:
    """Return the poll of a partition that is nearest to a time."""
    return min(polls, key=lambda poll: abs(poll.at_ms - at_ms))


def is_unread_since(polls: PartitionPolls, at_ms: int, *, markers: int = 0) -> bool:
    """Return whether a record that was there at a time is still unread; False if an offset is unknown.

    `markers` is the number of unread offsets that may be markers of transactions, which no consumer reads.
    """
    end = nearest(polls, at_ms).log_end
    committed = polls[-1].committed
    return end is not None and committed is not None and committed < end - markers


def span(polls: PartitionPolls, from_ms: int, to_ms: int) -> PartitionPolls:
    """Return the two polls of a partition that are nearest to two times."""
    return nearest(polls, from_ms), nearest(polls, to_ms)
