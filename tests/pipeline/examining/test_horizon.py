"""How far back a compacted topic has every record, found with a few looks at each partition."""

from __future__ import annotations

from bisect import bisect_left
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kafka_groups.pipeline.examining.horizon import Tail, find_tails


class Logs:
    """A consumer of partitions that hold records at these offsets, each written at a thousand times its offset."""

    def __init__(self, records: dict[int, list[int]]) -> None:
        self.assigned = 0
        self.read = 0
        self.refuses: KafkaError | None = None
        self._records = records
        self._left: dict[int, list[int]] = {}

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned += 1
        self._left = {
            each.partition: (all_of_it := self._records[each.partition])[bisect_left(all_of_it, each.offset) :]
            for each in partitions
        }

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            del self._left[each.partition]

    def consume(self, count: int, _timeout: float) -> list[Any]:
        found = []
        for partition, left in self._left.items():
            found += [self._record(partition, offset) for offset in left[:count]]
            del left[:count]
            found += [] if left else [self._end(partition)]
        self.read += len(found)
        return found

    def _end(self, partition: int) -> Any:
        error = self.refuses or KafkaError(KafkaError._PARTITION_EOF)
        return SimpleNamespace(partition=lambda: partition, error=lambda: error)

    @staticmethod
    def _record(partition: int, offset: int) -> Any:
        return SimpleNamespace(
            partition=lambda: partition,
            error=lambda: None,
            offset=lambda: offset,
            timestamp=lambda: (1, offset * 1_000),
        )


def tails(logs: Logs, ranges: dict[int, tuple[int, int]], clock: Any = lambda: 0.0) -> dict[int, Tail]:
    consumer: Any = logs
    return find_tails(consumer, "t", ranges, 5, clock)


def test_a_log_without_holes_has_all_from_its_start() -> None:
    logs = Logs({0: list(range(7, 1_000))})
    assert tails(logs, {0: (7, 1_000)}) == {0: Tail(7, 7_000)}
    assert logs.assigned == 1


@pytest.mark.parametrize("clean", [1_000, 40_000, 99_500])
def test_what_compaction_has_left_is_told_from_what_it_has_not_seen(clean: int) -> None:
    """Of the clean part every 900th record is left; in the other one each third offset is a transaction's mark."""
    dense = [offset for offset in range(clean, 100_000) if offset % 3]
    logs = Logs({0: [*range(0, clean, 900), *dense]})
    found = tails(logs, {0: (0, 100_000)})[0]
    assert clean - 180 <= found.offset <= clean + 400
    assert found.at_ms is not None
    assert 0 <= found.at_ms - found.offset * 1_000 <= 2_000
    assert logs.read < 1_000


def test_partitions_are_looked_at_together_and_an_empty_one_not_at_all() -> None:
    logs = Logs({part: [*range(0, 10_000, 500), *range(10_000, 20_000)] for part in range(50)} | {50: []})
    found = tails(logs, dict.fromkeys(range(50), (0, 20_000)) | {50: (3, 3)})
    assert (len(found), logs.assigned < 12) == (50, True)


def test_a_log_whose_end_is_thinned_too_has_no_tail() -> None:
    assert tails(Logs({0: [5]}), {0: (0, 10_000)}) == {0: Tail(10_000, None)}


def test_when_the_time_is_over_what_is_known_is_told() -> None:
    times = iter([0.0, 0.0, 1.0, 9.0, 9.0, 9.0])
    found = tails(Logs({0: [*range(0, 500, 100), *range(500, 1_000)]}), {0: (0, 1_000)}, lambda: next(times))
    assert found[0].offset in {500, 1_000}


def test_what_brokers_refuse_is_raised() -> None:
    logs = Logs({0: []})
    logs.refuses = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        tails(logs, {0: (0, 10)})
