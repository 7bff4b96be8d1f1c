"""The logs of a simulated cluster: brokers with clocks, partitions of topics, and `__consumer_offsets`.

Times are true times in ms since FIRST, unless a name says otherwise. A broker stamps records with its own clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

FIRST: Final = datetime(2026, 11, 18, tzinfo=UTC)
DAY_MS: Final = 86_400_000
Row = dict[str, Any]


def moment(ms: float) -> datetime:
    """Return the instant that lies `ms` milliseconds after FIRST."""
    return FIRST + timedelta(milliseconds=ms)


def coordinator_partition(group: str, count: int) -> int:
    """Return the partition of `__consumer_offsets` that has the records of a group, as Java's String.hashCode says."""
    code = 0
    for character in group:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return abs(signed) % count


@dataclass
class Broker:
    """A broker: how far its clock is ahead, and the spans (from, until) in which the sampler cannot reach it."""

    number: int
    clock_ahead_ms: int = 0
    silences: list[tuple[float, float]] = field(default_factory=list)

    def is_silent(self, ms: float) -> bool:
        """Return whether the sampler cannot reach the broker at that time."""
        return any(first <= ms < last for first, last in self.silences)


@dataclass(frozen=True)
class Segment:
    """A span of steady production: from `from_ms` on, `rate` records a second are appended to `first_offset`."""

    from_ms: float
    first_offset: int
    rate: float
    topic_id: str

    def end_at(self, ms: float) -> int:
        """Return the log end offset at a time that is not before the segment."""
        return self.first_offset + int(self.rate * (ms - self.from_ms) / 1_000)


@dataclass
class DataPartition:
    """A partition of a topic: its history as segments, in the order of time, and its log start offset."""

    topic: str
    number: int
    leader: Broker
    segments: list[Segment]
    log_start: int = 0

    def end_at(self, ms: float) -> int:
        """Return the log end offset at the time, which is not before the newest segment."""
        return self.segments[-1].end_at(ms)

    @property
    def topic_id(self) -> str:
        """Return the id of the topic as it is now."""
        return self.segments[-1].topic_id

    def set_rate(self, ms: float, rate: float) -> None:
        """Produce at another rate from now on."""
        self.segments.append(Segment(ms, self.end_at(ms), rate, self.topic_id))

    def recreate(self, ms: float, topic_id: str) -> None:
        """Begin a new log at offset 0 under another topic id."""
        self.segments.append(Segment(ms, 0, self.segments[-1].rate, topic_id))
        self.log_start = 0

    def truncate(self, ms: float, end: int) -> None:
        """Lose the records from `end` on, as after an unclean election of a leader."""
        self.segments.append(Segment(ms, end, self.segments[-1].rate, self.topic_id))
        self.log_start = min(self.log_start, end)

    def produced_at(self, offset: int, before_ms: float) -> float | None:
        """Return when the record at the offset, as it is in the log at `before_ms`, was appended; None if it was not.

        Later segments replace what an earlier one had from their first offset on.
        """
        own = [segment for segment in self.segments if segment.from_ms <= before_ms]
        for index in reversed(range(len(own))):
            segment = own[index]
            if segment.topic_id != own[-1].topic_id:
                return None
            if offset >= segment.first_offset:
                until = own[index + 1].from_ms if index + 1 < len(own) else before_ms
                if offset >= segment.end_at(until):
                    return None
                return segment.from_ms + (offset + 1 - segment.first_offset) * 1_000 / segment.rate
        return None


@dataclass(frozen=True)
class LogRecord:
    """A record of `__consumer_offsets`: its offset, its key, the row that ingest makes of it, and its true time."""

    offset: int
    key: tuple[Any, ...]
    table: str
    row: Row
    true_ms: float
    is_tombstone: bool


@dataclass
class OffsetsPartition:
    """A partition of `__consumer_offsets`, with its leader, and the offset up to which an ingest has read it."""

    number: int
    leader: Broker
    records: list[LogRecord] = field(default_factory=list)
    written: list[LogRecord] = field(default_factory=list)
    next_offset: int = 0
    read_until: int = 0
    moves_ms: list[float] = field(default_factory=list)

    def append(self, ms: float, key: tuple[Any, ...], table: str, row: Row, *, is_tombstone: bool = False) -> None:
        """Append a record; its time is the leader's."""
        at = moment(round(ms) + self.leader.clock_ahead_ms)
        times = {"record_time": at, "commit_time": at} if table == "offset_commits" else {"record_time": at}
        source = {"origin": "topic", "source_partition": self.number, "source_offset": self.next_offset}
        whole = {"cluster_id": "c"} | row | times | source | {"is_tombstone": is_tombstone}
        record = LogRecord(self.next_offset, key, table, whole, ms, is_tombstone)
        self.records.append(record)
        self.written.append(record)
        self.next_offset += 1

    def move_to(self, ms: float, broker: Broker) -> None:
        """Give the partition another leader."""
        if broker is not self.leader:
            self.leader = broker
            self.moves_ms.append(ms)

    def abort(self, count: int) -> None:
        """Leave offsets without a record, as an aborted transaction does."""
        self.next_offset += count

    def compact(self, ms: float, *, until: int, tombstone_age_ms: float) -> None:
        """Keep the newest record of each key below the offset `until`; drop tombstones that are older than the age."""
        newest = {record.key: record.offset for record in self.records if record.offset < until}
        self.records = [
            record
            for record in self.records
            if record.offset >= until
            or (
                newest[record.key] == record.offset
                and not (record.is_tombstone and ms - record.true_ms > tombstone_age_ms)
            )
        ]

    def read(self) -> list[LogRecord]:
        """Return the records that are left from `read_until` to the end, as an ingest reads them."""
        unread = [record for record in self.records if record.offset >= self.read_until]
        self.read_until = self.next_offset
        return unread

    def gaps(self, records: list[LogRecord], first: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of offsets (first, last) from `first` to the log end that no record has."""
        expected = first
        for record in records:
            if record.offset > expected:
                yield expected, record.offset - 1
            expected = record.offset + 1
        if expected < self.next_offset:
            yield expected, self.next_offset - 1
