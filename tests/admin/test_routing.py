"""The route of keys to their answers, driven by hand: no sockets, and a clock that is a number."""

from __future__ import annotations

import pytest

from kafka_groups.admin.routing import Ask, Route, Sorted
from kafka_groups.admin.wire.error_codes import broker_error
from kafka_groups.errors import (
    AdminError,
    AuthenticationFailedError,
    BadAnswerError,
    ConnectionFailedError,
    UnsupportedVersionError,
)
from tests.fakes.silent_question import Silent, only, route_of


def _asks(route: Route[str, str], now: float) -> list[tuple[int | None, tuple[str, ...]]]:
    return sorted(((ask.broker, ask.keys) for ask in route.ready(now)), key=str)


def _failures(route: Route[str, str]) -> dict[str, tuple[int | None, str]]:
    return {key: (failure.broker, failure.name) for key, failure in route.failed.items()}


def test_one_look_up_carries_all_keys() -> None:
    assert _asks(route_of("a", "b", "c"), 0.0) == [(None, ("a", "b", "c"))]


def test_a_key_that_was_given_twice_is_asked_about_once() -> None:
    route = route_of("a", "b", "a")
    assert _asks(route, 0.0) == [(None, ("a", "b"))]
    assert route.total() == 2


def test_keys_known_beforehand_need_no_look_up() -> None:
    route = route_of("a", "b", "c", known={"a": 1, "c": 1})
    assert _asks(route, 0.0) == [(1, ("a", "c")), (None, ("b",))]


def test_keys_of_one_coordinator_are_asked_about_in_one_request() -> None:
    route = route_of("a", "b", "c")
    route.sort_in(only(route.ready(0.0)), Sorted(done={"a": 1, "b": 2, "c": 1}), 0.0)
    assert _asks(route, 0.0) == [(1, ("a", "c")), (2, ("b",))]


def test_keys_looked_up_separately_but_found_at_one_broker_share_a_request() -> None:
    route = route_of("a", "b")
    look_up = only(route.ready(0.0))
    route.sort_in(Ask(broker=None, keys=("a",)), Sorted(done={"a": 1}), 0.0)
    route.sort_in(Ask(broker=None, keys=("b",)), Sorted(done={"b": 1}), 0.0)
    assert look_up.keys == ("a", "b")
    assert _asks(route, 0.0) == [(1, ("a", "b"))]


def test_what_is_out_is_not_asked_again() -> None:
    route = route_of("a", known={"a": 1})
    route.ready(0.0)
    assert route.ready(100.0) == []
    assert route.wakes_at() is None


def test_answered_keys_are_found_and_settle_the_route() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 1})
    route.sort_in(only(route.ready(0.0)), Sorted(done={"a": "A", "b": "B"}), 0.0)
    assert route.is_done()
    assert route.answers().found == {"a": "A", "b": "B"}
    assert route.answers().failed == {}


def test_a_key_whose_coordinator_is_not_available_is_looked_up_again_alone() -> None:
    route = route_of("a", "b")
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": 2}, again={"a": "no coordinator"}), 0.0)
    assert _asks(route, 0.0) == [(2, ("b",))]
    assert _asks(route, 0.1) == [(None, ("a",))]


def test_a_key_refused_at_look_up_fails_alone_and_blames_no_broker() -> None:
    route = route_of("a", "b")
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": 2}, failed={"a": broker_error(30)}), 0.0)
    assert _failures(route) == {"a": (None, "GROUP_AUTHORIZATION_FAILED")}
    assert route.failed["a"].group == "a"
    assert _asks(route, 0.0) == [(2, ("b",))]


def test_one_answer_can_fail_its_keys_differently_and_answer_others() -> None:
    route = route_of("a", "b", "c", "d", known=dict.fromkeys("abcd", 3))
    refused: dict[str, AdminError] = {"a": broker_error(30), "b": broker_error(24), "c": broker_error(25)}
    route.sort_in(only(route.ready(0.0)), Sorted(done={"d": "D"}, failed=refused), 0.0)
    assert _failures(route) == {
        "a": (3, "GROUP_AUTHORIZATION_FAILED"),
        "b": (3, "INVALID_GROUP_ID"),
        "c": (3, "UNKNOWN_MEMBER_ID"),
    }
    assert route.found == {"d": "D"}
    assert route.is_done()


