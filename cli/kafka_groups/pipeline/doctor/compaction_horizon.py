"""The compaction horizon: the time since when `__consumer_offsets` has every record.

Of older records, compaction has kept only the last one of each key. A search reads at some places of each partition,
in all partitions at once, from the end of the log towards its start. The horizon lies between the first place without
all records and the place before it. Halving the distance between the two finds it.
Records may lie close together by chance, so this is an estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.pipeline.doctor.check import OK, WARNING, Check
from kafka_groups.pipeline.doctor.dense_records import LOOK_SHARE, read_dense_times

if TYPE_CHECKING:
    from confluent_kafka import Consumer

# The number of places of each partition that are read before halving.
_PLACES: Final = 16
# Halving ends when the horizon is known to this fraction of a partition's offsets.
_PRECISION: Final = 1 / 256


class LogTail(NamedTuple):
    """The part of a partition that has every record: the first offset, and the time of its record in ms since 1970.

    The time is None if no part has every record; then the offset is the end of the log.
    """

    offset: int
    time_ms: int | None


def find_log_tails(
    consumer: Consumer,
    ranges: Mapping[int, tuple[int, int]],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, LogTail]:
    """Return the tail of each partition, by its number; `ranges` are their log start and log end offsets.

    Partitions that did not respond are absent, and so are empty ones. After `timeout_s` seconds, the search ends with
    what is known: a tail begins at its offset or before it. `consumer` is used for nothing else. Raises
    KafkaException if brokers refuse to let the topic be read.
    """
    deadline_s = clock() + timeout_s
    searches = {partition: _TailSearch(*bounds) for partition, bounds in ranges.items() if bounds[1] > bounds[0]}
    while clock() < deadline_s:
        places = {partition: search.next_place() for partition, search in searches.items()}
        wanted = {
            partition: (place, searches[partition].log_end) for partition, place in places.items() if place is not None
        }
        if not wanted:
            break
        look_deadline_s = min(deadline_s, clock() + timeout_s * LOOK_SHARE)
        times = read_dense_times(consumer, wanted, look_deadline_s, clock)
        for partition, (place, _) in wanted.items():
            if partition in times:
                searches[partition].add_look(place, times[partition])
            else:
                searches[partition].stop()
    return {partition: search.tail for partition, search in searches.items() if search.tail is not None}


class _TailSearch:
    """The search for the tail of one partition, with the results of looks until now.

    `tail` is the longest tail that is known; None before the first look. `_low` is the offset after the last one
    that is known not to belong to the tail. `_places` are the offsets to read at, ascending; the last one is next.
    """

    def __init__(self, log_start: int, log_end: int) -> None:
        self.log_end = log_end
        self.tail: LogTail | None = None
        self._low = log_start
        size = log_end - log_start
        self._places = sorted({log_start + size * number // _PLACES for number in range(_PLACES)})
        self._precision = max(1, int(size * _PRECISION))

    def next_place(self) -> int | None:
        """Return the next offset to look at, and forget it; None at the end of the search."""
        return self._places.pop() if self._places else None

    def add_look(self, place: int, time_ms: int | None) -> None:
        """Add the time of the record at an offset, in ms since 1970; None if compaction has removed records there."""
        if time_ms is None:
            self._low = place + 1
            # Places before this one do not belong to the tail.
            self._places = []
            if self.tail is None:
                self.tail = LogTail(self.log_end, None)
        else:
            self.tail = LogTail(place, time_ms)
        assert self.tail is not None
        if not self._places and self.tail.offset - self._low > self._precision:
            self._places = [(self._low + self.tail.offset) // 2]

    def stop(self) -> None:
        """End the search with what is known."""
        self._places = []


def check_horizon(tails: Mapping[int, LogTail], partitions_with_records: int) -> Check:
    """Return since when all partitions have every record, from their tails, as far as these are known."""
    name = "compaction horizon"
    missing = partitions_with_records - len(tails)
    if missing:
        late = f"{missing} of {partitions_with_records} partitions with records did not respond in time"
        return Check(name, WARNING, f"{late}; give a longer --timeout")
    # A log that has every record from offset 0 on has lost nothing.
    shortened = {partition: tail.time_ms for partition, tail in tails.items() if tail.offset > 0}
    if not shortened:
        return Check(name, OK, "every record is retained, according to a search in some places of the log")
    begin_ms = {partition: time_ms for partition, time_ms in shortened.items() if time_ms is not None}
    without_tail = sorted(shortened.keys() - begin_ms.keys())
    if without_tail:
        plural = "" if len(without_tail) == 1 else "s"
        partitions = f"{len(without_tail)} partition{plural} (partition {without_tail[0]} is one)"
        return Check(name, WARNING, f"{partitions} may retain only the last record of each key")
    last = max(begin_ms, key=begin_ms.__getitem__)
    detail = f"every record since {format_time(begin_ms[last])} is retained (partition {last} begins last)"
    older = "of older records, compaction kept only the last one of each key"
    return Check(name, OK, f"{detail}, according to a search in some places of the log; {older}")


def format_time(time_ms: int) -> str:
    """Return a time in ms since 1970 as ISO-8601 in UTC, to the second."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
