"""The driver of keys to their answers, driven by hand: no sockets, and a clock that is a number."""

from __future__ import annotations

import pytest

from kafka_groups.admin.driver import ApiDriver, ApiResult, RequestSpec
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    ConnectionFailedError,
    MalformedResponseError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.errors import broker_error
from tests.fakes.silent_handler import SilentHandler, driver_of, only


def _asks(driver: ApiDriver[str, str], now: float) -> list[tuple[int | None, tuple[str, ...]]]:
    return sorted(((ask.broker, ask.keys) for ask in driver.ready(now)), key=str)


def _failures(driver: ApiDriver[str, str]) -> dict[str, tuple[int | None, str]]:
    return {key: (failure.broker, failure.name) for key, failure in driver.failed.items()}


def test_one_look_up_carries_all_keys() -> None:
    assert _asks(driver_of("a", "b", "c"), 0.0) == [(None, ("a", "b", "c"))]


def test_a_key_that_was_given_twice_is_asked_about_once() -> None:
    driver = driver_of("a", "b", "a")
    assert _asks(driver, 0.0) == [(None, ("a", "b"))]
    assert driver.key_count() == 2


def test_keys_known_beforehand_need_no_look_up() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "c": 1})
    assert _asks(driver, 0.0) == [(1, ("a", "c")), (None, ("b",))]


def test_keys_of_one_coordinator_are_asked_about_in_one_request() -> None:
    driver = driver_of("a", "b", "c")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"a": 1, "b": 2, "c": 1}), 0.0)
    assert _asks(driver, 0.0) == [(1, ("a", "c")), (2, ("b",))]


def test_keys_looked_up_separately_but_found_at_one_broker_share_a_request() -> None:
    driver = driver_of("a", "b")
    lookup = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=None, keys=("a",)), ApiResult(completed={"a": 1}), 0.0)
    driver.on_response(RequestSpec(broker=None, keys=("b",)), ApiResult(completed={"b": 1}), 0.0)
    assert lookup.keys == ("a", "b")
    assert _asks(driver, 0.0) == [(1, ("a", "b"))]


def test_what_is_out_is_not_asked_again() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.ready(0.0)
    assert driver.ready(100.0) == []
    assert driver.wakes_at() is None


def test_answered_keys_are_found_and_settle_the_route() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"a": "A", "b": "B"}), 0.0)
    assert driver.is_done()
    assert driver.results().succeeded == {"a": "A", "b": "B"}
    assert driver.results().failed == {}


def test_a_key_whose_coordinator_is_not_available_is_looked_up_again_alone() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 2}, retriable={"a": "no coordinator"}), 0.0)
    assert _asks(driver, 0.0) == [(2, ("b",))]
    assert _asks(driver, 0.1) == [(None, ("a",))]


def test_a_key_refused_at_look_up_fails_alone_and_blames_no_broker() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 2}, failed={"a": broker_error(30)}), 0.0)
    assert _failures(driver) == {"a": (None, "GROUP_AUTHORIZATION_FAILED")}
    assert driver.failed["a"].group == "a"
    assert _asks(driver, 0.0) == [(2, ("b",))]


def test_one_answer_can_fail_its_keys_differently_and_answer_others() -> None:
    driver = driver_of("a", "b", "c", "d", known=dict.fromkeys("abcd", 3))
    refused: dict[str, AdminError] = {"a": broker_error(30), "b": broker_error(24), "c": broker_error(25)}
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"d": "D"}, failed=refused), 0.0)
    assert _failures(driver) == {
        "a": (3, "GROUP_AUTHORIZATION_FAILED"),
        "b": (3, "INVALID_GROUP_ID"),
        "c": (3, "UNKNOWN_MEMBER_ID"),
    }
    assert driver.completed == {"d": "D"}
    assert driver.is_done()


def test_only_the_keys_whose_coordinator_moved_go_back_to_look_up() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}, unmapped={"a": "not coordinator"}), 0.0)
    lookup = only(driver.ready(0.1))
    assert (lookup.broker, lookup.keys) == (None, ("a",))
    driver.on_response(lookup, ApiResult(completed={"a": 2}), 0.2)
    assert _asks(driver, 0.2) == [(2, ("a",))]
    assert driver.locations == {"a": 2, "b": 1}


def test_a_loading_coordinator_is_asked_again_without_a_look_up() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}, retriable={"a": "loading"}), 0.0)
    assert _asks(driver, 0.1) == [(1, ("a",))]


def test_loading_then_moved_then_unavailable_then_answered_takes_its_turns() -> None:
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


def test_a_key_that_an_answer_lacks_fails_alone() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": "B"}), 0.0)
    assert _failures(driver) == {"a": (1, "MISSING_FROM_RESPONSE")}
    assert driver.completed == {"b": "B"}


def test_a_key_that_a_look_up_lacks_fails_alone() -> None:
    driver = driver_of("a", "b")
    driver.on_response(only(driver.ready(0.0)), ApiResult(completed={"b": 1}), 0.0)
    assert _failures(driver) == {"a": (None, "MISSING_FROM_RESPONSE")}
    assert _asks(driver, 0.0) == [(1, ("b",))]


def test_a_key_that_nobody_asked_about_is_no_answer() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    first, _second = driver.ready(0.0)
    driver.on_response(first, ApiResult(completed={"a": "A", "stranger": "S"}, failed={"other": broker_error(3)}), 0.0)
    assert not driver.is_done()
    assert driver.results().succeeded == {"a": "A"}
    assert driver.results().failed == {}


