"""The retries of Spark Connect's client, which end at a stop request."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from pyspark.sql.connect.client.retries import DefaultPolicy, Retrying, RetryPolicy

from kafka_groups.pipeline.spark.connect_retries import end_retries, is_connect_session, retry_until


class UnavailableError(grpc.RpcError):  # type: ignore[misc]  # grpc has no types
    """The error of a call to a server that has ended."""

    def code(self) -> grpc.StatusCode:
        """Return the code of this error."""
        return grpc.StatusCode.UNAVAILABLE

    def trailing_metadata(self) -> None:
        """Return no details of the error."""


class Client:
    """A client of Spark Connect that has only policies of retries."""

    def __init__(self) -> None:
        self.policies: list[RetryPolicy] = [DefaultPolicy()]

    def get_retry_policies(self) -> list[RetryPolicy]:
        """Return the policies."""
        return self.policies

    def set_retry_policies(self, policies: list[RetryPolicy]) -> None:
        """Replace the policies."""
        self.policies = policies


class Session:
    """A session of Spark Connect."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self) -> None:
        self.client = Client()


def call_ended_server(session: Session, waits_s: list[float]) -> None:
    """Call a server that has ended, as the client does; the waits between retries are noted, and take no time."""
    for attempt in Retrying(session.client.policies, sleep=waits_s.append):
        with attempt:
            raise UnavailableError


def test_a_failed_call_is_not_retried_after_a_stop_request() -> None:
    session: Any = Session()
    waits_s: list[float] = []

    with retry_until(session, lambda: len(waits_s) == 3), pytest.raises(UnavailableError):
        call_ended_server(session, waits_s)

    assert len(waits_s) == 3


@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
def test_without_a_stop_request_calls_are_retried_for_ten_minutes() -> None:
    session: Any = Session()
    waits_s: list[float] = []

    with retry_until(session, lambda: False), pytest.raises(UnavailableError):
        call_ended_server(session, waits_s)

    assert 600 < sum(waits_s) < 700
    assert max(waits_s) < 6


def test_the_policies_of_a_session_are_restored() -> None:
    session: Any = Session()
    policies = session.client.policies

    with retry_until(session, lambda: False):
        assert session.client.policies != policies

    assert session.client.policies == policies


def test_calls_are_not_retried_after_the_end_of_retries() -> None:
    session: Any = Session()
    waits_s: list[float] = []

    end_retries(session)
    with pytest.raises(UnavailableError):
        call_ended_server(session, waits_s)

    assert waits_s == []


def test_other_sessions_have_no_retries() -> None:
    session: Any = object()

    assert not is_connect_session(session)
    end_retries(session)
    with retry_until(session, lambda: True):
        pass
