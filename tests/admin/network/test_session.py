"""The end of a session, and how many requests fit before it; pure time, without a connection."""

from __future__ import annotations

import math

import pytest

from kafka_groups.admin.network.session import Session


def begun(lifetime_s: float | None) -> Session:
    session = Session()
    session.begin(lifetime_s, 100.0)
    return session


def test_a_session_without_an_end_takes_any_number_of_requests_and_is_not_renewed() -> None:
    for session in (Session(), begun(None)):
        assert (session.capacity(1e9), session.needs_renewal(1e9)) == (math.inf, False)


def test_a_session_is_renewed_after_85_percent_of_it() -> None:
    session = begun(100.0)
    assert [session.needs_renewal(at) for at in (100.0, 184.9, 185.0, 250.0)] == [False, False, True, True]


@pytest.mark.parametrize(("at", "fitting"), [(100.0, 20), (101.5, 5), (101.9, 1), (101.95, 1), (102.0, 1), (200.0, 1)])
def test_requests_in_flight_may_need_half_of_the_rest_of_a_session(at: float, fitting: float) -> None:
    """A request takes 0.05 s until the first one was measured."""
    assert begun(2.0).capacity(at) == pytest.approx(fitting)


def test_no_session_is_renewed_within_a_second_which_brokers_refuse() -> None:
    session = begun(0.5)
    assert [session.needs_renewal(at) for at in (100.5, 101.05, 101.1)] == [False, False, True]


def test_a_slow_broker_gets_fewer_requests_at_once_and_a_fast_one_more() -> None:
    slow, fast = begun(10.0), begun(10.0)
    for number in range(1, 30):
        slow.note_response(100 + number * 0.2, is_more_in_flight=True)
        fast.note_response(100 + number * 0.001, is_more_in_flight=True)
    assert slow.capacity(106.0) == pytest.approx(4.0 * 0.5 / 0.2, rel=0.01)
    assert fast.capacity(106.0) > 1000


def test_one_slow_response_counts_at_once() -> None:
    session = begun(10.0)
    session.note_response(100.0, is_more_in_flight=True)
    session.note_response(101.0, is_more_in_flight=True)
    assert session.capacity(102.0) == pytest.approx(4.0)


def test_the_first_response_measures_the_broker_from_the_first_request_on() -> None:
    session = begun(10.0)
    for at in (100.0, 100.1):
        session.note_sent(at)
    session.note_response(101.0, is_more_in_flight=True)
    assert session.capacity(102.0) == pytest.approx(4.0)


def test_only_a_session_of_less_than_a_minute_is_short() -> None:
    assert [begun(lifetime_s).is_short() for lifetime_s in (None, 900.0, 60.0, 59.0)] == [False, False, False, True]


def test_the_time_without_a_request_in_flight_is_not_the_brokers() -> None:
    session = begun(1000.0)
    session.note_response(100.0, is_more_in_flight=False)
    session.note_response(400.0, is_more_in_flight=True)
    assert session.capacity(400.0) == pytest.approx(700 * 0.5 / 0.05)


def test_a_failed_renewal_is_postponed_while_the_session_lasts() -> None:
    session = begun(10.0)
    assert session.postpone_renewal(108.5)
    assert [session.needs_renewal(at) for at in (108.6, 109.5)] == [False, True]
    assert not session.postpone_renewal(109.5)
