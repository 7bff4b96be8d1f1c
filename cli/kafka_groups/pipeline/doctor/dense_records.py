"""Reads of a few records at a place of a log, which show whether compaction has removed records there.

Compaction leaves gaps between the offsets of records. Where records lie close together, it has probably not removed any
yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_groups.pipeline.tables import OFFSETS_TOPIC

# Properties of a consumer that reads a few records of each partition.
COMMITTED_RECORDS: Final[Mapping[str, Any]] = {"fetch.message.max.bytes": 65_536}
ALL_RECORDS: Final[Mapping[str, Any]] = {**COMMITTED_RECORDS, "isolation.level": "read_uncommitted"}
# One probe takes at most this share of the time for a search: a partition that needs longer is not probed again.
PROBE_SHARE: Final = 0.25
# The number of records that are read in one place.
_RECORDS: Final = 60
# Records lie close together if each takes at most this number of offsets: the marker of its transaction takes one, too.
_OFFSETS_PER_RECORD: Final = 3
# An interrupt (Ctrl-C) waits for up to this time.
_POLL_S: Final = 0.1


def read_dense_times(
    consumer: Consumer, ranges: Mapping[int, tuple[int, int]], deadline_s: float, clock: Callable[[], float]
) -> dict[int, int | None]:
    """Return the time of the first record in each range, in ms since 1970; None if its records are not close together.

    A range is an offset of a partition of `__consumer_offsets` and the end of the log. Only its first records are read,
    or all until the end, if they are fewer. Partitions that did not respond until `deadline_s`, on the clock, are
    absent. `consumer` is used for nothing else. Raises KafkaException if brokers refuse to let the topic be read.
    """
    consumer.assign([TopicPartition(OFFSETS_TOPIC, partition, start) for partition, (start, _) in ranges.items()])
    records: dict[int, list[tuple[int, int]]] = {partition: [] for partition in ranges}
    times: dict[int, int | None] = {}
    while len(times) < len(ranges) and clock() < deadline_s:
        for message in consumer.consume(_RECORDS, _POLL_S):
            partition = message.partition()
            if partition is None or partition not in ranges or partition in times:
                continue
            if _is_last(message, records[partition]):
                times[partition] = _time_if_dense(records[partition], *ranges[partition])
                consumer.incremental_unassign([TopicPartition(OFFSETS_TOPIC, partition, OFFSET_INVALID)])
    return times


def _is_last(message: Message, records: list[tuple[int, int]]) -> bool:
    """Add the message to the records of its partition, and return whether no other one is needed.

    A record is its offset and its time in ms since 1970. Raises KafkaException if the message is another error than
    the end of the log.
    """
    error = message.error()
    if error is None:
        records.append((message.offset() or 0, message.timestamp()[1]))
        return len(records) == _RECORDS
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        # The log now begins at a later offset, so the earlier records no longer exist.
        records.clear()
        return True
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    raise KafkaException(error)


def _time_if_dense(records: list[tuple[int, int]], start: int, end: int) -> int | None:
    """Return the time of the first record if the records from `start` on are close together, else None."""
    if not records:
        return None
    last = records[-1][0] if len(records) == _RECORDS else end - 1
    is_dense = last - start + 1 <= len(records) * _OFFSETS_PER_RECORD
    return records[0][1] if is_dense else None
