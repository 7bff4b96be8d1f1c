"""The responses of a partition on a grid: those of requests for each time, with far fewer lookups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.admin import OffsetAndTimestamp
from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.facts.time_grid import NEVER_MS, TimeGrid
from tests.pipeline.facts.backfill.backfills import DAY_MS, MINUTE_MS, Row, by_asking_each

KEY = TopicPartition("t", 0)


class Log(NamedTuple):
    """The times of a partition's records, and the offset of the first one."""

    records: Sequence[int]
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.records)

    def find(self, time: int) -> OffsetAndTimestamp:
        places = enumerate(self.records, self.start)
        return OffsetAndTimestamp(*next((place for place in places if place[1] >= time), (self.end, NEVER_MS)))


def grid_of(times: range, log: Log, last: OffsetAndTimestamp | None = None) -> TimeGrid:
    return TimeGrid(times, {KEY: log.end}, {KEY: last or log.find(0)})


def count_lookups(grid: TimeGrid, log: Log) -> int:
    """Add a response for each look-up that the grid requests, and return their number."""
    asked = 0
    while wanted := grid.next_lookups([KEY], 1_000):
        for key in wanted:
            asked += 1
            grid.add_response(KEY, key.time_ms, log.find(key.time_ms))
    return asked


def rows_of(grid: TimeGrid, times: range) -> list[Row]:
    found = grid.to_rows({KEY: OffsetAndTimestamp(0, 0)}, {}, {}, now_ms=10**13).batch
    columns = [
        found[name].cast("int64").to_pylist() for name in ("log_end_offset", "lookup_offset", "lookup_timestamp")
    ]
    return [
        (time, end, offset, None if at is None else at // 1000)
        for time, end, offset, at in zip(times, *columns, strict=True)
    ]


@given(
    records=st.lists(st.integers(0, 300), max_size=60),
    in_order=st.booleans(),
    start=st.integers(0, 9),
    since=st.integers(0, 100),
    steps=st.integers(1, 90),
    step=st.integers(1, 7),
)
def test_a_search_finds_the_response_for_each_time(
    records: list[int], start: int, since: int, steps: int, step: int, *, in_order: bool
) -> None:
    log = Log(sorted(records) if in_order else records, start)
    whole = range(since, since + steps * step, step)
    last: OffsetAndTimestamp | None = None
    asked = 0
    found = []
    for times in (whole[: steps // 2 + 1], whole[steps // 2 + 1 :]):
        if times:
            grid = grid_of(times, log, last)
            asked += count_lookups(grid, log)
            assert grid.count_known() == len(times)
            found += rows_of(grid, times)
            last = grid.last_responses()[KEY]
    assert found == by_asking_each(log.records, start, whole)
    assert asked <= len(whole)


def test_a_quiet_partition_costs_one_look_up_for_a_year_of_minutes() -> None:
    log = Log([5, 6, 10**12])
    times = range(1_000, 1_000 + 365 * 1_440 * MINUTE_MS, MINUTE_MS)
    assert count_lookups(grid_of(times, log), log) == 1


def test_a_few_records_cost_at_most_as_many_look_ups() -> None:
    log = Log([20_000 * number for number in (3, 17, 18, 400, 1_300)])
    times = range(0, DAY_MS // 3, 20_000)
    assert count_lookups(grid_of(times, log), log) <= len(log.records)
