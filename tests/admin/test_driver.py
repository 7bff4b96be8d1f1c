"""The driver that brings each key to its result, called directly: no sockets, and a clock that is a number."""

from __future__ import annotations

import pytest

from kafka_groups.admin.api_handler import ApiResult, RequestSpec
from kafka_groups.admin.driver import MIN_KEYS_PER_CONNECTION, ApiDriver
from kafka_groups.errors import (
    AdminError,
    ConnectionFailedError,
    MalformedResponseError,
)
from kafka_groups.protocol.errors import broker_error
from tests.fakes.silent_handler import SilentHandler, driver_of, failures, only, ready


def test_one_lookup_has_all_keys() -> None:
    assert ready(driver_of("a", "b", "c"), 0.0) == [(None, ("a", "b", "c"))]


def test_a_key_that_is_passed_twice_is_requested_once() -> None:
    driver = driver_of("a", "b", "a")
    assert ready(driver, 0.0) == [(None, ("a", "b"))]
    assert driver.key_count() == 2


def test_keys_of_known_brokers_need_no_lookup() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "c": 1})
    assert ready(driver, 0.0) == [(1, ("a", "c")), (None, ("b",))]


def test_keys_of_one_coordinator_share_a_request() -> None:
    driver = driver_of("a", "b", "c")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"a": 1, "b": 2, "c": 1}), 0.0)
    assert ready(driver, 0.0) == [(1, ("a", "c")), (2, ("b",))]


def test_keys_of_separate_lookups_that_are_mapped_to_one_broker_share_a_request() -> None:
    driver = driver_of("a", "b")
    lookup = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=None, keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    driver.on_response(RequestSpec(broker=None, keys=("b",)), ApiResult(completed={"b": 1}), 0.0)
    assert lookup.keys == ("a", "b")
    assert ready(driver, 0.0) == [(1, ("a", "b"))]


def test_an_outstanding_request_is_not_sent_again() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.ready(0.0)
    assert driver.ready(100.0) == []
    assert driver.wakes_at() is None


def test_the_driver_is_done_when_all_keys_are_completed() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"a": "A", "b": "B"}), 0.0)
    assert driver.is_complete()
    assert driver.results().succeeded == {"a": "A", "b": "B"}
    assert driver.results().failed == {}


def test_a_key_whose_coordinator_is_not_available_is_looked_up_again_alone() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 2}, retriable={"a": "no coordinator"}), 0.0)
    assert ready(driver, 0.0) == [(2, ("b",))]
    assert ready(driver, 0.1) == [(None, ("a",))]


def test_a_key_refused_at_lookup_fails_alone_and_names_no_broker() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 2}, failed={"a": broker_error(30)}), 0.0)
    assert failures(driver) == {"a": (None, "GROUP_AUTHORIZATION_FAILED")}
    assert driver.failed["a"].group == "a"
    assert ready(driver, 0.0) == [(2, ("b",))]


def test_one_response_can_complete_some_keys_and_fail_others_with_different_errors() -> None:
    driver = driver_of("a", "b", "c", "d", known=dict.fromkeys("abcd", 3))
    refused: dict[str, AdminError] = {"a": broker_error(30), "b": broker_error(24), "c": broker_error(25)}
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"d": "D"}, failed=refused), 0.0)
    assert failures(driver) == {
        "a": (3, "GROUP_AUTHORIZATION_FAILED"),
        "b": (3, "INVALID_GROUP_ID"),
        "c": (3, "UNKNOWN_MEMBER_ID"),
    }
    assert driver.completed == {"d": "D"}
    assert driver.is_complete()


def test_only_the_keys_whose_coordinator_moved_are_looked_up_again() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}, unmapped={"a": "not coordinator"}), 0.0)
    lookup = only(driver.ready(0.1))
    assert (lookup.broker, lookup.keys) == (None, ("a",))
    driver.on_response(lookup, ApiResult(completed={"a": 2}), 0.2)
    assert ready(driver, 0.2) == [(2, ("a",))]
    assert driver.locations == {"a": 2, "b": 1}


def test_gathered_keys_wait_for_the_other_lookups_in_flight_but_not_for_those_that_are_retried() -> None:
    driver = driver_of("a", "b", "c", gather=True)
    lookup = only(driver.ready(0.0))
    driver.on_response(lookup._replace(keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    assert (ready(driver, 0.0), driver.wakes_at()) == ([], None)
    driver.on_response(lookup._replace(keys=("b",)), ApiResult(retriable={"b": "not available"}), 0.0)
    driver.on_response(lookup._replace(keys=("c",)), ApiResult(completed={"c": 1}), 0.0)
    assert ready(driver, 0.0) == [(1, ("a", "c"))]
    assert ready(driver, 1.0) == [(None, ("b",))]


def test_gathered_keys_do_not_wait_for_a_lookup_that_was_lost() -> None:
    driver = driver_of("a", "b", gather=True)
    lookup = only(driver.ready(0.0))
    driver.on_response(lookup._replace(keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    driver.on_failure(lookup, ("b",), ConnectionFailedError("lost"), 0.0)
    assert ready(driver, 0.0) == [(1, ("a",))]


def test_a_key_with_another_request_is_requested_again_at_once() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(continued={"a"}), 0.0)
    assert ready(driver, 0.0) == [(1, ("a",))]


def test_at_the_deadline_a_change_in_flight_is_unknown_and_one_that_was_given_up_is_not() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 2}, idempotent=False)
    first, second, lookup = sorted(driver.ready(0.0), key=lambda spec: spec.broker or 9)
    assert (first.keys, second.keys, lookup.broker) == (("a",), ("b",), None)
    driver.on_unsent(second, "broker 2 throttles this client", 1.0)
    driver.expire(1.0)
    assert failures(driver) == {"a": (1, "OUTCOME_UNKNOWN"), "b": (2, "TIMEOUT"), "c": (None, "TIMEOUT")}
    assert driver.failed["b"].message == "it was not sent within 1 s; broker 2 throttles this client"


def test_a_key_that_is_missing_from_a_response_fails_alone() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}), 0.0)
    assert failures(driver) == {"a": (1, "MISSING_FROM_RESPONSE")}
    assert driver.completed == {"b": "B"}


