"""When a key is asked about again: a tenth of a second later, doubling to one, and at once after a success."""

from __future__ import annotations

import pytest

from kafka_groups.admin.driver import ApiResult
from tests.fakes.silent_handler import driver_of, only


@pytest.mark.parametrize(("tries", "wait"), [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (6, 1.0), (200, 1.0)])
def test_each_repetition_waits_longer_from_a_tenth_of_a_second_up_to_one(tries: int, wait: float) -> None:
    driver = driver_of("a", known={"a": 1})
    now = 0.0
    for _ in range(tries - 1):
        driver.on_response(only(driver.ready(now)), ApiResult(retriable={"a": "loading"}), now)
        now += 10.0
    driver.on_response(only(driver.ready(now)), ApiResult(retriable={"a": "loading"}), now)
    assert driver.wakes_at() == pytest.approx(now + wait)
    assert driver.ready(now + wait - 0.01) == []
    assert len(driver.ready(now + wait)) == 1


@pytest.mark.parametrize(("jitter", "wait"), [(0.0, 0.08), (0.25, 0.09), (1.0, 0.12)])
def test_a_wait_is_drawn_from_a_fifth_below_to_a_fifth_above(jitter: float, wait: float) -> None:
    driver = driver_of("a", known={"a": 1}, jitter=jitter)
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "loading"}), 0.0)
    assert driver.wakes_at() == pytest.approx(wait)


def test_look_ups_wait_before_they_are_repeated_too() -> None:
    driver = driver_of("a")
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "no coordinator"}), 0.0)
    assert driver.ready(0.05) == []
    assert driver.wakes_at() == pytest.approx(0.1)


def test_nothing_waits_after_a_success() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(5.0)), ApiResult(completed={"a": 1, "b": 2}), 5.0)
    assert len(driver.ready(5.0)) == 2
