"""Records whose times go back in their log, because the clocks of two coordinators of the group differ.

The newest record in the log decides what is known of the group, whatever date its time has.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from kafka_groups.pipeline.build.kernels.group_checkpoint import GroupCheckpoint
from kafka_groups.pipeline.build.kernels.group_days import GroupDay, build_group_days
from tests.pipeline.build.kernels.event_rows import (
    DAY,
    Row,
    at,
    at_time,
    build,
    epoch,
    generation,
    joined,
    number,
    on,
    placed,
    sample,
    split,
)
from tests.pipeline.build.kernels.example_groups import AHEAD_AT_MIDNIGHT, MIDNIGHT
from tests.pipeline.build.kernels.histories import DAYS, history

SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 60))]
WHOLE = range(-DAYS - 2, 2 * DAYS + 3)


def rebalances(days: Sequence[GroupDay], day: int) -> dict[int, tuple[Any, ...]]:
    """Return members before, members that joined and left, and the duration, by generation, of a day."""
    return {row.generation: (row.members_before, row.joined, row.left, row.duration_ms) for row in days[day].rebalances}


def one_by_one(rows: list[Row], days: range) -> list[GroupDay]:
    """Build each day alone, from the state that the day before left and the records until the day after."""
    state = None
    built = list[GroupDay]()
    for day in days:
        dates = {on(day), on(day + 1)}
        events = split([row for row in rows if row["record_time"].date() in dates])
        built += build_group_days(state, events, [number(on(day))])
        state = built[-1].state
    return built


def test_the_newest_generation_in_the_log_holds_after_midnight() -> None:
    days = build(placed(AHEAD_AT_MIDNIGHT["generations"]), (0, 1, 2))

    assert at_time(days, MIDNIGHT - 1) == ("Stable", 3)
    assert at_time(days, MIDNIGHT + 60) == ("Stable", 3)
    assert at_time(days, MIDNIGHT + 700) == ("Stable", 2)
    assert at_time(days, MIDNIGHT + DAY + 60) == ("Stable", 2)


def test_generations_are_compared_with_those_before_them_in_the_log() -> None:
    days = build(placed(AHEAD_AT_MIDNIGHT["generations"]), (0, 1))

    assert rebalances(days, 0)[5][:3] == (1, ("b",), ())
    assert rebalances(days, 0)[6] == (2, ("c",), (), None)
    assert rebalances(days, 1) == {7: (3, (), ("a",), 61_500)}


def test_a_member_whose_leave_has_the_date_of_the_next_day_has_left() -> None:
    days = build(placed(AHEAD_AT_MIDNIGHT["epochs"]), (0, 1))
    membership = GroupCheckpoint.from_json(days[1].state).membership

    assert sorted(membership.members) == ["a", "c"]
    assert at_time(days, MIDNIGHT + 60) == (None, 2)


def test_an_epoch_of_the_next_date_is_a_rebalance_of_that_date() -> None:
    days = build(placed(AHEAD_AT_MIDNIGHT["epochs"]), (0, 1))

    assert rebalances(days, 0) == {1: (0, ("a",), (), 0), 2: (1, ("b",), (), 1_000), 4: (1, ("c",), (), 1_000)}
    assert rebalances(days, 1) == {3: (2, (), ("b",), 0)}


def test_a_rebalance_overtaken_by_an_earlier_clock_took_no_time() -> None:
    rows = [joined(0, "a"), epoch(0, 1), joined(20, "b"), epoch(20, 2), joined(10, "c"), epoch(10, 3)]
    (day,) = build(placed(rows))

    assert [(row.generation, row.duration_quality, row.duration_ms) for row in day.rebalances] == [
        (1, "overtaken", 20_000),
        (3, "open", None),
        (2, "overtaken", 0),
    ]


def test_a_later_record_with_an_earlier_time_ends_the_records_before_it() -> None:
    rows = [generation(0, 1, "a"), generation(30, 2, "a", "b"), generation(20, 3, "a", "b", "c")]
    days = build(placed(rows))

    assert [at_time(days, seconds) for seconds in (10, 25, 40)] == [("Stable", 1), ("Stable", 3), ("Stable", 3)]


def test_a_sampled_state_stays_if_late_records_show_nothing_new() -> None:
    sampled = sample(MIDNIGHT - 1, "PreparingRebalance", "a", "b", "c")
    days = build(placed([*AHEAD_AT_MIDNIGHT["generations"], sampled]), (0, 1))

    assert at_time(days, MIDNIGHT + 1) == ("PreparingRebalance", 3)


def test_dates_order_records_if_clocks_differ_by_more_than_ten_minutes() -> None:
    rows = [generation(0, 1, "a"), generation(MIDNIGHT + 5, 2, "a", "b"), generation(MIDNIGHT - 700, 3, "a", "b", "c")]
    days = build(placed(rows), (0, 1))

    assert at_time(days, MIDNIGHT + 60) == ("Stable", 2)
    assert sorted(row.generation for day in days for row in day.rebalances) == [1, 2, 3]


def test_a_clock_that_is_days_behind_hides_no_records_of_other_days() -> None:
    rows = [generation(day * DAY, day + 1, "a") for day in range(4)]
    rows[2]["record_time"] = at(MIDNIGHT - 2 * DAY - 60)
    days = build(placed(rows), range(-2, 4))

    assert [at_time(days, day * DAY + 60)[0] for day in range(-1, 4)] == ["Stable"] * 5
    assert {row.generation for day in days for row in day.rebalances} == {1, 2, 3, 4}


def ahead(rows: list[Row], rng: Random) -> list[Row]:
    """Return the records with later times in the ten minutes before a midnight, until the coordinator moves."""
    midnight = at(DAY + MIDNIGHT)
    begin = midnight - timedelta(minutes=10)
    before = [row for row in rows if row["origin"] == "topic" and begin < row["record_time"] < midnight]
    if not before:
        return rows
    moved = rng.choice(before)["source_offset"]
    difference = timedelta(seconds=rng.choice((5, 60, 300, 599)))
    return [
        row | {"record_time": row["record_time"] + difference}
        if row["origin"] == "topic" and row["source_offset"] <= moved and row["record_time"] > begin
        else row
        for row in rows
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_ahead_at_midnight_does_not_change_what_is_known_later(seed: int) -> None:
    rows = busy_at_midnight(seed)
    right = [GroupCheckpoint.from_json(day.state) for day in build(rows, WHOLE)]
    shifted = [GroupCheckpoint.from_json(day.state) for day in build(ahead(rows, Random(seed)), WHOLE)]

    assert shifted[-1].membership.members == right[-1].membership.members
    assert shifted[-1].changes == right[-1].changes
    assert shifted[-1].topics == right[-1].topics
    assert number_of(shifted[-1]) == number_of(right[-1])


def number_of(checkpoint: GroupCheckpoint) -> tuple[Any, ...]:
    generation = checkpoint.generation
    return checkpoint.last_position, generation and (generation.number, generation.members)


@pytest.mark.parametrize("seed", SEEDS)
def test_late_records_give_the_same_dates_built_one_by_one(seed: int) -> None:
    rows = ahead(busy_at_midnight(seed), Random(seed))

    assert list(map(described, one_by_one(rows, WHOLE))) == list(map(described, build(rows, WHOLE)))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rebalance_is_lost_because_a_clock_is_ahead(seed: int) -> None:
    """A classic rebalance may have two rows if its generation before is a late record (see `group_days`)."""
    rows = busy_at_midnight(seed)
    right = {(row.group_protocol, row.generation) for day in build(rows, WHOLE) for row in day.rebalances}
    shifted = {
        (row.group_protocol, row.generation)
        for day in build(ahead(rows, Random(seed)), WHOLE)
        for row in day.rebalances
    }

    assert shifted == right


def busy_at_midnight(seed: int) -> list[Row]:
    """Return a random history, moved so that one of its records is written a minute before the second midnight."""
    rows = history(seed)
    rng = Random(seed)
    times = [row["record_time"] for row in rows if row["origin"] == "topic"]
    difference = at(DAY + MIDNIGHT - 60) - rng.choice(times)
    return [
        row | {name: row[name] and row[name] + difference for name in ("record_time", "state_time")} for row in rows
    ]


def described(day: GroupDay) -> tuple[Any, ...]:
    return day.day, day.rebalances, [array.tolist() for array in day.timeline], day.topics, day.state
