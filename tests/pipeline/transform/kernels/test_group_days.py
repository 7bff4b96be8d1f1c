"""Dates of a group: it does not matter which are built together, nor in which order their rows come."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kafka_groups.pipeline.transform.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.transform.kernels.group_state import GroupState
from kafka_groups.pipeline.transform.kernels.memberships import Membership
from tests.pipeline.transform.kernels.histories import DAYS, history
from tests.pipeline.transform.kernels.stories import Row, batch, build, on, sample

WHOLE = range(-1, DAYS + 3)
SEEDS = range(60)


def described(day: GroupDay) -> tuple[Any, ...]:
    line = day.timeline
    states = [line.names[code] for code in line.states]
    arrays = [array.tolist() for array in (line.times, line.member_times, line.members)]
    rest = (line.was_known, day.topics, day.has_no_rebalances, day.state.to_json())
    return day.date, day.rebalances, states, arrays, rest


def of_days(rows: list[Row], *days: int) -> list[Row]:
    return [row for row in rows if row["record_time"].date() in {on(day) for day in days}]


@pytest.mark.parametrize("seed", SEEDS)
def test_dates_built_one_by_one_from_the_state_before_are_those_built_at_once(seed: int) -> None:
    rows = history(seed)
    at_once = build(rows, WHOLE)
    state, one_by_one = GroupState(), []
    for day in WHOLE:
        (built,) = build_group_days(state, batch(of_days(rows, day, day + 1)), [on(day)])
        one_by_one.append(built)
        state = GroupState.from_json(built.state.to_json())
        assert state == built.state

    assert list(map(described, one_by_one)) == list(map(described, at_once))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_in_another_order_and_read_twice_change_nothing(seed: int) -> None:
    rows = history(seed)
    rng = Random(seed)
    other = [*rows, *rng.sample(rows, len(rows) // 2)]
    rng.shuffle(other)

    assert list(map(described, build(other, WHOLE))) == list(map(described, build(rows, WHOLE)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_date_depends_on_nothing_later_and_its_rebalances_on_the_next_date_alone(seed: int) -> None:
    rows = history(seed)
    for whole in build(rows, WHOLE):
        day = (whole.date - on(0)).days
        (early,) = build(of_days(rows, *range(-1, day + 1)), (day,))
        (late,) = build(of_days(rows, *range(-1, day + 2)), (day,))

        assert described(early)[2:] == described(whole)[2:]
        assert described(late) == described(whole)


def test_equal_states_have_equal_lines_in_whatever_order_members_joined() -> None:
    states = [GroupState(membership=Membership(members=dict.fromkeys(names, 1))) for names in ("ab", "ba")]

    assert states[0].to_json() == states[1].to_json()


def test_dates_without_events_have_what_was_known_before() -> None:
    first, later = build([sample(0, "Stable", "a", "b")], (0, 30))

    assert later.state == first.state
    assert (later.timeline.members_max, later.timeline.has_members) == (2, True)


def test_events_between_the_dates_count_too() -> None:
    (day,) = build([sample(-86_400, "Stable", "a", "b")], (0,))

    assert day.timeline.members_max == 2
