"""The transitions of a key, a line each: a driver brings a key into a state, and an event happens to it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.admin.api_handler import ApiResult, RequestSpec
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.key_records import ImpossibleTransitionError, KeyRecord
from kafka_groups.admin.key_states import OUTCOMES, TRANSITIONS, Event, State
from kafka_groups.errors import ConnectionFailedError, OutcomeUnknownError
from kafka_groups.protocol.errors import broker_error
from tests.fakes.silent_handler import driver_of

S, E = State, Event
LINES = [
    (S.LOOKUP_PENDING, E.SEND, S.LOOKUP_IN_FLIGHT),
    (S.LOOKUP_PENDING, E.LOCATE, S.REQUEST_PENDING),
    (S.LOOKUP_PENDING, E.EXPIRE, S.FAILED),
    (S.LOOKUP_PENDING, E.LOSE, S.OUTCOME_UNKNOWN),
    (S.LOOKUP_PENDING, E.LATE_RESULT, S.COMPLETED),
    (S.LOOKUP_PENDING, E.LATE_ERROR, S.LOOKUP_PENDING),
    (S.LOOKUP_IN_FLIGHT, E.WITHDRAW, S.LOOKUP_PENDING),
    (S.LOOKUP_IN_FLIGHT, E.GATHER, S.GATHERED),
    (S.LOOKUP_IN_FLIGHT, E.LOCATE, S.REQUEST_PENDING),
    (S.LOOKUP_IN_FLIGHT, E.RETRY, S.LOOKUP_PENDING),
    (S.LOOKUP_IN_FLIGHT, E.FAIL, S.FAILED),
    (S.LOOKUP_IN_FLIGHT, E.EXPIRE, S.FAILED),
    (S.LOOKUP_IN_FLIGHT, E.LOSE, S.OUTCOME_UNKNOWN),
    (S.LOOKUP_IN_FLIGHT, E.LATE_RESULT, S.COMPLETED),
    (S.LOOKUP_IN_FLIGHT, E.LATE_ERROR, S.LOOKUP_IN_FLIGHT),
    (S.GATHERED, E.LOCATE, S.REQUEST_PENDING),
    (S.GATHERED, E.EXPIRE, S.FAILED),
    (S.GATHERED, E.LOSE, S.OUTCOME_UNKNOWN),
    (S.GATHERED, E.LATE_RESULT, S.COMPLETED),
    (S.GATHERED, E.LATE_ERROR, S.GATHERED),
    (S.REQUEST_PENDING, E.SEND, S.REQUEST_IN_FLIGHT),
    (S.REQUEST_PENDING, E.EXPIRE, S.FAILED),
    (S.REQUEST_PENDING, E.LOSE, S.OUTCOME_UNKNOWN),
    (S.REQUEST_PENDING, E.LATE_RESULT, S.COMPLETED),
    (S.REQUEST_PENDING, E.LATE_ERROR, S.REQUEST_PENDING),
    (S.REQUEST_IN_FLIGHT, E.WITHDRAW, S.REQUEST_PENDING),
    (S.REQUEST_IN_FLIGHT, E.CONTINUE, S.REQUEST_PENDING),
    (S.REQUEST_IN_FLIGHT, E.RETRY, S.REQUEST_PENDING),
    (S.REQUEST_IN_FLIGHT, E.UNMAP, S.LOOKUP_PENDING),
    (S.REQUEST_IN_FLIGHT, E.COMPLETE, S.COMPLETED),
    (S.REQUEST_IN_FLIGHT, E.FAIL, S.FAILED),
    (S.REQUEST_IN_FLIGHT, E.EXPIRE, S.FAILED),
    (S.REQUEST_IN_FLIGHT, E.LOSE, S.OUTCOME_UNKNOWN),
    (S.REQUEST_IN_FLIGHT, E.LATE_RESULT, S.COMPLETED),
    (S.REQUEST_IN_FLIGHT, E.LATE_ERROR, S.REQUEST_IN_FLIGHT),
    (S.COMPLETED, E.SEND, S.COMPLETED),
    (S.COMPLETED, E.LOCATE, S.COMPLETED),
    (S.COMPLETED, E.LATE_RESULT, S.COMPLETED),
    (S.COMPLETED, E.LATE_ERROR, S.COMPLETED),
    (S.FAILED, E.SEND, S.FAILED),
    (S.FAILED, E.LATE_RESULT, S.FAILED),
    (S.FAILED, E.LATE_ERROR, S.FAILED),
    (S.OUTCOME_UNKNOWN, E.SEND, S.OUTCOME_UNKNOWN),
    (S.OUTCOME_UNKNOWN, E.LATE_RESULT, S.OUTCOME_UNKNOWN),
    (S.OUTCOME_UNKNOWN, E.LATE_ERROR, S.OUTCOME_UNKNOWN),
]
PATH = [S.LOOKUP_PENDING, S.LOOKUP_IN_FLIGHT, S.GATHERED, S.REQUEST_PENDING, S.REQUEST_IN_FLIGHT]
LOOKUP, REQUEST = RequestSpec(None, ("a",)), RequestSpec(1, ("a",))
# Broker 9 has had the first request of the key.
LATE = RequestSpec(9, ("a",))
LATER = 99.0


class Key:
    """Key `a` in a state, while the lookup of `b` is in flight, so that `a` is gathered. Its first broker was 9."""

    def __init__(self, state: State, *, is_change: bool = False, is_ended: State | None = None) -> None:
        self.driver: ApiDriver[str, str] = driver_of("a", "b", known={"a": 9}, gather=True, idempotent=not is_change)
        self.driver.ready(0.0)
        maybe_made = {"a"} if is_change else set()
        self.respond(LATE, ApiResult(unmapped={"a": "moved"}, maybe_made=maybe_made))
        for step in (self.send, self.gather, self.end_gathering, self.send)[: PATH.index(state)]:
            step()
        if is_ended is S.COMPLETED:
            self.respond(LATE, ApiResult(completed={"a": "A"}))
        elif is_ended is not None:
            self.driver.expire(1.0)

    def respond(self, spec: RequestSpec[str], result: ApiResult[str, Any]) -> None:
        self.driver.on_response(spec, result, 1.0)

    def send(self) -> None:
        self.driver.ready(LATER)

    def gather(self) -> None:
        self.respond(LOOKUP, ApiResult(completed={"a": 1}))

    def end_gathering(self) -> None:
        self.respond(RequestSpec(None, ("b",)), ApiResult(failed={"b": broker_error(30)}))

    def in_flight(self) -> RequestSpec[str]:
        return LOOKUP if self.driver.awaited(LOOKUP) else REQUEST

    def recorded_state(self) -> State:
        return self.driver._records["a"].state

    def state(self) -> State:
        """The state as the owner of the driver sees it. To see what is pending, it is sent."""
        driver = self.driver
        if "a" in driver.completed:
            return S.COMPLETED
        if "a" in driver.failed:
            return S.OUTCOME_UNKNOWN if driver.failed["a"].name == OutcomeUnknownError.name else S.FAILED
        if driver.awaited(LOOKUP):
            return S.LOOKUP_IN_FLIGHT
        if driver.awaited(REQUEST):
            return S.REQUEST_IN_FLIGHT
        pending = {key: spec.broker for spec in driver.ready(LATER) for key in spec.keys}
        return S.GATHERED if "a" not in pending else S.LOOKUP_PENDING if pending["a"] is None else S.REQUEST_PENDING


def key_in(state: State, event: Event) -> Key:
    """Return a key in a state; one with an outcome has it from where the event may still happen to it."""
    if state not in OUTCOMES:
        return Key(state, is_change=event is E.LOSE)
    before = S.GATHERED if event is E.LOCATE else S.REQUEST_PENDING
    return Key(before, is_change=state is S.OUTCOME_UNKNOWN, is_ended=state)


RESPONSES: dict[Event, ApiResult[str, Any]] = {
    E.CONTINUE: ApiResult(continued={"a"}),
    E.RETRY: ApiResult(retriable={"a": "loading"}),
    E.UNMAP: ApiResult(unmapped={"a": "moved"}),
    E.COMPLETE: ApiResult(completed={"a": "A"}),
    E.FAIL: ApiResult(failed={"a": broker_error(30)}),
}
LATE_RESPONSES: dict[Event, ApiResult[str, Any]] = {
    E.LATE_RESULT: ApiResult(completed={"a": "late"}),
    E.LATE_ERROR: ApiResult(failed={"a": broker_error(30)}),
}


def locate(key: Key) -> None:
    key.end_gathering()
    if key.driver.awaited(LOOKUP):
        key.gather()


ACTIONS: dict[Event, Callable[[Key], None]] = {
    E.SEND: Key.send,
    E.WITHDRAW: lambda key: key.driver.on_unsent(key.in_flight(), "throttled", 1.0),
    E.GATHER: Key.gather,
    E.LOCATE: locate,
    E.EXPIRE: lambda key: key.driver.expire(1.0),
    E.LOSE: lambda key: key.driver.expire(1.0),
}


def cause(event: Event, key: Key) -> None:
    """Let an event happen to the key."""
    if event in ACTIONS:
        ACTIONS[event](key)
    elif event in RESPONSES:
        key.respond(key.in_flight(), RESPONSES[event])
    else:
        key.respond(LATE, LATE_RESPONSES[event])


@pytest.mark.parametrize(("state", "event", "after"), LINES)
def test_a_key_in_a_state_gets_to_the_next_one_by_an_event(state: State, event: Event, after: State) -> None:
    if (state, event) == (S.LOOKUP_PENDING, E.LOCATE):
        # Only at the beginning, if the broker is known.
        driver = driver_of("a", known={"a": 1})
        assert [(spec.broker, spec.keys) for spec in driver.ready(0.0)] == [(1, ("a",))]
        return
    key = key_in(state, event)
    cause(event, key)
    assert (key.recorded_state(), key.state()) == (after, after)


@pytest.mark.parametrize("state", PATH)
def test_a_key_is_in_each_state_before_the_event(state: State) -> None:
    assert (Key(state).state(), Key(state, is_change=True).state()) == (state, state)


def test_the_table_has_these_lines_and_no_others() -> None:
    assert {(state, event): after for state, event, after in LINES} == TRANSITIONS


@pytest.mark.parametrize(
    ("state", "event"), [(state, event) for state in State for event in Event if (state, event) not in TRANSITIONS]
)
def test_an_event_that_the_table_lacks_for_a_state_is_an_error(state: State, event: Event) -> None:
    with pytest.raises(ImpossibleTransitionError, match=f"^{event.name} cannot happen to a key in {state.name}$"):
        KeyRecord(state).after(event)


def test_no_event_leads_out_of_an_outcome() -> None:
    assert {after for (state, _), after in TRANSITIONS.items() if state in OUTCOMES} == OUTCOMES
    assert all(state is after for (state, _), after in TRANSITIONS.items() if state in OUTCOMES)


def test_every_unfinished_state_has_an_end_at_the_deadline() -> None:
    assert {state for state, event in TRANSITIONS if event is E.EXPIRE} == {*State} - OUTCOMES
    assert {state for state, event in TRANSITIONS if event is E.LOSE} == {*State} - OUTCOMES


@pytest.mark.parametrize("state", [S.COMPLETED, S.FAILED, S.OUTCOME_UNKNOWN])
def test_a_late_response_changes_no_outcome(state: State) -> None:
    key = key_in(state, E.LATE_RESULT)
    results = key.driver.results()
    before = {**results.succeeded}, {**results.failed}
    cause(E.LATE_RESULT, key)
    cause(E.LATE_ERROR, key)
    after = key.driver.results()
    assert (after.succeeded, after.failed) == before


@pytest.mark.parametrize("state", [S.COMPLETED, S.FAILED, S.OUTCOME_UNKNOWN])
def test_a_finished_key_is_not_sent(state: State) -> None:
    key = key_in(state, E.SEND)
    assert [spec for spec in key.driver.ready(LATER) if "a" in spec.keys] == []


def test_a_change_that_was_lost_is_not_pending_again() -> None:
    key = Key(S.REQUEST_IN_FLIGHT, is_change=True)
    key.driver.on_failure(REQUEST, ("a",), ConnectionFailedError("lost"), 1.0, was_sent=True)
    assert key.state() is S.OUTCOME_UNKNOWN
    assert key.driver.ready(LATER) == []
