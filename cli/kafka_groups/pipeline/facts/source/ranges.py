"""The reader of ranges of offsets: it returns their records in chunks, and their data gaps."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_groups.admin.librdkafka import describe_error
from kafka_groups.errors import SourceError, UnreachableError
from kafka_groups.pipeline.facts.decode.data_gaps import COMPACTED, DELETED, DataGap, gap_row
from kafka_groups.pipeline.facts.decode.records import RawRecords, decode
from kafka_groups.pipeline.facts.source.brokers import is_retriable, new_consumer, source_error
from kafka_groups.pipeline.facts.source.continuity import LOST_RECORDS
from kafka_groups.pipeline.facts.source.range_plan import Range
from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.settings.librdkafka import ClientProperties

# With chunks of this size and a queue of 8 MB, a worker that writes files stayed at 298 MiB of its 400.
CHUNK_RECORDS: Final = 32_768
# Large values fill a chunk with fewer records.
_CHUNK_BYTES: Final = 8 * 2**20
# A batch of this size stays in the processor's cache, which saves a third of a task's time.
_MESSAGES_PER_CALL: Final = 2_048
# `consume` waits until it has the requested number of messages, also after the last record of the partition. With few
# records left that is likely, so the wait is short.
_POLL_S: Final = 0.1
_SHORT_POLL_S: Final = 0.02
_FEW_OFFSETS: Final = 5_000


def read_ranges(
    client: ClientProperties, timeout_s: float, cluster_id: str, ranges: Sequence[Range]
) -> Iterator[pa.RecordBatch]:
    """Yield rows of DecodedRecords for the records of these ranges and for the data gaps in them.

    Each batch has rows of one partition. Rows of a partition ascend by offset. Raises the errors of RangeReader.
    """
    with closing(new_consumer(client, timeout_s)) as consumer:
        for range_ in ranges:
            for chunk_or_gap in RangeReader(consumer, range_, client, timeout_s).read():
                if isinstance(chunk_or_gap, DataGap):
                    now_ms = time.time_ns() // 1_000_000
                    yield gap_row(cluster_id, range_.partition, chunk_or_gap, found_at_ms=now_ms)
                else:
                    yield decode(chunk_or_gap, cluster_id, range_.partition)


@dataclass
class RangeReader:
    """A reader of one range. `read` may be called once; nothing else may use the consumer meanwhile.

    Raises UnreachableError if no record arrives for `timeout_s` seconds. Raises SourceError if brokers refuse a
    request, or if the log differs from the one that was read up to the start of the range.
    """

    consumer: Consumer
    range: Range
    client: ClientProperties = field(repr=False)
    timeout_s: float

    def __post_init__(self) -> None:
        self._next_offset = self.range.start
        # Offsets from here to `_next_offset` without a record are missing. `_record_count_since` counts the records.
        self._uncounted_from = self.range.start
        self._record_count_since = 0
        self._is_complete = False
        self._gaps: list[DataGap] = []
        # The reason why the next record has not come, if librdkafka has reported one.
        self._wait_reason: str | None = None

    def read(self) -> Iterator[pa.RecordBatch | DataGap]:
        """Yield chunks of RawRecords and data gaps in the order of offsets: a gap comes after the records before it."""
        self._assign(self.range.start, self.range.leader_epoch)
        deadline = time.monotonic() + self.timeout_s
        while not self._is_complete and self._next_offset < self.range.end:
            offset_before = self._next_offset
            chunk = self._read_chunk()
            if chunk is not None:
                yield chunk
            yield from self._take_gaps()
            if self._next_offset > offset_before:
                deadline = time.monotonic() + self.timeout_s
            elif time.monotonic() > deadline and not self._is_complete:
                raise self._timeout_error()
        self._note_missing(self.range.end)
        yield from self._take_gaps()

    def _assign(self, offset: int, epoch: int | None = None) -> None:
        """Begin at this offset. With an epoch, librdkafka first checks whether the log is still the same (KIP-320)."""
        leader_epoch = -1 if epoch is None else epoch
        partition = TopicPartition(OFFSETS_TOPIC, self.range.partition, offset, leader_epoch=leader_epoch)
        self.consumer.assign([partition])

    def _timeout_error(self) -> UnreachableError:
        reason = "" if self._wait_reason is None else f" ({self._wait_reason})"
        return UnreachableError(
            f"cannot read partition {self.range.partition} of __consumer_offsets from offset {self._next_offset} to "
            f"{self.range.end}: no record within {self.timeout_s:g} s{reason}; check the brokers, or use a longer "
            "timeout"
        )

    def _read_chunk(self) -> pa.RecordBatch | None:
        """Return the next records as one batch of RawRecords, at most a chunk; None if none came."""
        # The garbage collector would visit tens of thousands of messages repeatedly, which takes a third of the time.
        was_gc_enabled = gc.isenabled()
        gc.disable()
        try:
            batches: list[pa.RecordBatch] = []
            record_count = 0
            size_bytes = 0
            is_more_available = True
            while (
                is_more_available
                and not self._is_complete
                and record_count < CHUNK_RECORDS
                and size_bytes < _CHUNK_BYTES
            ):
                remaining_offsets = min(CHUNK_RECORDS - record_count, self.range.end - self._next_offset)
                batch, is_more_available = self._consume(min(_MESSAGES_PER_CALL, remaining_offsets))
                if batch is not None:
                    batches.append(batch)
                    record_count += batch.num_rows
                    size_bytes += batch["key"].nbytes + batch["value"].nbytes
            # pyarrow 18 has no concat_batches.
            return pa.Table.from_batches(batches).combine_chunks().to_batches()[0] if batches else None
        finally:
            if was_gc_enabled:
                gc.enable()

    def _consume(self, count: int) -> tuple[pa.RecordBatch | None, bool]:
        """Return the records of the next messages, at most `count`, and whether more are likely to be available now.

        The batch is None if there is no record of the range. The messages are freed when this returns.
        """
        is_near_end = self.range.end - self._next_offset <= _FEW_OFFSETS
        messages = self.consumer.consume(count, _SHORT_POLL_S if is_near_end else _POLL_S)
        error_messages = [message for message in messages if message.error()]
        if not error_messages:
            return self._to_batch(messages), len(messages) == count
        batch = self._to_batch([message for message in messages if not message.error()])
        for message in error_messages:
            self._handle_error(message)
        return batch, False

    def _to_batch(self, messages: list[Message]) -> pa.RecordBatch | None:
        """Return the records of messages that are in the range, and move past them; None if there is none."""
        offsets: list[Any] = list(map(Message.offset, messages))
        if offsets and offsets[-1] >= self.range.end - 1:
            self._is_complete = True
            # A record past the range shows that the last offsets of the range have no record.
            count_in_range = sum(offset < self.range.end for offset in offsets)
            messages = messages[:count_in_range]
            offsets = offsets[:count_in_range]
        if not offsets:
            return None
        self._next_offset = offsets[-1] + 1
        self._record_count_since += len(offsets)
        times_ms = [time_ms for _, time_ms in map(Message.timestamp, messages)]
        keys = list(map(Message.key, messages))
        values = list(map(Message.value, messages))
        return pa.record_batch([offsets, times_ms, keys, values], schema=RawRecords.schema())

    def _handle_error(self, message: Message) -> None:
        """Handle a message that is an error: the end of the partition, deleted records, or a problem of a broker.

        Raises SourceError if it does not pass by itself.
        """
        error: Any = message.error()
        error_code = error.code()
        if error_code == KafkaError._PARTITION_EOF:
            # A new leader may not know the last stable offset yet. Before the end of the range, wait for it.
            self._is_complete = self._is_complete or (message.offset() or 0) >= self.range.end
            self._wait_reason = f"the partition ends at {message.offset()}"
        elif error_code == KafkaError._AUTO_OFFSET_RESET:
            self._skip_deleted()
        elif is_retriable(error):
            self._wait_reason = describe_error(error, self.client)
        else:
            raise source_error(error, self.client)

    def _skip_deleted(self) -> None:
        """Continue at the log start offset if it is past the next offset; SourceError if the log is another one."""
        log_start, log_end = self._request_bounds()
        if log_start <= self._next_offset:
            raise self._truncation_error(log_end)
        self._note_missing(self._next_offset)
        next_offset = min(log_start, self.range.end)
        self._gaps.append(DataGap(self._next_offset, next_offset - 1, next_offset - self._next_offset, DELETED))
        self._next_offset = next_offset
        self._uncounted_from = next_offset
        self._record_count_since = 0
        if next_offset < self.range.end:
            self._assign(next_offset)

    def _request_bounds(self) -> tuple[int, int]:
        """Return the log start offset and the log end offset of the partition."""
        partition = TopicPartition(OFFSETS_TOPIC, self.range.partition)
        try:
            bounds: Any = self.consumer.get_watermark_offsets(partition, timeout=self.timeout_s, cached=False)
        except KafkaException as error:
            raise source_error(error.args[0], self.client) from None
        log_start, log_end = bounds
        return log_start, log_end

    def _truncation_error(self, log_end: int) -> SourceError:
        if log_end < self._next_offset:
            state = f"ends at {log_end}, but was read up to offset {self._next_offset}"
        else:
            state = (
                f"was truncated below offset {self._next_offset} since it was read, and was written again from there"
            )
        return SourceError(f"partition {self.range.partition} of {OFFSETS_TOPIC} {state}: {LOST_RECORDS}")

    def _note_missing(self, end: int) -> None:
        """Add a data gap if offsets from `_uncounted_from` to `end` - 1 had no record."""
        missing = end - self._uncounted_from - self._record_count_since
        if missing:
            self._gaps.append(DataGap(self._uncounted_from, end - 1, missing, COMPACTED))

    def _take_gaps(self) -> list[DataGap]:
        """Return the data gaps that were noted since the last call."""
        gaps = self._gaps
        self._gaps = []
        return gaps
