"""One cluster: refused logins, tokens that expire, settings that cannot be used yet, and internal errors."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.errors import AuthenticationFailedError, ConnectionFailedError, SettingsError, TokenFailedError
from kafka_groups.exporter.cluster_poll import PollSamples
from kafka_groups.exporter.polled_cluster import ClusterSource, PolledCluster, Times
from kafka_groups.settings import ConnectionSettings, Endpoint

READ = PollSamples(lines={"m": [b"m 1\n"]}, failures=(), anything_read=True, skipped_groups=0)


class Client:
    """A client that counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def deadline(self, timeout: float | None) -> float | None:
        return timeout

    def known_cluster_id(self) -> str | None:
        return "id"

    def close(self) -> None:
        self.closed += 1


class Scripted:
    """A cluster whose polls return or raise what a test puts into `outcomes`; the last one is repeated."""

    def __init__(self, *outcomes: Exception | PollSamples) -> None:
        self.outcomes = [*outcomes]
        self.now = 0.0
        self.attempts = 0
        self.clients: list[Client] = []
        self.resolved = 0
        self.settings_error: SettingsError | None = None
        self.lines: list[str] = []
        source: Any = ClusterSource("c", self._resolve, self._create)  # type: ignore[arg-type]  # a part of a client
        samples: Any = self
        self.cluster = PolledCluster(source, samples, self.lines.append, Times(lambda: self.now, lambda: self.now))

    def read(self, *_: Any) -> PollSamples:
        self.attempts += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _resolve(self) -> ConnectionSettings:
        self.resolved += 1
        if self.settings_error is not None:
            raise self.settings_error
        return ConnectionSettings(bootstrap=(Endpoint(host="b1", port=9092),))

    def _create(self, _settings: ConnectionSettings) -> Client:
        self.clients.append(Client())
        return self.clients[-1]


def test_the_client_stays_between_polls_also_after_a_lost_connection() -> None:
    scripted = Scripted(READ, ConnectionFailedError("no broker responded"), READ)
    assert [scripted.cluster.poll().is_up for _ in range(3)] == [True, False, True]
    assert (len(scripted.clients), scripted.resolved) == (1, 1)


def test_a_poll_that_fails_has_no_samples_and_is_counted() -> None:
    scripted = Scripted(ConnectionFailedError("no broker responded"))
    scripted.cluster.poll()
    poll = scripted.cluster.poll()
    assert (poll.is_up, dict(poll.samples), len(poll.failures)) == (False, {}, 1)
    assert scripted.cluster.errors == {"CONNECTION_FAILED": 2}
    assert scripted.lines == ["c: Error: no broker responded (CONNECTION_FAILED)"]


def test_a_refused_login_is_repeated_later_and_later() -> None:
    scripted = Scripted(AuthenticationFailedError("refused"))
    attempts_at = []
    for second in range(0, 8 * 60, 10):
        scripted.now = float(second)
        before = scripted.attempts
        assert not scripted.cluster.poll().is_up
        if scripted.attempts > before:
            attempts_at.append(second)
    assert attempts_at == [0, 60, 180, 420]
    assert scripted.resolved == 4


def test_renewed_settings_repeat_a_refused_login_at_once() -> None:
    scripted = Scripted(AuthenticationFailedError("refused"), READ)
    assert not scripted.cluster.poll().is_up
    scripted.cluster.renew()
    assert scripted.cluster.poll().is_up
    assert [client.closed for client in scripted.clients] == [1, 0]


def test_a_token_is_requested_again_at_the_next_poll() -> None:
    scripted = Scripted(TokenFailedError("the token endpoint does not respond"), READ)
    assert [scripted.cluster.poll().is_up for _ in range(2)] == [False, True]


def test_settings_that_cannot_be_used_are_read_again_at_each_poll() -> None:
    scripted = Scripted(READ)
    scripted.settings_error = SettingsError("the file of the password is missing")
    poll = scripted.cluster.poll()
    assert [failure.name for failure in poll.failures] == ["SETTINGS_ERROR"]
    scripted.settings_error = None
    assert scripted.cluster.poll().is_up


def test_an_internal_error_is_a_failure_and_the_next_poll_has_a_new_client() -> None:
    scripted = Scripted(ValueError("a bug"), READ)
    poll = scripted.cluster.poll()
    assert [failure.name for failure in poll.failures] == ["INTERNAL_ERROR"]
    assert scripted.cluster.poll().is_up
    assert len(scripted.clients) == 2


def test_settings_that_are_renewed_replace_the_client_at_the_next_poll() -> None:
    scripted = Scripted(READ)
    scripted.cluster.poll()
    scripted.cluster.renew()
    assert scripted.clients[0].closed == 0
    scripted.cluster.poll()
    assert [client.closed for client in scripted.clients] == [1, 0]


def test_renewed_settings_that_cannot_be_used_are_an_error_of_the_caller() -> None:
    scripted = Scripted(READ)
    scripted.cluster.poll()
    scripted.settings_error = SettingsError("no such profile")
    with pytest.raises(SettingsError):
        scripted.cluster.renew()
    assert scripted.cluster.poll().is_up
    assert len(scripted.clients) == 1
