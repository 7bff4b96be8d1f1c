"""How far back a compacted topic has every record, found with a few looks at each partition."""

from __future__ import annotations

from bisect import bisect_left
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kafka_groups.pipeline.doctor.compaction_horizon import LogHead, check_horizon, find_log_heads


class Logs:
    """A consumer of partitions that hold records at these offsets, each written at a thousand times its offset."""

    def __init__(self, records: dict[int, list[int]]) -> None:
        self.assigned = 0
        self.read = 0
        self.refuses: KafkaError | None = None
        self.begins_at: dict[int, int] = {}
        self.silent: set[int] = set()
        self.seconds = 0.0
        self.seconds_a_look = 0.0
        self._records = records
        self._left: dict[int, list[int]] = {}
        self._gone: set[int] = set()

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned += 1
        self.seconds += self.seconds_a_look
        self._gone = {each.partition for each in partitions if each.offset < self.begins_at.get(each.partition, 0)}
        self._left = {
            each.partition: (all_of_it := self._records[each.partition])[bisect_left(all_of_it, each.offset) :]
            for each in partitions
        }

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            del self._left[each.partition]

    def clock(self) -> float:
        """Return the time in seconds, which each request without a response advances, so that no test waits."""
        return self.seconds

    def consume(self, count: int, timeout: float) -> list[Any]:
        found = []
        for partition, left in self._left.items():
            if partition in self.silent:
                self.seconds += timeout
                continue
            if partition in self._gone:
                found.append(self._end(partition, KafkaError._AUTO_OFFSET_RESET))
                continue
            found += [self._record(partition, offset) for offset in left[:count]]
            del left[:count]
            found += [] if left else [self._end(partition)]
        self.read += len(found)
        return found

    def _end(self, partition: int, code: int = KafkaError._PARTITION_EOF) -> Any:
        error = self.refuses or KafkaError(code)
        return SimpleNamespace(partition=lambda: partition, error=lambda: error)

    @staticmethod
    def _record(partition: int, offset: int) -> Any:
        return SimpleNamespace(
            partition=lambda: partition,
            error=lambda: None,
            offset=lambda: offset,
            timestamp=lambda: (1, offset * 1_000),
        )


def find_heads(logs: Logs, ranges: dict[int, tuple[int, int]], clock: Any = lambda: 0.0) -> dict[int, LogHead]:
    consumer: Any = logs
    return find_log_heads(consumer, ranges, 5, clock)


def test_a_log_without_gaps_has_every_record_from_its_start() -> None:
    logs = Logs({0: list(range(7, 1_000))})
    assert find_heads(logs, {0: (7, 1_000)}) == {0: LogHead(7, 7_000)}
    assert logs.assigned == 16


@pytest.mark.parametrize("clean", [1_000, 40_000, 99_500])
def test_the_head_begins_where_compaction_has_removed_nothing(clean: int) -> None:
    """Of the clean part every 900th record is left; in the other one each third offset is a transaction's mark."""
    dense = [offset for offset in range(clean, 100_000) if offset % 3]
    logs = Logs({0: [*range(0, clean, 900), *dense]})
    found = find_heads(logs, {0: (0, 100_000)})[0]
    assert clean - 180 <= found.offset <= clean + 400
    assert found.time_ms is not None
    assert 0 <= found.time_ms - found.offset * 1_000 <= 2_000
    assert logs.read < 2_000


def test_partitions_are_checked_together_and_an_empty_one_is_not() -> None:
    logs = Logs({part: [*range(0, 10_000, 500), *range(10_000, 20_000)] for part in range(50)} | {50: []})
    found = find_heads(logs, dict.fromkeys(range(50), (0, 20_000)) | {50: (3, 3)})
    assert (len(found), logs.assigned < 25) == (50, True)


def test_a_log_that_is_compacted_until_its_end_has_no_head() -> None:
    assert find_heads(Logs({0: [5]}), {0: (0, 10_000)}) == {0: LogHead(10_000, None)}


def test_records_that_lie_close_together_by_chance_are_not_a_head() -> None:
    """The last commit of a group with sixty partitions, at the start of what compaction has been through."""
    logs = Logs({0: [*range(60), *range(900, 90_000, 900), *range(90_000, 100_000)]})
    assert 89_600 <= find_heads(logs, {0: (0, 100_000)})[0].offset <= 90_400


def test_a_log_whose_start_rises_meanwhile_has_a_gap() -> None:
    logs = Logs({0: list(range(1_000)), 1: list(range(1_000))})
    logs.begins_at = {0: 500}
    found = find_heads(logs, dict.fromkeys(range(2), (0, 1_000)))
    assert (500 <= found[0].offset <= 510, found[1].offset) == (True, 0)


def test_a_partition_that_does_not_respond_takes_no_time_from_others() -> None:
    logs = Logs({0: [], 1: [*range(0, 10_000, 500), *range(10_000, 20_000)]})
    logs.silent = {0}
    found = find_heads(logs, dict.fromkeys(range(2), (0, 20_000)), clock=logs.clock)
    assert (set(found), 9_900 <= found[1].offset <= 10_100) == ({1}, True)
    assert logs.seconds < 5


def test_when_the_time_is_over_the_known_head_is_returned() -> None:
    logs = Logs({0: [*range(0, 8_000, 500), *range(8_000, 16_000)]})
    logs.seconds_a_look = 1.0
    # Four looks from the end, a sixteenth each, and all of them dense.
    assert find_heads(logs, {0: (0, 16_000)}, clock=logs.clock) == {0: LogHead(12_000, 12_000_000)}


def test_a_refusal_of_the_brokers_is_raised() -> None:
    logs = Logs({0: []})
    logs.refuses = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException):
        find_heads(logs, {0: (0, 10)})


@pytest.mark.parametrize(
    ("found", "status", "reported"),
    [
        ({0: LogHead(0, 1_000), 1: LogHead(0, 9_000)}, "ok", "every record is retained"),
        (
            {0: LogHead(0, 1_000), 1: LogHead(7, 9_000)},
            "ok",
            "every record since 1970-01-01T00:00:09Z is retained (partition 1",
        ),
        (
            {0: LogHead(5, 60_000), 1: LogHead(7, 9_000)},
            "ok",
            "every record since 1970-01-01T00:01:00Z is retained (partition 0",
        ),
        ({0: LogHead(5, None), 1: LogHead(7, 9_000)}, "warning", "1 partition (partition 0 is one) may retain only"),
        (
            {1: LogHead(7, 9_000)},
            "warning",
            "1 of 2 partitions with records did not respond in time; give a longer --timeout",
        ),
    ],
)
def test_the_partition_whose_head_begins_last_decides_the_horizon(
    found: dict[int, LogHead], status: str, reported: str
) -> None:
    check = check_horizon(found, 2)
    assert (check.status, check.detail.startswith(reported)) == (status, True)