def test_a_key_that_is_missing_from_a_lookup_fails_alone() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 1}), 0.0)
    assert failures(driver) == {"a": (None, "MISSING_FROM_RESPONSE")}
    assert ready(driver, 0.0) == [(1, ("b",))]


def test_a_key_that_was_not_requested_is_ignored() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    first, _second = driver.ready(0.0)
    driver.on_response(first, ApiResult(completed={"a": "A", "stranger": "S"}, failed={"other": broker_error(3)}), 0.0)
    assert not driver.is_complete()
    assert driver.results().succeeded == {"a": "A"}
    assert driver.results().failed == {}


def test_a_response_after_the_deadline_is_ignored() -> None:
    driver = driver_of("a", known={"a": 1})
    late = only(driver.ready(0.0))
    driver.expire(5.0)
    driver.on_response(late, ApiResult(completed={"a": "A"}), 6.0)
    assert driver.results().succeeded == {}
    assert failures(driver) == {"a": (1, "TIMEOUT")}


def test_a_part_of_a_request_can_fail_while_the_rest_is_completed() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    spec = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=1, keys=("a",)), ApiResult(completed={"a": "A"}), 0.0)
    driver.on_failure(spec, spec.keys, MalformedResponseError("odd"), 0.0)
    assert driver.completed == {"a": "A"}
    assert failures(driver) == {"b": (1, "MALFORMED_RESPONSE")}


def test_at_the_deadline_the_error_of_a_key_has_its_last_error() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    spec = only(driver.ready(0.0))
    driver.on_response(
        spec, ApiResult(completed={"c": "C"}, retriable={"a": "still loading"}, unmapped={"b": "not coordinator"}), 0.0
    )
    driver.expire(30.0)
    assert driver.failed["a"].name == "TIMEOUT"
    assert driver.failed["a"].message == "no response within 30 s; last: still loading"
    assert driver.failed["a"].broker == 1
    assert driver.failed["b"].message == "no response within 30 s; last: not coordinator"
    assert driver.completed == {"c": "C"}


def test_at_the_deadline_of_a_retry_the_error_has_the_delay_and_the_last_error() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(retriable={"a": "still loading"}), 0.0)
    driver.expire(30.0, {1: "broker 1 has sent nothing for 29 s"}.get)
    assert driver.failed["a"].message == (
        "no response within 30 s; broker 1 has sent nothing for 29 s; last: still loading"
    )


def test_at_the_deadline_the_error_of_a_key_without_a_response_has_only_the_timeout() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.ready(0.0)
    driver.expire(0.500213)
    assert driver.failed["a"].message == "no response within 0.5 s"
    assert driver.failed["a"].code is None


def test_a_negative_broker_id_stands_for_any_broker_and_is_not_in_the_failure() -> None:
    driver = driver_of("a", known={"a": -1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(failed={"a": broker_error(3)}), 0.0)
    assert failures(driver) == {"a": (None, "UNKNOWN_TOPIC_OR_PARTITION")}


def test_progress_counts_completed_and_failed_keys() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    result: ApiResult[str, str] = ApiResult(
        completed={"a": "A"}, failed={"b": broker_error(30)}, retriable={"c": "loading"}
    )
    driver.on_response(only(driver.ready(0.0)), result, 0.0)
    assert (driver.finished_count(), driver.key_count()) == (2, 3)
    assert not driver.is_complete()


def test_a_driver_without_keys_is_done() -> None:
    driver = driver_of()
    assert driver.is_complete()
    assert driver.ready(0.0) == []


def _spread(count: int, connections: int) -> list[tuple[int, int]]:
    keys = [f"g{number:02}" for number in range(count)]
    driver: ApiDriver[str, str] = ApiDriver(
        keys, handler=SilentHandler(), lookup=None, known=dict.fromkeys(keys, 1), connections=connections
    )
    specs = driver.ready(0.0)
    assert sorted(key for spec in specs for key in spec.keys) == keys
    return [(spec.connection, len(spec.keys)) for spec in specs]


@pytest.mark.parametrize(
    ("count", "connections", "sizes"),
    [
        (1, 8, [1]),
        (MIN_KEYS_PER_CONNECTION * 2 - 1, 8, [MIN_KEYS_PER_CONNECTION * 2 - 1]),
        (MIN_KEYS_PER_CONNECTION * 2, 8, [MIN_KEYS_PER_CONNECTION] * 2),
        (99, 3, [33, 33, 33]),
        (99, 1, [99]),
    ],
)
def test_many_keys_of_a_broker_are_spread_over_its_connections(count: int, connections: int, sizes: list[int]) -> None:
    assert _spread(count, connections) == list(enumerate(sizes))