def test_only_the_keys_whose_coordinator_moved_go_back_to_look_up() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 1})
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": "B"}, moved={"a": "not coordinator"}), 0.0)
    look_up = only(route.ready(0.1))
    assert (look_up.broker, look_up.keys) == (None, ("a",))
    route.sort_in(look_up, Sorted(done={"a": 2}), 0.2)
    assert _asks(route, 0.2) == [(2, ("a",))]
    assert route.located == {"a": 2, "b": 1}


def test_a_loading_coordinator_is_asked_again_without_a_look_up() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 1})
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": "B"}, again={"a": "loading"}), 0.0)
    assert _asks(route, 0.1) == [(1, ("a",))]


def test_loading_then_moved_then_unavailable_then_answered_takes_its_turns() -> None:
    route = route_of("a", known={"a": 1})
    route.sort_in(only(route.ready(0.0)), Sorted(again={"a": "loading"}), 0.0)
    route.sort_in(only(route.ready(1.0)), Sorted(moved={"a": "not coordinator"}), 1.0)
    look_up = only(route.ready(2.0))
    assert look_up.broker is None
    route.sort_in(look_up, Sorted(again={"a": "not available"}), 2.0)
    route.sort_in(only(route.ready(3.0)), Sorted(done={"a": 2}), 3.0)
    fetch = only(route.ready(3.0))
    assert fetch.broker == 2
    route.sort_in(fetch, Sorted(done={"a": "A"}), 3.0)
    assert route.found == {"a": "A"}


def test_a_key_that_an_answer_lacks_fails_alone() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 1})
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": "B"}), 0.0)
    assert _failures(route) == {"a": (1, "MISSING_FROM_ANSWER")}
    assert route.found == {"b": "B"}


def test_a_key_that_a_look_up_lacks_fails_alone() -> None:
    route = route_of("a", "b")
    route.sort_in(only(route.ready(0.0)), Sorted(done={"b": 1}), 0.0)
    assert _failures(route) == {"a": (None, "MISSING_FROM_ANSWER")}
    assert _asks(route, 0.0) == [(1, ("b",))]


def test_a_key_that_nobody_asked_about_is_no_answer() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 2})
    first, _second = route.ready(0.0)
    route.sort_in(first, Sorted(done={"a": "A", "stranger": "S"}, failed={"other": broker_error(3)}), 0.0)
    assert not route.is_done()
    assert route.answers().found == {"a": "A"}
    assert route.answers().failed == {}


def test_an_answer_that_comes_after_the_deadline_changes_nothing() -> None:
    route = route_of("a", known={"a": 1})
    late = only(route.ready(0.0))
    route.expire(5.0)
    route.sort_in(late, Sorted(done={"a": "A"}), 6.0)
    assert route.answers().found == {}
    assert _failures(route) == {"a": (None, "TIMEOUT")}


def test_a_lost_connection_sends_its_keys_back_to_look_up() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 2})
    asks = {ask.broker: ask for ask in route.ready(0.0)}
    route.lost(asks[1], ("a",), ConnectionFailedError("it closed the connection"), 0.0)
    look_up = only(route.ready(0.1))
    assert (look_up.broker, look_up.keys) == (None, ("a",))
    route.sort_in(look_up, Sorted(done={"a": 3}), 0.1)
    assert _asks(route, 0.1) == [(3, ("a",))]


