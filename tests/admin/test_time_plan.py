"""Plans of time: each step has its part of what is left, and what it does not need is left to the next."""

from __future__ import annotations

import pytest

from kafka_groups.admin.api import Deadline, Step, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.descriptions import description_steps
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.selection import Selectors, listing_steps

LAG = (
    steps.LISTING,
    steps.GROUPS,
    steps.ABSENT_GROUPS,
    steps.LOG_ENDS,
    steps.PARTITIONS,
    steps.OTHER_LOG_ENDS,
    steps.LOG_STARTS,
    steps.RECORDS,
)


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def plan_of(*steps: Step, timeout_s: float = 30.0) -> tuple[TimePlan, Clock]:
    """Return a plan of 30 seconds from now on, and its clock."""
    clock = Clock()
    return TimePlan(Deadline.after(timeout_s, clock), steps), clock


def test_steps_that_use_all_of_their_time_end_with_the_deadline() -> None:
    plan, clock = plan_of(*LAG)
    for step in LAG:
        limit = plan.until(step)
        assert limit is not None
        assert limit.at > clock.now + 0.5
        clock.now = limit.at
    assert clock.now == pytest.approx(130.0)


def test_a_late_step_has_more_time_than_halves_of_halves_would_leave_it() -> None:
    plan, clock = plan_of(*LAG)
    for step in LAG[:6]:
        limit = plan.until(step)
        assert limit is not None
        clock.now = limit.at
    limit = plan.until(steps.LOG_STARTS)
    assert limit is not None
    assert limit.at - clock.now == pytest.approx(15 * 2 / 19)


def test_a_slow_step_has_at_least_half_of_what_is_left() -> None:
    plan, clock = plan_of(*LAG, timeout_s=3.0)
    for step in LAG:
        limit = plan.until(step)
        assert limit is not None
        assert limit.at - clock.now >= 1.5


def test_a_step_has_what_the_steps_before_it_did_not_need() -> None:
    plan, clock = plan_of(steps.LISTING, steps.GROUPS, steps.LOG_ENDS)
    clock.now += 2
    limit = plan.until(steps.GROUPS)
    assert limit is not None
    # Of the 15 seconds that are reserved, three tenths are for the log ends.
    assert limit.at == pytest.approx(130 - 15 * 3 / 10)


def test_the_last_step_has_all_that_is_left() -> None:
    plan, _ = plan_of(steps.LISTING, steps.GROUPS)
    assert plan.until(steps.GROUPS) == plan.deadline


def test_a_step_may_go_on_until_the_end_if_it_has_no_result_before() -> None:
    plan, _ = plan_of(steps.LISTING, steps.GROUPS)
    limit = plan.until(steps.LISTING)
    assert limit is not None
    assert limit.end == 130.0


def test_without_a_deadline_no_step_has_one() -> None:
    assert TimePlan().until(steps.GROUPS) is None


def test_a_step_that_was_not_planned_is_an_error() -> None:
    plan, _ = plan_of(steps.LISTING)
    with pytest.raises(ValueError, match="not in tuple"):
        plan.until(steps.GROUPS)


@pytest.mark.parametrize(
    ("selectors", "steps"),
    [
        (Selectors(named=("a",)), ()),
        (Selectors(all_groups=True), (steps.LISTING,)),
        (Selectors(all_groups=True, states=("Empty",)), (steps.LISTING,)),
        (Selectors(named=("a",), states=("Empty",)), (steps.LISTING, steps.UNFILTERED_LISTING)),
    ],
)
def test_groups_are_listed_only_if_the_selectors_need_it(selectors: Selectors, steps: tuple[Step, ...]) -> None:
    assert listing_steps(selectors) == steps


def test_a_description_without_offsets_is_one_step_and_the_search_for_absent_groups() -> None:
    assert description_steps(Details(offsets=False)) == (steps.GROUPS, steps.ABSENT_GROUPS)
    assert description_steps(Details(offsets=True)) == (steps.GROUPS, steps.ABSENT_GROUPS, steps.LOG_ENDS)
