"""The driver that brings each key to its result, called directly: no sockets, and a clock that is a number."""

from __future__ import annotations

import pytest

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.driver import MIN_KEYS_PER_CONNECTION, ApiDriver, RequestSpec
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
    NameNotResolvedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.errors import broker_error
from tests.fakes.silent_handler import SilentHandler, driver_of, only


def _ready(driver: ApiDriver[str, str], now: float) -> list[tuple[int | None, tuple[str, ...]]]:
    return sorted(((spec.broker, spec.keys) for spec in driver.ready(now)), key=str)


def _failures(driver: ApiDriver[str, str]) -> dict[str, tuple[int | None, str]]:
    return {key: (failure.broker, failure.name) for key, failure in driver.failed.items()}


def test_one_lookup_has_all_keys() -> None:
    assert _ready(driver_of("a", "b", "c"), 0.0) == [(None, ("a", "b", "c"))]


def test_a_key_that_is_passed_twice_is_requested_once() -> None:
    driver = driver_of("a", "b", "a")
    assert _ready(driver, 0.0) == [(None, ("a", "b"))]
    assert driver.key_count() == 2


def test_keys_of_known_brokers_need_no_lookup() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "c": 1})
    assert _ready(driver, 0.0) == [(1, ("a", "c")), (None, ("b",))]


def test_keys_of_one_coordinator_share_a_request() -> None:
    driver = driver_of("a", "b", "c")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"a": 1, "b": 2, "c": 1}), 0.0)
    assert _ready(driver, 0.0) == [(1, ("a", "c")), (2, ("b",))]


def test_keys_of_separate_lookups_that_are_mapped_to_one_broker_share_a_request() -> None:
    driver = driver_of("a", "b")
    lookup = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=None, keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    driver.on_response(RequestSpec(broker=None, keys=("b",)), ApiResult(completed={"b": 1}), 0.0)
    assert lookup.keys == ("a", "b")
    assert _ready(driver, 0.0) == [(1, ("a", "b"))]


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
    assert _ready(driver, 0.0) == [(2, ("b",))]
    assert _ready(driver, 0.1) == [(None, ("a",))]


def test_a_key_refused_at_lookup_fails_alone_and_names_no_broker() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 2}, failed={"a": broker_error(30)}), 0.0)
    assert _failures(driver) == {"a": (None, "GROUP_AUTHORIZATION_FAILED")}
    assert driver.failed["a"].group == "a"
    assert _ready(driver, 0.0) == [(2, ("b",))]


def test_one_response_can_complete_some_keys_and_fail_others_with_different_errors() -> None:
    driver = driver_of("a", "b", "c", "d", known=dict.fromkeys("abcd", 3))
    refused: dict[str, AdminError] = {"a": broker_error(30), "b": broker_error(24), "c": broker_error(25)}
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"d": "D"}, failed=refused), 0.0)
    assert _failures(driver) == {
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
    assert _ready(driver, 0.2) == [(2, ("a",))]
    assert driver.locations == {"a": 2, "b": 1}


def test_gathered_keys_wait_for_the_other_lookups_in_flight_but_not_for_those_that_are_retried() -> None:
    driver = driver_of("a", "b", "c", gather=True)
    lookup = only(driver.ready(0.0))
    driver.on_response(lookup._replace(keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    assert (_ready(driver, 0.0), driver.wakes_at()) == ([], None)
    driver.on_response(lookup._replace(keys=("b",)), ApiResult(retriable={"b": "not available"}), 0.0)
    driver.on_response(lookup._replace(keys=("c",)), ApiResult(completed={"c": 1}), 0.0)
    assert _ready(driver, 0.0) == [(1, ("a", "c"))]
    assert _ready(driver, 1.0) == [(None, ("b",))]


def test_gathered_keys_do_not_wait_for_a_lookup_that_was_lost() -> None:
    driver = driver_of("a", "b", gather=True)
    lookup = only(driver.ready(0.0))
    driver.on_response(lookup._replace(keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    driver.on_failure(lookup, ("b",), ConnectionFailedError("lost"), 0.0)
    assert _ready(driver, 0.0) == [(1, ("a",))]


def test_a_key_with_another_request_is_requested_again_at_once() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(continued={"a"}), 0.0)
    assert _ready(driver, 0.0) == [(1, ("a",))]


@pytest.mark.parametrize(("was_sent", "name"), [(True, "OUTCOME_UNKNOWN"), (False, "TIMEOUT")])
def test_a_change_is_only_sent_again_if_it_was_not_sent(was_sent: bool, name: str) -> None:
    driver = driver_of("a", known={"a": 1}, idempotent=False)
    driver.on_failure(only(driver.ready(0.0)), ("a",), ConnectionFailedError("lost"), 0.0, was_sent=was_sent)
    driver.expire(1.0)
    assert _failures(driver) == {"a": (1, name)}


def test_at_the_deadline_a_change_in_flight_is_unknown_and_one_that_was_given_up_is_not() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 2}, idempotent=False)
    first, second, lookup = sorted(driver.ready(0.0), key=lambda spec: spec.broker or 9)
    assert (first.keys, second.keys, lookup.broker) == (("a",), ("b",), None)
    driver.on_unsent(second, "broker 2 throttles this client", 1.0)
    driver.expire(1.0)
    assert _failures(driver) == {"a": (1, "OUTCOME_UNKNOWN"), "b": (2, "TIMEOUT"), "c": (None, "TIMEOUT")}
    assert driver.failed["b"].message == "it was not sent within 1 s; broker 2 throttles this client"


def test_a_request_to_a_loading_coordinator_is_retried_without_a_lookup() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}, retriable={"a": "loading"}), 0.0)
    assert _ready(driver, 0.1) == [(1, ("a",))]


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


