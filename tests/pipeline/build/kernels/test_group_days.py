"""Dates of a group: it does not matter which are built together, nor in which order their rows come."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kafka_groups.pipeline.build.kernels.group_checkpoint import GroupCheckpoint
from kafka_groups.pipeline.build.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.build.kernels.membership import Membership
from tests.pipeline.build.kernels.event_rows import (
    Row,
    build,
    epoch,
    joined,
    left,
    number,
    on,
    placed,
    removed,
    sample,
    split,
    stable,
)
from tests.pipeline.build.kernels.histories import DAYS, history

WHOLE = range(-1, DAYS + 3)
SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(12, 40))]


def described(day: GroupDay) -> tuple[Any, ...]:
    timeline = [array.tolist() for array in day.timeline]
    return day.day, day.rebalances, timeline, day.topics, day.state


def of_days(rows: list[Row], *days: int) -> list[Row]:
    return [row for row in rows if row["record_time"].date() in {on(day) for day in days}]


@pytest.mark.parametrize("seed", SEEDS)
def test_dates_built_one_by_one_are_those_built_at_once(seed: int) -> None:
    rows = history(seed)
    at_once = build(rows, WHOLE)
    state, one_by_one = None, list[GroupDay]()
    for day in WHOLE:
        one_by_one += build_group_days(state, split(of_days(rows, day, day + 1)), [number(on(day))])
        state = one_by_one[-1].state

    assert list(map(described, one_by_one)) == list(map(described, at_once))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_another_order_and_read_twice_change_nothing(seed: int) -> None:
    rows = history(seed)
    rng = Random(seed)
    other = [*rows, *rng.sample(rows, len(rows) // 2)]
    rng.shuffle(other)

    assert list(map(described, build(other, WHOLE))) == list(map(described, build(rows, WHOLE)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_date_depends_on_nothing_later_and_its_rebalances_on_the_next_date(seed: int) -> None:
    rows = history(seed)
    for whole in build(rows, WHOLE):
        day = whole.day - number(on(0))
        (early,) = build(of_days(rows, *range(-1, day + 1)), (day,))
        (late,) = build(of_days(rows, *range(-1, day + 2)), (day,))

        assert described(early)[2:] == described(whole)[2:]
        assert described(late) == described(whole)


def test_states_are_equal_in_whatever_order_members_joined() -> None:
    states = [build(placed([joined(0, name) for name in names]))[0].state for names in ("ab", "ba")]

    assert states[0] == states[1]


def test_dates_without_events_have_what_was_known_before() -> None:
    first, later = build([sample(0, "Stable", "a", "b")], (0, 30))

    assert later.state == first.state
    assert later.timeline.max_members == 2


def test_events_between_the_dates_count_too() -> None:
    (day,) = build([sample(-86_400, "Stable", "a", "b")], (0,))

    assert day.timeline.max_members == 2


def test_records_whose_times_go_back_stay_in_the_order_of_their_log() -> None:
    """A leader whose clock is half a minute behind: the removal is the last record."""
    rows = [joined(40, "a"), epoch(40, 1), stable(41, 1, "a"), left(15, "a"), epoch(15, 2), removed(16)]
    (day,) = build(placed(rows))

    assert GroupCheckpoint.from_json(day.state).membership == Membership(is_complete=True, departed=[], kept_members=[])
