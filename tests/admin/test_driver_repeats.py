"""A driver whose requests are repeated: the first response for a key counts, whichever request it belongs to."""

from __future__ import annotations

from kafka_groups.admin.api_handler import ApiResult, RequestSpec
from kafka_groups.errors import ConnectionFailedError, MalformedResponseError
from kafka_groups.protocol.errors import broker_error
from tests.fakes.silent_handler import driver_of, failures, only, ready


def _repeat(*keys: str, broker: int | None = 1) -> RequestSpec[str]:
    return RequestSpec(broker=broker, keys=keys, connection=1_000, is_repeat=True)


def test_keys_in_flight_are_awaited_until_a_response_has_them() -> None:
    driver = driver_of("a", "b", "c", known=dict.fromkeys("abc", 1))
    first = only(driver.ready(0.0))
    assert driver.awaited(first) == ("a", "b", "c")
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a"), ApiResult(completed={"a": "A"}), 1.1)
    driver.on_response(_repeat("b"), ApiResult(retriable={"b": "loading"}), 1.1)
    assert driver.awaited(first) == ("c",)


def test_the_late_response_to_the_first_request_completes_what_no_repeat_has() -> None:
    driver = driver_of("a", "b", known=dict.fromkeys("ab", 1))
    first = only(driver.ready(0.0))
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a"), ApiResult(completed={"a": "A"}), 1.1)
    driver.on_response(first, ApiResult(completed={"a": "other", "b": "B"}), 1.2)
    assert driver.results().succeeded == {"a": "A", "b": "B"}


def test_a_late_result_ends_the_retry_of_its_key() -> None:
    driver = driver_of("a", "b", known=dict.fromkeys("ab", 1))
    first = only(driver.ready(0.0))
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a", "b"), ApiResult(retriable={"a": "loading", "b": "loading"}), 1.1)
    driver.on_response(first, ApiResult(completed={"a": "A"}), 1.15)
    assert ready(driver, 2.0) == [(1, ("b",))]


def test_a_second_reason_to_retry_a_key_causes_no_second_retry() -> None:
    driver = driver_of("a", known={"a": 1})
    first = only(driver.ready(0.0))
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a"), ApiResult(retriable={"a": "loading"}), 1.1)
    driver.on_response(first, ApiResult(retriable={"a": "loading"}), 1.2)
    driver.on_failure(first, first.keys, ConnectionFailedError("lost"), 1.3)
    assert ready(driver, 9.0) == [(1, ("a",))]


def test_a_late_error_does_not_fail_a_key_that_has_moved_to_another_broker() -> None:
    driver = driver_of("a", known={"a": 1})
    first = only(driver.ready(0.0))
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a"), ApiResult(unmapped={"a": "moved"}), 1.1)
    lookup = only(driver.ready(2.0))
    driver.on_response(lookup, ApiResult(completed={"a": 2}), 2.1)
    assert ready(driver, 2.1) == [(2, ("a",))]
    driver.on_response(first, ApiResult(failed={"a": broker_error(30)}), 2.2)
    driver.on_response(first, ApiResult(unmapped={"a": "moved"}), 2.2)
    driver.on_failure(first, first.keys, MalformedResponseError("garbage"), 2.2)
    driver.on_response(first, ApiResult(), 2.2)
    assert failures(driver) == {}
    assert driver.ready(9.0) == []
    driver.on_response(RequestSpec(broker=2, keys=("a",)), ApiResult(completed={"a": "A"}), 2.3)
    assert driver.results().succeeded == {"a": "A"}


def test_a_late_lookup_does_not_look_up_a_key_twice() -> None:
    driver = driver_of("a", "b")
    first = only(driver.ready(0.0))
    driver.mark_late(first.keys, 1.0)
    driver.on_response(_repeat("a", broker=None), ApiResult(completed={"a": 1}), 1.1)
    assert ready(driver, 1.1) == [(1, ("a",))]
    driver.on_response(first, ApiResult(completed={"a": 2, "b": 2}), 1.2)
    assert ready(driver, 1.2) == [(2, ("b",))]


def test_lookups_that_are_gathered_do_not_wait_for_late_ones() -> None:
    driver = driver_of("a", "b", "c", gather=True)
    lookup = only(driver.ready(0.0))
    driver.on_response(lookup._replace(keys=("a", "b")), ApiResult(completed={"a": 1, "b": 1}), 0.1)
    assert ready(driver, 0.1) == []
    driver.mark_late(("c",), 1.0)
    assert ready(driver, 1.0) == [(1, ("a", "b"))]


def test_a_driver_is_settled_while_only_late_keys_are_unfinished() -> None:
    driver = driver_of("a", "b", "c", known=dict.fromkeys("abc", 1))
    first = only(driver.ready(0.0))
    driver.mark_late(("a", "b"), 1.0)
    assert not driver.is_settled()
    driver.on_response(first._replace(keys=("c",)), ApiResult(completed={"c": "C"}), 1.1)
    assert driver.is_settled()
    driver.on_response(_repeat("a"), ApiResult(failed={"a": broker_error(30)}), 1.2)
    assert (driver.is_settled(), driver.is_complete()) == (True, False)


def test_only_requests_that_read_are_repeatable() -> None:
    change = driver_of("a", "b", known={"a": 1}, idempotent=False)
    assert {spec.broker: change.is_repeatable(spec) for spec in change.ready(0.0)} == {1: False, None: True}
    assert driver_of("a").is_repeatable(RequestSpec(broker=1, keys=("a",)))
