"""The records of a range of offsets, in chunks, and the offsets of it that hold none."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_groups.admin.librdkafka import describe_error
from kafka_groups.errors import SourceError, UnreachableError
from kafka_groups.pipeline.facts.decode import decode, gap_rows
from kafka_groups.pipeline.facts.decode.columns import RAW
from kafka_groups.pipeline.facts.source.brokers import is_passing, new_consumer, source_error
from kafka_groups.pipeline.facts.source.plan import LOST_RECORDS, Range
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.settings.librdkafka import ClientProperties

CHUNK: Final = 32_768  # with a queue of 8 MB, a worker that writes files stayed at 298 MiB of its 400
_CHUNK_BYTES: Final = 8 * 2**20  # of records with large values less are as many
# Messages are taken apart, and let go, while the processor's cache still has them: a third of a task's time.
_AT_ONCE: Final = 2_048
# consume() waits for as many as were requested, also behind the last record; it must not wait long if those are few.
_POLL_S: Final = 0.1
_SHORT_POLL_S: Final = 0.02
_FEW: Final = 5_000


class Hole(NamedTuple):
    """Offsets from..until (the last one included), of which `missing` hold no record."""

    from_offset: int
    until_offset: int
    missing: int
    reason: str


def read_rows(
    client: ClientProperties, timeout_s: float, cluster_id: str, ranges: Sequence[Range]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of these ranges, and the gaps between them, as rows of columns.RECORD."""
    with closing(new_consumer(client)) as consumer:
        for wanted in ranges:
            for found in RangeReader(consumer, wanted, client, timeout_s).read():
                if isinstance(found, Hole):
                    at_ms = time.time_ns() // 1_000_000
                    yield gap_rows(cluster_id, wanted.partition, **found._asdict(), at_ms=at_ms)
                else:
                    yield decode(found, cluster_id, wanted.partition)


@dataclass
class RangeReader:
    """Reads one range with a consumer that is used for nothing else meanwhile.

    UnreachableError if nothing comes for so many seconds; SourceError for what brokers refuse, and if the log is
    another one than was read up to the range's start.
    """

    consumer: Consumer
    wanted: Range
    client: ClientProperties = field(repr=False)
    timeout_s: float

    def __post_init__(self) -> None:
        self._next = self._since = self.wanted.start
        self._found = 0  # records from `_since` on
        self._is_done = False
        self._holes: list[Hole] = []
        self._trouble = "nothing came"

    def read(self) -> Iterator[pa.RecordBatch | Hole]:
        """Yield the records in offset order, each data gap behind the records before it."""
        partition, start, end, epoch = self.wanted
        # With an epoch, librdkafka first checks on the leader whether the log is still the one read so far (KIP-320).
        place = TopicPartition(OFFSETS_TOPIC, partition, start, leader_epoch=-1 if epoch is None else epoch)
        self.consumer.assign([place])
        deadline = time.monotonic() + self.timeout_s
        while not self._is_done and self._next < end:
            before = self._next
            if records := self._chunk():
                yield records
            yield from self._holes
            self._holes = []
            if self._next > before:
                deadline = time.monotonic() + self.timeout_s
            elif time.monotonic() > deadline and not self._is_done:
                msg = (
                    f"partition {partition} of __consumer_offsets could not be read from offset {before} to {end}: "
                    f"no record within {self.timeout_s:g} s, {self._trouble}"
                )
                raise UnreachableError(msg)
        self._note_missing(end)
        yield from self._holes

    def _chunk(self) -> pa.RecordBatch | None:
        """Return the next records, as many as fit; None if none came."""
        # The collector would look at tens of thousands of messages repeatedly: a third of the time.
        was_on = gc.isenabled()
        gc.disable()
        try:
            found: list[pa.RecordBatch] = []
            while not self._is_done and (left := CHUNK - sum(map(len, found))) > 0:
                is_large = sum(part["key"].nbytes + part["value"].nbytes for part in found) >= _CHUNK_BYTES
                if is_large or not self._consume(min(_AT_ONCE, left, self.wanted.end - self._next), found):
                    break
            # pyarrow 18 has no concat_batches.
            return pa.Table.from_batches(found).combine_chunks().to_batches()[0] if found else None
        finally:
            if was_on:
                gc.enable()

    def _consume(self, wanted: int, found: list[pa.RecordBatch]) -> bool:
        """Put so many messages behind what was found; whether all came. They are freed when this returns."""
        few = self.wanted.end - self._next <= _FEW
        messages = self.consumer.consume(wanted, _SHORT_POLL_S if few else _POLL_S)
        errors = list(filter(Message.error, messages))
        self._gather([message for message in messages if not message.error()] if errors else messages, found)
        for message in errors:
            self._take_in(message)
        return not errors and len(messages) == wanted

    def _gather(self, messages: list[Message], found: list[pa.RecordBatch]) -> None:
        """Put what the messages hold behind what was found."""
        offsets: list[Any] = list(map(Message.offset, messages))
        if offsets and offsets[-1] >= self.wanted.end - 1:
            self._is_done = True
            # What lies behind the end shows that the last offsets of the range are empty.
            keep = sum(offset < self.wanted.end for offset in offsets)
            messages, offsets = messages[:keep], offsets[:keep]
        if not offsets:
            return
        self._next = offsets[-1] + 1
        self._found += len(offsets)
        times = [stamp for _, stamp in map(Message.timestamp, messages)]
        keys, values = list(map(Message.key, messages)), list(map(Message.value, messages))
        found.append(pa.record_batch([offsets, times, keys, values], schema=RAW))

    def _take_in(self, message: Message) -> None:
        error: Any = message.error()
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            # Short of the end it is a leader that does not yet know how far the records are stable: go on waiting.
            self._is_done = self._is_done or (message.offset() or 0) >= self.wanted.end
            self._trouble = f"the partition ends at {message.offset()}"
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self._pass_over_lost()
        elif is_passing(error):
            self._trouble = describe_error(error, self.client)
        else:
            raise source_error(error, self.client)

    def _pass_over_lost(self) -> None:
        """Go on where the log begins now, if that is behind the requested place."""
        place = TopicPartition(OFFSETS_TOPIC, self.wanted.partition)
        try:
            bounds: Any = self.consumer.get_watermark_offsets(place, timeout=self.timeout_s, cached=False)
        except KafkaException as error:
            raise source_error(error.args[0], self.client) from None
        low, high = bounds
        if low <= self._next:
            what = (
                f"ends at {high}, but was read up to offset {self._next}"
                if high < self._next
                else f"was truncated below offset {self._next} since it was read, and was written again from there"
            )
            msg = f"partition {place.partition} of {OFFSETS_TOPIC} {what}: {LOST_RECORDS}"
            raise SourceError(msg)
        self._note_missing(self._next)
        low = min(low, self.wanted.end)
        self._holes.append(Hole(self._next, low - 1, low - self._next, "deleted"))
        self._next = self._since = low
        self._found = 0
        if low < self.wanted.end:
            self.consumer.assign([TopicPartition(OFFSETS_TOPIC, place.partition, low)])

    def _note_missing(self, until: int) -> None:
        """Note the offsets since the last jump that held no record."""
        if missing := until - self._since - self._found:
            self._holes.append(Hole(self._since, until - 1, missing, "compacted"))
