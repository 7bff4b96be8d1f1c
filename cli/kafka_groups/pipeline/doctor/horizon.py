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


class _Place(NamedTuple):
    """What lies at an offset: whether records are close together there, and when the first one was written."""

    is_dense: bool
    at_ms: int | None


class _Search(NamedTuple):
    """Of a partition: the first offset that may be the tail's, the tail as it is known, and places to look at."""

    low: int
    tail: Tail
    places: tuple[int, ...]

    @classmethod
    def begun(cls, start: int, end: int) -> _Search:
        """Return a search of places from the end to the start, each once."""
        places = {start + (end - start) * part // _PLACES for part in range(_PLACES)}
        return cls(start, Tail(end, None), tuple(sorted(places, reverse=True)))

    def after(self, at: int, place: _Place, least: int) -> _Search:
        """Return what to search after a look.

        From the end on, all is there down to the first place with gaps; from that one on, it is halved.
        """
        if place.is_dense:
            found = self._replace(tail=Tail(at, place.at_ms), places=self.places[1:])
        else:
            found = self._replace(low=at + 1, places=())
        if found.places or found.tail.offset - found.low <= least:
            return found
        return found._replace(places=((found.low + found.tail.offset) // 2,))


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
    searches = {part: _Search.begun(start, end) for part, (start, end) in ranges.items() if end > start}
    tails: dict[int, Tail] = {}
    wanted = {part: search.places[0] for part, search in searches.items()}
    while wanted and clock() < until:
        look_until = min(until, clock() + timeout_s / _SHARE)
        places = _look(consumer, topic, {part: (at, ranges[part][1]) for part, at in wanted.items()}, look_until, clock)
        for part, place in places.items():
            start, end = ranges[part]
            searches[part] = searches[part].after(wanted[part], place, max(1, (end - start) // _PARTS))
            tails[part] = searches[part].tail
        wanted = {part: searches[part].places[0] for part in places if searches[part].places}
    return tails


def _look(
    consumer: Consumer,
    topic: str,
    wanted: Mapping[int, tuple[int, int]],
    until: float,
    clock: Callable[[], float],
) -> dict[int, _Place]:
    """Return what lies at each partition's offset, as far as its log end.

    Partitions that the time ends for are excluded.
    """
    consumer.assign([TopicPartition(topic, part, at) for part, (at, _) in wanted.items()])
    seen: dict[int, list[tuple[int, int]]] = {part: [] for part in wanted}
    places: dict[int, _Place] = {}
    while len(places) < len(wanted) and clock() < until:
        for message in consumer.consume(_RUN, _POLL_S):
            part = message.partition()
            if part is None or part not in wanted or part in places:
                continue
            error = message.error()
            if error is None:
                seen[part].append((message.offset() or 0, message.timestamp()[1]))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                # The log begins later by now.
                seen[part] = []
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
