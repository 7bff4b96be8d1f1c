"""The responses of a partition on a grid: those of requests for each time, with far fewer look-ups."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.admin import OffsetAndTimestamp
from kafka_groups.pipeline.backfills.lookups import NEVER, Search
from tests.pipeline.backfills.backfills import DAY_MS, MINUTE_MS, Row, by_asking_each


def answers(search: Search, records: Sequence[int], start: int, times: range) -> int:
    """Answer all that the search wants to know; how much that was."""
    asked = 0
    while wanted := search.wanted_times():
        for time in wanted:
            asked += 1
            found = next((place for place in enumerate(records, start) if place[1] >= time), None)
            search.take(times.index(time), None if found is None else OffsetAndTimestamp(*found))
    return asked


def of_search(search: Search, times: range) -> list[Row]:
    return [
        (time, int(offset), None, None) if point == NEVER else (time, int(offset), int(offset), int(point))
        for time, offset, point in zip(times, search.offsets, search.points, strict=True)
    ]


@given(
    records=st.lists(st.integers(0, 300), max_size=60),
    in_order=st.booleans(),
    start=st.integers(0, 9),
    since=st.integers(0, 100),
    steps=st.integers(1, 90),
    step=st.integers(1, 7),
)
def test_a_search_finds_what_asking_for_each_time_would(
    records: list[int], start: int, since: int, steps: int, step: int, *, in_order: bool
) -> None:
    records = sorted(records) if in_order else records
    grid = range(since, since + steps * step, step)
    days = [grid[: steps // 2 + 1], grid[steps // 2 + 1 :]]
    last: OffsetAndTimestamp | None = None
    asked = 0
    found = []
    for times in days:
        if times:
            search = Search(times, start + len(records), last)
            asked += answers(search, records, start, times)
            assert search.known == len(times)
            found += of_search(search, times)
            last = search.last()
    assert found == by_asking_each(records, start, grid)
    assert asked <= len(grid)


def test_a_quiet_partition_costs_one_look_up_for_a_year_of_minutes() -> None:
    records = [5, 6, 10**12]
    times = range(1_000, 1_000 + 365 * 1_440 * MINUTE_MS, MINUTE_MS)
    assert answers(Search(times, 3, None), records, 0, times) == 1


def test_a_few_records_cost_hardly_more_look_ups_than_they_are() -> None:
    records = [20_000 * number for number in (3, 17, 18, 400, 1_300)]
    times = range(0, DAY_MS // 3, 20_000)
    assert answers(Search(times, len(records), None), records, 0, times) <= len(records)