def test_an_answer_that_comes_after_the_deadline_changes_nothing() -> None:
    driver = driver_of("a", known={"a": 1})
    late = only(driver.ready(0.0))
    driver.expire(5.0)
    driver.on_response(late, ApiResult(completed={"a": "A"}), 6.0)
    assert driver.results().succeeded == {}
    assert _failures(driver) == {"a": (None, "TIMEOUT")}


def test_a_lost_connection_sends_its_keys_back_to_look_up() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    asks = {ask.broker: ask for ask in driver.ready(0.0)}
    driver.on_failure(asks[1], ("a",), ConnectionFailedError("closed the connection"), 0.0)
    lookup = only(driver.ready(0.1))
    assert (lookup.broker, lookup.keys) == (None, ("a",))
    driver.on_response(lookup, ApiResult(completed={"a": 3}), 0.1)
    assert _asks(driver, 0.1) == [(3, ("a",))]


def test_a_coordinator_that_takes_no_connection_is_given_up_at_the_sixth_time() -> None:
    driver = driver_of("a", known={"a": 1})
    error = ConnectionFailedError("connection refused")
    for turn in range(5):
        ask = only(driver.ready(turn * 10.0))
        assert ask.broker == 1
        driver.on_failure(ask, ask.keys, error, turn * 10.0)
        driver.on_response(only(driver.ready(turn * 10.0 + 5)), ApiResult(completed={"a": 1}), turn * 10.0 + 5)
    assert not driver.is_done()
    last = only(driver.ready(90.0))
    driver.on_failure(last, last.keys, error, 90.0)
    assert _failures(driver) == {"a": (1, "CONNECTION_FAILED")}


@pytest.mark.parametrize(
    "error", [UnsupportedVersionError("old"), MalformedResponseError("odd"), AuthenticationFailedError()]
)
def test_an_error_that_a_repetition_cannot_cure_fails_its_keys_at_once(error: AdminError) -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 2})
    asks = {ask.broker: ask for ask in driver.ready(0.0)}
    driver.on_failure(asks[1], ("a",), error, 0.0)
    assert _failures(driver) == {"a": (1, error.name)}
    assert driver.wakes_at() is None


def test_a_part_of_an_ask_can_be_lost_while_the_rest_is_answered() -> None:
    driver = driver_of("a", "b", known={"a": 1, "b": 1})
    ask = only(driver.ready(0.0))
    driver.on_response(RequestSpec(broker=1, keys=("a",)), ApiResult(completed={"a": "A"}), 0.0)
    driver.on_failure(ask, ask.keys, MalformedResponseError("odd"), 0.0)
    assert driver.completed == {"a": "A"}
    assert _failures(driver) == {"b": (1, "MALFORMED_RESPONSE")}


def test_at_the_deadline_open_keys_fail_with_what_a_broker_said_last() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    ask = only(driver.ready(0.0))
    driver.on_response(
        ask, ApiResult(completed={"c": "C"}, retriable={"a": "still loading"}, unmapped={"b": "not coordinator"}), 0.0
    )
    driver.expire(30.0)
    assert driver.failed["a"].name == "TIMEOUT"
    assert driver.failed["a"].message == "no response within 30 s; last: still loading"
    assert driver.failed["a"].broker == 1
    assert driver.failed["b"].message == "no response within 30 s; last: not coordinator"
    assert driver.completed == {"c": "C"}


def test_at_the_deadline_a_key_of_which_no_broker_spoke_says_only_how_long_it_waited() -> None:
    driver = driver_of("a", known={"a": 1})
    driver.ready(0.0)
    driver.expire(0.500213)
    assert driver.failed["a"].message == "no response within 0.5 s"
    assert driver.failed["a"].code is None


def test_without_a_look_up_moved_and_lost_keys_stay_with_their_broker() -> None:
    driver: ApiDriver[str, str] = ApiDriver(
        "ab", handler=SilentHandler(), lookup=None, known={"a": 1, "b": 2}, jitter=lambda: 0.5
    )
    asks = {ask.broker: ask for ask in driver.ready(0.0)}
    driver.on_response(asks[1], ApiResult(unmapped={"a": "not available"}), 0.0)
    driver.on_failure(asks[2], ("b",), ConnectionFailedError("refused"), 0.0)
    assert _asks(driver, 0.1) == [(1, ("a",)), (2, ("b",))]


def test_a_negative_broker_id_stands_for_any_broker_and_is_not_blamed() -> None:
    driver = driver_of("a", known={"a": -1})
    driver.on_response(only(driver.ready(0.0)), ApiResult(failed={"a": broker_error(3)}), 0.0)
    assert _failures(driver) == {"a": (None, "UNKNOWN_TOPIC_OR_PARTITION")}


def test_progress_counts_answered_and_failed_keys() -> None:
    driver = driver_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    outcome: ApiResult[str, str] = ApiResult(
        completed={"a": "A"}, failed={"b": broker_error(30)}, retriable={"c": "loading"}
    )
    driver.on_response(only(driver.ready(0.0)), outcome, 0.0)
    assert (driver.done_count(), driver.key_count()) == (2, 3)
    assert not driver.is_done()


def test_a_route_without_keys_is_done() -> None:
    driver = driver_of()
    assert driver.is_done()
    assert driver.ready(0.0) == []
