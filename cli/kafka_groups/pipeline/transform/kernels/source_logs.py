"""The order of a group's records, if the directory has more than one log of a partition of __consumer_offsets.

A topic that was recreated, and a log that lost its end, use offsets again. Facts have no id of the log, but records are
appended in order of time, up to the difference between the leaders' clocks: so an offset that is not above that of a
record from well before begins another log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import Record

# Clocks of leaders differ by less than this.
_TOLERANCE_US: Final = 60_000_000
_NOTHING: Final = -1


class SourceLog(NamedTuple):
    """The newest log of one source partition, as far as the group's records show it."""

    number: int
    settled: int  # the highest offset that is more than the tolerance older than `highest`
    highest: int
    highest_at: int


def in_log_order(records: Sequence[Record], logs: Mapping[int, SourceLog]) -> tuple[list[Record], dict[int, SourceLog]]:
    """Return the records of a date, which are in order of time, in order of (log, offset), and the logs at its end.

    A group has all its records in one partition: another one is that of another topic, and a log of its own.
    """
    tails = {partition: _Tail(log) for partition, log in logs.items()}
    last = max((log.number for log in logs.values()), default=_NOTHING)
    numbers = []
    for record in records:
        tail = tails.get(record.partition)
        if tail is None or not tail.takes(record):
            last += 1
            tail = tails[record.partition] = _Tail(SourceLog(last, _NOTHING, record.offset, record.time))
        numbers.append(tail.number)
    places = [(number, record.offset, record.time) for number, record in zip(numbers, records, strict=True)]
    order = sorted(range(len(records)), key=places.__getitem__)
    return [records[row] for row in order], {partition: tail.log() for partition, tail in tails.items()}


class _Tail:
    """The highest offset so far, and that of a minute ago."""

    def __init__(self, log: SourceLog) -> None:
        self.number, self._settled = log.number, log.settled
        self._recent = deque([(log.highest_at, log.highest)])

    def takes(self, record: Record) -> bool:
        """Count the record in, unless it belongs to another log."""
        recent = self._recent
        while recent and recent[0][0] < record.time - _TOLERANCE_US:
            self._settled = recent.popleft()[1]
        if record.offset <= self._settled:
            return False
        if not recent or record.offset > recent[-1][1]:
            recent.append((record.time, record.offset))
        return True

    def log(self) -> SourceLog:
        highest_at, highest = self._recent[-1]
        return SourceLog(self.number, self._settled, highest, highest_at)