def test_a_coordinator_that_takes_no_connection_is_given_up_at_the_sixth_time() -> None:
    route = route_of("a", known={"a": 1})
    error = ConnectionFailedError("connection refused")
    for turn in range(5):
        ask = only(route.ready(turn * 10.0))
        assert ask.broker == 1
        route.lost(ask, ask.keys, error, turn * 10.0)
        route.sort_in(only(route.ready(turn * 10.0 + 5)), Sorted(done={"a": 1}), turn * 10.0 + 5)
    assert not route.is_done()
    last = only(route.ready(90.0))
    route.lost(last, last.keys, error, 90.0)
    assert _failures(route) == {"a": (1, "CONNECTION_FAILED")}


@pytest.mark.parametrize("error", [UnsupportedVersionError("old"), BadAnswerError("odd"), AuthenticationFailedError()])
def test_an_error_that_a_repetition_cannot_cure_fails_its_keys_at_once(error: AdminError) -> None:
    route = route_of("a", "b", known={"a": 1, "b": 2})
    asks = {ask.broker: ask for ask in route.ready(0.0)}
    route.lost(asks[1], ("a",), error, 0.0)
    assert _failures(route) == {"a": (1, error.name)}
    assert route.wakes_at() is None


def test_a_part_of_an_ask_can_be_lost_while_the_rest_is_answered() -> None:
    route = route_of("a", "b", known={"a": 1, "b": 1})
    ask = only(route.ready(0.0))
    route.sort_in(Ask(broker=1, keys=("a",)), Sorted(done={"a": "A"}), 0.0)
    route.lost(ask, ask.keys, BadAnswerError("odd"), 0.0)
    assert route.found == {"a": "A"}
    assert _failures(route) == {"b": (1, "BAD_ANSWER")}


def test_at_the_deadline_open_keys_fail_with_what_a_broker_said_last() -> None:
    route = route_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    ask = only(route.ready(0.0))
    route.sort_in(ask, Sorted(done={"c": "C"}, again={"a": "still loading"}, moved={"b": "not coordinator"}), 0.0)
    route.expire(30.0)
    assert route.failed["a"].name == "TIMEOUT"
    assert route.failed["a"].message == "no answer within 30 s; last: still loading"
    assert route.failed["a"].broker == 1
    assert route.failed["b"].message == "no answer within 30 s; last: not coordinator"
    assert route.found == {"c": "C"}


def test_at_the_deadline_a_key_of_which_no_broker_spoke_says_only_how_long_it_waited() -> None:
    route = route_of("a", known={"a": 1})
    route.ready(0.0)
    route.expire(0.500213)
    assert route.failed["a"].message == "no answer within 0.5 s"
    assert route.failed["a"].code is None


def test_without_a_look_up_moved_and_lost_keys_stay_with_their_broker() -> None:
    route: Route[str, str] = Route("ab", question=Silent(), look_up=None, known={"a": 1, "b": 2}, jitter=lambda: 0.5)
    asks = {ask.broker: ask for ask in route.ready(0.0)}
    route.sort_in(asks[1], Sorted(moved={"a": "not available"}), 0.0)
    route.lost(asks[2], ("b",), ConnectionFailedError("refused"), 0.0)
    assert _asks(route, 0.1) == [(1, ("a",)), (2, ("b",))]


def test_a_negative_broker_id_stands_for_any_broker_and_is_not_blamed() -> None:
    route = route_of("a", known={"a": -1})
    route.sort_in(only(route.ready(0.0)), Sorted(failed={"a": broker_error(3)}), 0.0)
    assert _failures(route) == {"a": (None, "UNKNOWN_TOPIC_OR_PARTITION")}


def test_progress_counts_answered_and_failed_keys() -> None:
    route = route_of("a", "b", "c", known={"a": 1, "b": 1, "c": 1})
    outcome: Sorted[str, str] = Sorted(done={"a": "A"}, failed={"b": broker_error(30)}, again={"c": "loading"})
    route.sort_in(only(route.ready(0.0)), outcome, 0.0)
    assert (route.settled(), route.total()) == (2, 3)
    assert not route.is_done()


def test_a_route_without_keys_is_done() -> None:
    route = route_of()
    assert route.is_done()
    assert route.ready(0.0) == []
