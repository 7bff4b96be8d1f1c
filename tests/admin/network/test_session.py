"""When a session is renewed, and how many requests may be in flight until then; pure time, without a connection."""

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
        assert (session.most_in_flight, session.needs_renewal(1e9)) == (math.inf, False)


@pytest.mark.parametrize(
    ("lifetime_s", "renewed_after_s"), [(900.0, 765.0), (60.0, 51.0), (10.0, 5.0), (2.0, 1.1), (0.5, 1.1)]
)
def test_a_long_session_is_renewed_late_and_a_short_one_at_half(lifetime_s: float, renewed_after_s: float) -> None:
    """Brokers refuse a second authentication within a second."""
    session = begun(lifetime_s)
    at = 100 + renewed_after_s
    assert [session.needs_renewal(each) for each in (100.0, at - 0.01, at + 0.01, 9999.0)] == [False, False, True, True]


def test_a_short_session_has_one_request_in_flight() -> None:
    assert [begun(lifetime_s).most_in_flight for lifetime_s in (900.0, 60.0, 59.0, 2.0)] == [math.inf, math.inf, 1, 1]


def test_the_last_tenth_of_a_session_is_for_requests_that_were_sent_before() -> None:
    session = begun(100.0)
    assert [session.accepts_requests(at) for at in (100.0, 189.9, 190.0, 300.0)] == [True, True, False, False]
    assert begun(None).accepts_requests(1e9)


def test_a_failed_renewal_is_postponed_while_the_session_lasts() -> None:
    session = begun(10.0)
    assert session.postpone_renewal(107.5)
    assert [session.needs_renewal(at) for at in (107.6, 108.6)] == [False, True]
    assert not session.postpone_renewal(108.1)
