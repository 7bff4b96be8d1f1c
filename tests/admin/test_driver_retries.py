"""When the driver sends a request again, after which backoff, and when it gives up."""

from __future__ import annotations

import pytest

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.driver import MIN_KEYS_PER_CONNECTION, ApiDriver
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
    NameNotResolvedError,
    UnsupportedVersionError,
)
from tests.fakes.silent_handler import SilentHandler, driver_of, failures, only, ready


@pytest.mark.parametrize(("was_sent", "name"), [(True, "OUTCOME_UNKNOWN"), (False, "TIMEOUT")])
def test_a_change_is_only_sent_again_if_it_was_not_sent(was_sent: bool, name: str) -> None:
    driver = driver_of("a", known={"a": 1}, idempotent=False)
    driver.on_failure(only(driver.ready(0.0)), ("a",), ConnectionFailedError("lost"), 0.0, was_sent=was_sent)
    driver.expire(1.0)
    assert failures(driver) == {"a": (1, name)}


def test_a_request_to_a_loading_coordinator_is_retried_without_a_lookup() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}, retriable={"a": "loading"}), 0.0)
    assert ready(driver, 0.1) == [(1, ("a",))]


def test_a_key_is_retried_then_looked_up_then_completed() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "loading"}), 0.0)
    driver.on_response(only(driver.ready(1.0)), ApiResult(unmapped={"a": "not coordinator"}), 1.0)
    lookup = only(driver.ready(2.0))
    assert lookup.broker is None
    driver.on_response(lookup, ApiResult(retriable={"a": "not available"}), 2.0)
    driver.on_response(only(driver.ready(3.0)), ApiResult(completed={"a": 2}), 3.0)
    fetch = only(driver.ready(3.0))
    assert fetch.broker == 2
    driver.on_response(fetch, ApiResult(completed={"a": "A"}), 3.0)
    assert driver.completed == {"a": "A"}


def test_the_keys_of_a_broker_whose_name_has_no_address_are_looked_up_again() -> None:
    driver = driver_of("a", known={"a": 1})
    spec = only(driver.ready(0.0))
    driver.on_failure(spec, ("a",), NameNotResolvedError("cannot resolve b1"), 0.0)
    assert ready(driver, 0.2) == [(None, ("a",))]


@pytest.mark.parametrize("broker", [0, 1])
def test_a_key_without_a_lookup_fails_if_the_name_of_its_broker_has_no_address(broker: int) -> None:
    driver: ApiDriver[str, str] = ApiDriver("a", handler=SilentHandler(), lookup=None, known={"a": broker})
    spec = only(driver.ready(0.0))
    driver.on_failure(spec, ("a",), NameNotResolvedError("cannot resolve b1"), 0.0)
    assert failures(driver) == {"a": (broker, "NAME_NOT_RESOLVED")}


def test_the_keys_of_a_lost_connection_are_looked_up_again() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_failure(specs[1], ("a",), ConnectionFailedError("closed the connection"), 0.0)
    lookup = only(driver.ready(0.1))
    assert (lookup.broker, lookup.keys) == (None, ("a",))
    driver.on_response(lookup, ApiResult(completed={"a": 3}), 0.1)
    assert ready(driver, 0.1) == [(3, ("a",))]


def test_a_key_fails_at_the_sixth_lost_connection() -> None:
    driver = driver_of("a", known={"a": 1})
    error = ConnectionFailedError("connection refused")
    for attempt in range(5):
        spec = only(driver.ready(attempt * 10.0))
        assert spec.broker == 1
        driver.on_failure(spec, spec.keys, error, attempt * 10.0)
        driver.on_response(only(driver.ready(attempt * 10.0 + 5)), ApiResult(completed={"a": 1}), attempt * 10.0 + 5)
    assert not driver.is_complete()
    last = only(driver.ready(90.0))
    driver.on_failure(last, last.keys, error, 90.0)
    assert failures(driver) == {"a": (1, "CONNECTION_FAILED")}


@pytest.mark.parametrize(
    "error", [UnsupportedVersionError("old"), MalformedResponseError("odd"), AuthenticationFailedError()]
)
def test_an_error_that_is_not_retriable_fails_its_keys_at_once(error: AdminError) -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_failure(specs[1], ("a",), error, 0.0)
    assert failures(driver) == {"a": (1, error.name)}
    assert driver.wakes_at() is None


def test_without_a_lookup_strategy_unmapped_and_lost_keys_stay_with_their_broker() -> None:
    driver: ApiDriver[str, str] = ApiDriver(
        "ab", handler=SilentHandler(), lookup=None, known={"a": 1, "b": 2}, jitter=lambda: 0.5
    )
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_response(specs[1], ApiResult(unmapped={"a": "not available"}), 0.0)
    driver.on_failure(specs[2], ("b",), ConnectionFailedError("refused"), 0.0)
    assert ready(driver, 0.1) == [(1, ("a",)), (2, ("b",))]


@pytest.mark.parametrize(
    ("retries", "backoff"), [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (6, 1.0), (200, 1.0)]
)
def test_the_backoff_doubles_with_each_retry_from_a_tenth_of_a_second_up_to_one(retries: int, backoff: float) -> None:
    driver = driver_of("a", known={"a": 1})
    now = 0.0
    for _ in range(retries - 1):
        driver.on_response(only(driver.ready(now)), ApiResult(retriable={"a": "loading"}), now)
        now += 10.0
    driver.on_response(only(driver.ready(now)), ApiResult(retriable={"a": "loading"}), now)
    assert driver.wakes_at() == pytest.approx(now + backoff)
    assert driver.ready(now + backoff - 0.01) == []
    assert len(driver.ready(now + backoff)) == 1


@pytest.mark.parametrize(("jitter", "backoff"), [(0.0, 0.08), (0.25, 0.09), (1.0, 0.12)])
def test_the_jitter_changes_the_backoff_by_at_most_a_fifth(jitter: float, backoff: float) -> None:
    driver = driver_of("a", known={"a": 1}, jitter=jitter)
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "loading"}), 0.0)
    assert driver.wakes_at() == pytest.approx(backoff)


def test_a_lookup_is_retried_after_a_backoff() -> None:
    driver = driver_of("a")
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "no coordinator"}), 0.0)
    assert driver.ready(0.05) == []
    assert driver.wakes_at() == pytest.approx(0.1)


def test_after_a_lookup_requests_are_ready_without_a_backoff() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(5.0)), ApiResult(completed={"a": 1, "b": 2}), 5.0)
    assert len(driver.ready(5.0)) == 2


def test_after_a_lost_connection_only_the_first_is_used() -> None:
    keys = [f"g{number}" for number in range(2 * MIN_KEYS_PER_CONNECTION)]
    driver: ApiDriver[str, str] = ApiDriver(
        keys, handler=SilentHandler(), lookup=None, known=dict.fromkeys(keys, 1), connections=2
    )
    for spec in driver.ready(0.0):
        driver.on_failure(spec, spec.keys, ConnectionFailedError("lost"), 0.0)
    assert [(spec.connection, len(spec.keys)) for spec in driver.ready(9.0)] == [(0, len(keys))]
