"""The responses of one partition on a grid of times, with requests for few of the times.

With a response (offset o, timestamp s) for time t:
- all times up to s have the same response, since o satisfies them and no earlier record satisfies even t;
- if the response for a later time is o + 1, it is for all times after s up to it, for o does not satisfy them;
- if the response is that there is none, there is none for later times either. The log end is such a response for a
  time after all others. So a partition that is quiet costs one look-up, however many days are requested.
The rest is found by halving, or, where only few records lie between, one after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple

import numpy as np

from kafka_groups.admin import OffsetAndTimestamp

NEVER: Final = 2**63 - 1  # the time of the record after the last one
_FEW: Final = 8  # records: with so many between two responses, requests one by one take no more than halving


class _Gap(NamedTuple):
    """Times without a response, from index `since` to before `until`, and the responses on both sides."""

    since: int
    before: OffsetAndTimestamp | None
    until: int
    after: OffsetAndTimestamp


class Search:
    """The responses of one partition on a grid of times, and which times to request next.

    `end` is the partition's log end, `last` a response for a time before the grid.
    """

    def __init__(self, times: range, end: int, last: OffsetAndTimestamp | None) -> None:
        self.offsets = np.full(len(times), -1, np.int64)
        self.points = np.full(len(times), NEVER, np.int64)
        self.known = 0
        self._times = times
        self._end = OffsetAndTimestamp(end, NEVER)
        self._wanted: dict[int, _Gap] = {}
        covered = 0 if last is None else bisect_right(times, last.time_ms)
        if last is not None:
            self._fill(0, covered, last)
        self._narrow(_Gap(covered, last, len(times), self._end))

    def wanted_times(self) -> list[int]:
        """Return the times to look up now."""
        return [self._times[index] for index in self._wanted]

    def take(self, index: int, point: OffsetAndTimestamp | None) -> None:
        """Take the response for a wanted time."""
        gap = self._wanted.pop(index)
        found = point or self._end
        until = max(index + 1, min(gap.until, bisect_right(self._times, found.time_ms)))
        self._fill(index, until, found)
        self._narrow(_Gap(gap.since, gap.before, index, found))
        self._narrow(_Gap(until, found, gap.until, gap.after))

    def last(self) -> OffsetAndTimestamp:
        """Return the response for the grid's last time."""
        return OffsetAndTimestamp(int(self.offsets[-1]), int(self.points[-1]))

    def _narrow(self, gap: _Gap) -> None:
        if gap.since >= gap.until:
            return
        between = None if gap.before is None else gap.after.offset - gap.before.offset
        is_last = gap.until == len(self._times)
        if between == 1 or (between == 0 and not is_last):
            self._fill(gap.since, gap.until, gap.after)
        elif between is None or between <= _FEW:
            self._wanted[gap.since] = gap
        else:
            self._wanted[gap.until - 1 if is_last else (gap.since + gap.until) // 2] = gap

    def _fill(self, since: int, until: int, point: OffsetAndTimestamp) -> None:
        self.offsets[since:until] = point.offset
        self.points[since:until] = point.time_ms
        self.known += until - since


def first_time_ms(since_ms: int, step_ms: int) -> int:
    """Return the first time to look up: the first multiple of the step since then, in milliseconds since 1970.

    The run of tomorrow then looks up the same times as the run of today, and finds them in the tables.
    """
    return -(-since_ms // step_ms) * step_ms
