"""Since when a compacted topic still has every record: of what is older, compaction has left the last one of each key.

It leaves gaps, so where records lie close together it has not been yet. Looks at some places of each partition, of all
partitions at once, find the last one with gaps; between that and the next one, halving does. Some records may lie
close together by chance where it has been, so what is found is as good as the looks are many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition

# Records that are looked at in one place, and how many offsets each of them may take: a transaction's mark is one, too.
_RUN: Final = 60
_OFFSETS_A_RECORD: Final = 3
_PLACES: Final = 16  # of each partition, before it is halved
_PARTS: Final = 256  # of a partition: how exactly the place is found
_POLL_S: Final = 0.1
_SHARE: Final = 4  # of the time: a partition that takes more of it for one look is not looked at again


class Tail(NamedTuple):
    """From where on a partition has every record, and that record's time; None if it has none from there on."""

    offset: int
    at_ms: int | None


def find_tails(
    consumer: Consumer,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[int, Tail]:
    """Return the tail of each partition, by its number; `ranges` are their first offsets and log ends.

    Those without a response to a single look are excluded. When the time is over, what is known is returned: a tail
    begins there or earlier. `consumer` is used for nothing else; it reports the ends of partitions
    (`enable.partition.eof`). KafkaException: what brokers refuse.
    """
    until = clock() + timeout_s
    tails: dict[int, Tail] = {}
    lows = {part: start for part, (start, end) in ranges.items() if end > start}
    # Of each partition the places that are left, each once; the last one comes next.
    left = {
        part: sorted({start + (ranges[part][1] - start) * number // _PLACES for number in range(_PLACES)})
        for part, start in lows.items()
    }
    while (wanted := {part: places.pop() for part, places in left.items() if places}) and clock() < until:
        look_until = min(until, clock() + timeout_s / _SHARE)
        seen = _look(consumer, topic, {part: (at, ranges[part][1]) for part, at in wanted.items()}, look_until, clock)
        left = {part: left[part] for part in seen}
        for part, at_ms in seen.items():
            start, end = ranges[part]
            if at_ms is None:
                # From the end on, all is there down to the first place with gaps; from that one on, it is halved.
                lows[part], left[part] = wanted[part] + 1, []
                tails.setdefault(part, Tail(end, None))
            else:
                tails[part] = Tail(wanted[part], at_ms)
            if not left[part] and tails[part].offset - lows[part] > max(1, (end - start) // _PARTS):
                left[part] = [(lows[part] + tails[part].offset) // 2]
    return tails


def _look(
    consumer: Consumer,
    topic: str,
    wanted: Mapping[int, tuple[int, int]],
    until: float,
    clock: Callable[[], float],
) -> dict[int, int | None]:
    """Return the time of the record at each partition's offset, None if records are not close together there.

    A partition is looked at as far as its log end. Partitions that the time ends for are excluded.
    """
    consumer.assign([TopicPartition(topic, part, at) for part, (at, _) in wanted.items()])
    records: dict[int, list[tuple[int, int]]] = {part: [] for part in wanted}
    seen: dict[int, int | None] = {}
    while len(seen) < len(wanted) and clock() < until:
        for message in consumer.consume(_RUN, _POLL_S):
            part = message.partition()
            if part is None or part not in wanted or part in seen:
                continue
            error = message.error()
            if error is None:
                records[part].append((message.offset() or 0, message.timestamp()[1]))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                # The log begins later by now.
                records[part] = []
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is not None or len(records[part]) == _RUN:
                seen[part] = _time_if_dense(records[part], *wanted[part])
                consumer.incremental_unassign([TopicPartition(topic, part, OFFSET_INVALID)])
    return seen


def _time_if_dense(records: list[tuple[int, int]], at: int, end: int) -> int | None:
    last = records[-1][0] if len(records) == _RUN else end - 1
    return records[0][1] if records and len(records) * _OFFSETS_A_RECORD >= last - at + 1 else None
