"""The order of records of which the directory has two logs."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.pipeline.transform.kernels.group_days import GroupDay
from tests.pipeline.transform.kernels.stories import (
    DAY,
    Row,
    build,
    epoch,
    generation,
    joined,
    left,
    placed,
    removed,
    stable,
)

# Two members join a group; the second life has one of them, and is emptied.
BEFORE = [
    *(joined(0, "a"), epoch(0, 1), stable(1, 1, "a"), joined(100, "b"), epoch(100, 2), stable(101, 2, "b")),
    *(stable(130, 2, "a"), left(300, "a"), left(300, "b"), epoch(300, 3), removed(400)),
]
AFTER = [
    *(joined(430, "c"), epoch(430, 1), stable(431, 1, "c"), joined(500, "d"), epoch(500, 2), stable(501, 2, "d")),
    *(stable(520, 2, "c"), left(600, "d"), epoch(600, 3), stable(601, 3, "c")),
]
CLASSIC = [generation(0, 1, "a"), generation(100, 2, "a", "b"), generation(200, 3, "b")]
CLASSIC_AFTER = [generation(300, 1, "c"), generation(400, 2, "c", "d"), generation(500, 3)]


def result(rows: list[Row], days: tuple[int, ...] = (0, 1)) -> list[Any]:
    return [described(day) for day in build(rows, days)]


def described(day: GroupDay) -> tuple[Any, ...]:
    line = day.timeline
    arrays = [array.tolist() for array in (line.times, line.states, line.member_times, line.members)]
    return day.rebalances, arrays, line.names, day.topics, day.state._replace(logs={}).to_json()


def moved(rows: list[Row], seconds: float) -> list[Row]:
    from datetime import timedelta

    shifts = ("record_time", "state_time")
    return [row | {n: row[n] and row[n] + timedelta(seconds=seconds) for n in shifts} for row in rows]


@pytest.mark.parametrize("late_s", [0, DAY / 2 - 500, DAY])
@pytest.mark.parametrize(("before", "after"), [(BEFORE, AFTER), (CLASSIC, CLASSIC_AFTER)])
def test_a_recreated_topic_gives_what_the_same_records_give_in_one_log(
    before: list[Row], after: list[Row], late_s: float
) -> None:
    after = moved(after, late_s)

    assert result([*placed(before), *placed(after)]) == result(placed([*before, *after]))


def test_a_topic_recreated_with_other_partitions_is_another_log() -> None:
    rows = [*placed(BEFORE), *(row | {"source_partition": 7} for row in placed(AFTER))]

    assert result(rows) == result(placed([*BEFORE, *AFTER]))


@pytest.mark.parametrize("first", [1, 2])
def test_a_log_that_lost_its_end_gives_what_the_same_records_give_in_one_log(first: int) -> None:
    """The last records were lost, and others have their offsets."""
    after = moved(CLASSIC_AFTER, 100)
    again = [row | {"source_offset": first + place} for place, row in enumerate(after)]

    assert result([*placed(CLASSIC), *again]) == result(placed([*CLASSIC, *after]))
    assert [log.number for log in build([*placed(CLASSIC), *again])[0].state.logs.values()] == [1]


def test_records_of_one_log_whose_times_go_back_stay_in_its_order() -> None:
    """A leader whose clock is half a minute behind: the removal is the last record."""
    rows = placed([joined(40, "a"), epoch(40, 1), stable(41, 1, "a"), left(15, "a"), epoch(15, 2), removed(16)])
    (day,) = build(rows)

    assert [log.number for log in day.state.logs.values()] == [0]
    assert day.state.membership.life == 1
    assert not day.state.membership.members


def test_the_highest_offset_of_the_date_before_shows_that_the_topic_was_recreated() -> None:
    today, tomorrow = build([*placed(CLASSIC), *placed(moved(CLASSIC_AFTER, DAY))], (0, 1))

    assert [log.number for log in today.state.logs.values()] == [0]
    assert [log.number for log in tomorrow.state.logs.values()] == [1]
