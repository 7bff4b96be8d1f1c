"""Since when a compacted topic still has every record: of what is older, compaction has left the last one of each key.

It leaves holes. So where records lie close together it has not been yet, and where that begins is found by halving, in
all partitions at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

# Records that are looked at in one place, and how many offsets each of them may take: a transaction's mark is one, too.
_RUN: Final = 60
_OFFSETS_A_RECORD: Final = 3
_PARTS: Final = 256  # of a partition: how exactly the place is found
_POLL_S: Final = 0.1


class Tail(NamedTuple):
    """From where on a partition has every record, and that record's time; None if it has none from there on."""

    offset: int
    at_ms: int | None


class _Place(NamedTuple):
    """What lies at an offset: whether records are close together there, and when the first one was written."""

    is_dense: bool
    at_ms: int | None


def find_tails(
    consumer: Consumer,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, Tail]:
    """The tail of each partition, by its number; `ranges` are their first offsets and log ends.

    When the time is over, what is known is told: a tail begins there or earlier. `consumer` is used for nothing else;
    it tells the ends of partitions (`enable.partition.eof`). KafkaException: what brokers refuse.
    """
    until = clock() + timeout_s
    halving = {part: (start, Tail(end, None)) for part, (start, end) in ranges.items() if end > start}
    tails = {part: tail for part, (_, tail) in halving.items()}
    probes = {part: start for part, (start, _) in halving.items()}
    while probes:
        places = _look(consumer, topic, {part: (at, ranges[part][1]) for part, at in probes.items()}, until, clock)
        for part, place in places.items():
            low, tail = halving[part]
            at = probes[part]
            halving[part] = (low, Tail(at, place.at_ms)) if place.is_dense else (at + 1, tail)
            tails[part] = halving[part][1]
        probes = {
            part: (low + tail.offset) // 2
            for part, (low, tail) in halving.items()
            if part in places and tail.offset - low > max(1, (ranges[part][1] - ranges[part][0]) // _PARTS)
        }
    return tails


def _look(
    consumer: Consumer,
    topic: str,
    wanted: Mapping[int, tuple[int, int]],
    until: float,
    clock: Callable[[], float],
) -> dict[int, _Place]:
    """What lies at each partition's offset, as far as its log end; partitions that the time ends for are left out."""
    consumer.assign([TopicPartition(topic, part, at) for part, (at, _) in wanted.items()])
    seen: dict[int, list[tuple[int, int]]] = {part: [] for part in wanted}
    places: dict[int, _Place] = {}
    while len(places) < len(wanted) and clock() < until:
        for message in consumer.consume(_RUN, _POLL_S):
            part = message.partition()
            if part is None or part in places:
                continue
            error = message.error()
            if error is None:
                seen[part].append((message.offset() or 0, message.timestamp()[1]))
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is not None or len(seen[part]) == _RUN:
                places[part] = _judged(seen[part], *wanted[part])
                consumer.incremental_unassign([TopicPartition(topic, part, OFFSET_INVALID)])
    return places


def _judged(records: list[tuple[int, int]], at: int, end: int) -> _Place:
    if not records:
        return _Place(is_dense=False, at_ms=None)
    last = records[-1][0] if len(records) == _RUN else end - 1
    is_dense = len(records) * _OFFSETS_A_RECORD >= last - at + 1
    return _Place(is_dense=is_dense, at_ms=records[0][1])
