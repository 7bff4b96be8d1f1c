"""Tokens of a pool: fetched once in a thread for all connections, kept while they are fresh, ended with the pool."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from kafka_groups.admin.network.tokens import TokenFetch, Tokens
from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token

pytestmark = pytest.mark.timeout(20)

_WAIT_S = 10


@dataclass
class FakeSource:
    """A source that returns these tokens in turn, and counts the fetches."""

    lifetime_s: float | None = 100.0
    is_read_each_time: bool = False
    failure: Exception | None = None
    place: str = "the endpoint"
    wall: list[float] = field(default_factory=lambda: [1000.0])
    fetches: int = 0
    release: threading.Event | None = None
    was_cancelled: bool = False

    def fetch(self, limit: Limit) -> Token:
        """Return the next token, at once or when it is released."""
        self.fetches += 1
        while self.release is not None and not self.release.wait(0.005):
            if limit.cancelled.is_set():
                self.was_cancelled = True
                raise TokenFailedError("cancelled")
        if self.failure is not None:
            raise self.failure
        expires_at = None if self.lifetime_s is None else self.wall[0] + self.lifetime_s
        return Token(text=f"token{self.fetches}", expires_at=expires_at)


@pytest.fixture
def make() -> Iterator[Callable[..., Tokens]]:
    """Return a function that creates tokens of a source, which are closed at the end."""
    made: list[Tokens] = []

    def create(source: FakeSource, *, timeout_s: float = 30.0, wakeup: Callable[[], None] = lambda: None) -> Tokens:
        made.append(Tokens(source, timeout_s=timeout_s, wakeup=wakeup, wall_clock=lambda: source.wall[0]))
        return made[-1]

    yield create
    for each in made:
        each.close()


def wait_for(fetch: TokenFetch) -> str:
    """Return the text of the token when it is there."""
    limit = time.monotonic() + _WAIT_S
    while (token := fetch.result()) is None and time.monotonic() < limit:
        time.sleep(0.002)
    assert token is not None
    return token.text


def test_connections_share_one_fetch_while_it_runs_and_while_its_token_is_fresh(make: Callable[..., Tokens]) -> None:
    source = FakeSource(release=threading.Event())
    tokens = make(source)
    first = tokens.request()
    assert (tokens.request() is first, first.result()) == (True, None)
    assert source.release is not None
    source.release.set()
    assert wait_for(first) == "token1"
    source.wall[0] += 79
    assert (tokens.request() is first, source.fetches) == (True, 1)


@pytest.mark.parametrize(
    ("lifetime_s", "after_s"), [(100.0, 80), (50.0, 5), (None, 60)], ids=["long", "short", "unknown"]
)
def test_a_token_is_fetched_again_late_in_its_lifetime(
    make: Callable[..., Tokens], lifetime_s: float | None, after_s: float
) -> None:
    source = FakeSource(lifetime_s=lifetime_s)
    tokens = make(source)
    assert wait_for(tokens.request()) == "token1"
    source.wall[0] += after_s - 1
    assert wait_for(tokens.request()) == "token1"
    source.wall[0] += 1
    assert wait_for(tokens.request()) == "token2"


def test_a_source_that_may_change_is_read_for_each_authentication(make: Callable[..., Tokens]) -> None:
    tokens = make(FakeSource(is_read_each_time=True))
    assert [wait_for(tokens.request()) for _ in range(3)] == ["token1", "token2", "token3"]


def test_a_token_that_a_broker_refused_is_not_used_again(make: Callable[..., Tokens]) -> None:
    tokens = make(FakeSource())
    assert wait_for(tokens.request()) == "token1"
    tokens.discard()
    assert wait_for(tokens.request()) == "token2"


def test_a_failure_is_raised_for_all_that_wait_and_the_next_request_tries_again(make: Callable[..., Tokens]) -> None:
    source = FakeSource(failure=TokenFailedError("the endpoint is down"))
    tokens = make(source)
    fetch = tokens.request()
    for _ in range(2):
        with pytest.raises(TokenFailedError, match=r"^the endpoint is down$"):
            wait_for(fetch)
    source.failure = None
    assert wait_for(tokens.request()) == "token2"


def test_an_error_that_nobody_expects_becomes_a_failure_without_its_text(make: Callable[..., Tokens]) -> None:
    fetch = make(FakeSource(failure=ZeroDivisionError("secret"))).request()
    with pytest.raises(TokenFailedError, match=r"^the endpoint failed: ZeroDivisionError$"):
        wait_for(fetch)


def test_a_fetch_that_takes_too_long_fails_before_the_timeout_of_the_command(make: Callable[..., Tokens]) -> None:
    source = FakeSource(release=threading.Event())
    fetch = make(source, timeout_s=0.1).request()
    with pytest.raises(TokenFailedError, match=r"^the endpoint took too long: it returned no token within 0\.1 s$"):
        wait_for(fetch)
    assert fetch.has_failed()


def test_the_end_of_a_fetch_wakes_the_event_loop(make: Callable[..., Tokens]) -> None:
    woken = threading.Event()
    make(FakeSource(), wakeup=woken.set).request()
    assert woken.wait(_WAIT_S)


def test_a_pool_that_is_closed_ends_its_fetch(make: Callable[..., Tokens]) -> None:
    source = FakeSource(release=threading.Event())
    tokens = make(source)
    tokens.request()
    tokens.close()
    assert source.was_cancelled