def test_a_key_that_is_missing_from_a_response_fails_alone() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}), 0.0)
    assert _failures(driver) == {"a": (1, "MISSING_FROM_RESPONSE")}
    assert driver.completed == {"b": "B"}


def test_a_key_that_is_missing_from_a_lookup_fails_alone() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 1}), 0.0)
    assert _failures(driver) == {"a": (None, "MISSING_FROM_RESPONSE")}
    assert _ready(driver, 0.0) == [(1, ("b",))]


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
    assert _failures(driver) == {"a": (1, "TIMEOUT")}


def test_the_keys_of_a_broker_whose_name_has_no_address_are_looked_up_again() -> None:
    driver = driver_of("a", known={"a": 1})
    spec = only(driver.ready(0.0))
    driver.on_failure(spec, ("a",), NameNotResolvedError("cannot resolve b1"), 0.0)
    assert _ready(driver, 0.2) == [(None, ("a",))]


@pytest.mark.parametrize("broker", [0, 1])
def test_a_key_without_a_lookup_fails_if_the_name_of_its_broker_has_no_address(broker: int) -> None:
    driver: ApiDriver[str, str] = ApiDriver("a", handler=SilentHandler(), lookup=None, known={"a": broker})
    spec = only(driver.ready(0.0))
    driver.on_failure(spec, ("a",), NameNotResolvedError("cannot resolve b1"), 0.0)
    assert _failures(driver) == {"a": (broker, "NAME_NOT_RESOLVED")}


def test_the_keys_of_a_lost_connection_are_looked_up_again() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_failure(specs[1], ("a",), ConnectionFailedError("closed the connection"), 0.0)
    lookup = only(driver.ready(0.1))
    assert (lookup.broker, lookup.keys) == (None, ("a",))
    driver.on_response(lookup, ApiResult(completed={"a": 3}), 0.1)
    assert _ready(driver, 0.1) == [(3, ("a",))]


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
    assert _failures(driver) == {"a": (1, "CONNECTION_FAILED")}


@pytest.mark.parametrize(
    "error", [UnsupportedVersionError("old"), MalformedResponseError("odd"), AuthenticationFailedError()]
)
def test_an_error_that_is_not_retriable_fails_its_keys_at_once(error: AdminError) -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_failure(specs[1], ("a",), error, 0.0)
    assert _failures(driver) == {"a": (1, error.name)}
    assert driver.wakes_at() is None


def test_a_part_of_a_request_can_fail_while_the_rest_is_completed() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    spec = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=1, keys=("a",)), ApiResult(completed={"a": "A"}), 0.0)
    driver.on_failure(spec, spec.keys, MalformedResponseError("odd"), 0.0)
    assert driver.completed == {"a": "A"}
    assert _failures(driver) == {"b": (1, "MALFORMED_RESPONSE")}


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


def test_without_a_lookup_strategy_unmapped_and_lost_keys_stay_with_their_broker() -> None:
    driver: ApiDriver[str, str] = ApiDriver(
        "ab", handler=SilentHandler(), lookup=None, known={"a": 1, "b": 2}, jitter=lambda: 0.5
    )
    specs = {spec.broker: spec for spec in driver.ready(0.0)}
    driver.on_response(specs[1], ApiResult(unmapped={"a": "not available"}), 0.0)
    driver.on_failure(specs[2], ("b",), ConnectionFailedError("refused"), 0.0)
    assert _ready(driver, 0.1) == [(1, ("a",)), (2, ("b",))]


def test_a_negative_broker_id_stands_for_any_broker_and_is_not_in_the_failure() -> None:
    driver = driver_of("a", known={"a": -1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(failed={"a": broker_error(3)}), 0.0)
    assert _failures(driver) == {"a": (None, "UNKNOWN_TOPIC_OR_PARTITION")}


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


def test_after_a_lost_connection_only_the_first_is_used() -> None:
    keys = [f"g{number}" for number in range(2 * MIN_KEYS_PER_CONNECTION)]
    driver: ApiDriver[str, str] = ApiDriver(
        keys, handler=SilentHandler(), lookup=None, known=dict.fromkeys(keys, 1), connections=2
    )
    for spec in driver.ready(0.0):
        driver.on_failure(spec, spec.keys, ConnectionFailedError("lost"), 0.0)
    assert [(spec.connection, len(spec.keys)) for spec in driver.ready(9.0)] == [(0, len(keys))]
