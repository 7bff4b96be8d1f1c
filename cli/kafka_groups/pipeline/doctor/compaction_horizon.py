"""The compaction horizon: the time from which `__consumer_offsets` has every record.

The *head* of a log is its newest part, which has every record. The *tail* is the older part, where compaction has kept
only the last record of each key. The head begins at the horizon.

A search probes a few offsets of each partition, in all partitions at once, from the end of the log towards its start: a
*probe* reads some records from an offset on. The horizon lies between the first offset that is in the tail and the
offset that was probed before it. Halving the distance between the two finds the horizon. Records may lie close together
by chance, so the result is an estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.pipeline.doctor.check import OK, WARNING, Check
from kafka_groups.pipeline.doctor.dense_records import PROBE_SHARE, read_dense_times

if TYPE_CHECKING:
    from confluent_kafka import Consumer

# The number of offsets of each partition that are probed before halving.
_PROBES: Final = 16
# Halving ends when the horizon is known to this fraction of a partition's offsets.
_PRECISION: Final = 1 / 256


class LogHead(NamedTuple):
    """The head of a partition's log: its first offset, and the time of the record there in ms since 1970.

    If compaction has reached the end of the log, the head is empty: the offset is the log end, and the time None.
    """

    offset: int
    time_ms: int | None


def find_log_heads(
    consumer: Consumer,
    ranges: Mapping[int, tuple[int, int]],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, LogHead]:
    """Return the head of each partition, by its number; `ranges` are their log start and log end offsets.

    Partitions that did not respond are absent, and so are empty ones. After `timeout_s` seconds, the search ends with
    what is known: a head begins at the returned offset or before it. `consumer` is used for nothing else. Raises
    KafkaException if brokers refuse to let the topic be read.
    """
    deadline_s = clock() + timeout_s
    searches = {partition: _HeadSearch(*bounds) for partition, bounds in ranges.items() if bounds[1] > bounds[0]}
    while clock() < deadline_s:
        offsets = {partition: search.next_probe_offset() for partition, search in searches.items()}
        wanted = {
            partition: (offset, searches[partition].log_end)
            for partition, offset in offsets.items()
            if offset is not None
        }
        if not wanted:
            break
        probe_deadline_s = min(deadline_s, clock() + timeout_s * PROBE_SHARE)
        times = read_dense_times(consumer, wanted, probe_deadline_s, clock)
        for partition, (offset, _) in wanted.items():
            if partition in times:
                searches[partition].add_probe(offset, times[partition])
            else:
                searches[partition].stop()
    return {partition: search.head for partition, search in searches.items() if search.head is not None}


class _HeadSearch:
    """The search for the head of one partition, with the results of its earlier probes.

    `head` is the longest part of the head that is known; None before the first probe. `_low` is the lowest offset at
    which the head may still begin. `_probe_offsets` are the offsets to probe, ascending; the last one is next.
    """

    def __init__(self, log_start: int, log_end: int) -> None:
        self.log_end = log_end
        self.head: LogHead | None = None
        self._low = log_start
        size = log_end - log_start
        self._probe_offsets = sorted({log_start + size * number // _PROBES for number in range(_PROBES)})
        self._precision = max(1, int(size * _PRECISION))

    def next_probe_offset(self) -> int | None:
        """Remove the next offset to probe from the search, and return it; None at the end of the search."""
        return self._probe_offsets.pop() if self._probe_offsets else None

    def add_probe(self, offset: int, time_ms: int | None) -> None:
        """Add the result of a probe: the time of the record at the offset, in ms since 1970.

        It is None if compaction has removed records there.
        """
        if time_ms is None:
            self._low = offset + 1
            # The offsets before this one are in the tail, too.
            self._probe_offsets = []
            if self.head is None:
                self.head = LogHead(self.log_end, None)
        else:
            self.head = LogHead(offset, time_ms)
        assert self.head is not None
        if not self._probe_offsets and self.head.offset - self._low > self._precision:
            self._probe_offsets = [(self._low + self.head.offset) // 2]

    def stop(self) -> None:
        """End the search with what is known."""
        self._probe_offsets = []


def check_horizon(heads: Mapping[int, LogHead], partitions_with_records: int) -> Check:
    """Return the check of the time from which all partitions have every record; `heads` has the known heads."""
    name = "compaction horizon"
    missing = partitions_with_records - len(heads)
    if missing:
        late = f"{missing} of {partitions_with_records} partitions with records did not respond in time"
        return Check(name, WARNING, f"{late}; give a longer --timeout")
    # A log that has every record from offset 0 on has lost nothing.
    shortened = {partition: head.time_ms for partition, head in heads.items() if head.offset > 0}
    if not shortened:
        return Check(name, OK, "every record is retained, according to a search in some places of the log")
    begin_ms = {partition: time_ms for partition, time_ms in shortened.items() if time_ms is not None}
    without_head = sorted(shortened.keys() - begin_ms.keys())
    if without_head:
        plural = "" if len(without_head) == 1 else "s"
        partitions = f"{len(without_head)} partition{plural} (partition {without_head[0]} is one)"
        return Check(name, WARNING, f"{partitions} may retain only the last record of each key")
    last = max(begin_ms, key=begin_ms.__getitem__)
    detail = f"every record since {format_time(begin_ms[last])} is retained (partition {last} begins last)"
    older = "of older records, compaction kept only the last one of each key"
    return Check(name, OK, f"{detail}, according to a search in some places of the log; {older}")


def format_time(time_ms: int) -> str:
    """Return a time in ms since 1970 as ISO-8601 in UTC, to the second."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
