"""Logins that fail: exit code 1 in time, one line on stderr for each cause, no two alike (docs/security.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fakes.fake_admin import run
from tests.fakes.token_server import silence
from tests.live.secure_broker import SecureBroker
from tests.live.ways_in import WaysIn, open_ways_in

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]
REPETITIONS = range(int(os.environ.get("PROOF_REPETITIONS", "1")))
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_TIMEOUT_S = 4
# A port of this machine on which nothing listens.
_CLOSED = "http://127.0.0.1:1/token"


class Cause(NamedTuple):
    """A cause of a failed login: the options of the command, and what the error has. The page has the same text."""

    config: Callable[[WaysIn], list[str]]
    text: str


def at(offset_s: float) -> float:
    return time.time() + offset_s


def silent_endpoint(ways: WaysIn) -> list[str]:
    ways.endpoint.script(*[silence(2 * _TIMEOUT_S)] * 3)
    return ways.config("OIDC")


def untrusted_endpoint(ways: WaysIn) -> list[str]:
    return ways.config("OIDC", **{ENDPOINT: ways.secure_endpoint.url})


CAUSES = {
    "wrong password": Cause(
        lambda ways: ways.config("PLAIN", **{"sasl.password": "wrong"}),
        "authentication failed for user 'admin' with PLAIN: Authentication failed: Invalid username or password; "
        "check sasl.username and sasl.password",
    ),
    "wrong SCRAM password": Cause(
        lambda ways: ways.config("SCRAM-SHA-512", **{"sasl.password": "wrong"}),
        "authentication failed for user 'admin' with SCRAM-SHA-512: Authentication failed during authentication due to "
        "invalid credentials with SASL mechanism SCRAM-SHA-512; check sasl.username and sasl.password",
    ),
    "wrong client secret": Cause(
        lambda ways: ways.config("OIDC", **{"sasl.oauthbearer.client.credentials.client.secret": "wrong"}),
        "returned status 401: invalid_client",
    ),
    "expired token": Cause(
        lambda ways: ways.config("token file", **{ENDPOINT: ways.token({"iat": at(-7200), "exp": at(-3600)})}),
        "(invalid_token): it expired at",
    ),
    "token that is not valid yet": Cause(
        lambda ways: ways.config("token file", **{ENDPOINT: ways.token({"nbf": at(3600), "exp": at(7200)})}),
        "(invalid_token): it is not valid before",
    ),
    "wrong audience": Cause(
        lambda ways: ways.config("token file", **{ENDPOINT: ways.token({"aud": "another"})}),
        "(invalid_token): it has the subject 'admin' and the audience 'another'",
    ),
    "no token file": Cause(
        lambda ways: ways.config("token file", **{ENDPOINT: "file:///no/such/token"}),
        "cannot log in: the token file /no/such/token cannot be read: No such file or directory",
    ),
    "failing command": Cause(
        lambda ways: ways.config("token command", **{"sasl.oauthbearer.token.command": "false"}),
        "failed with exit status 1",
    ),
    "unreachable endpoint": Cause(
        lambda ways: ways.config("OIDC", **{ENDPOINT: _CLOSED}), "cannot be reached: connection refused"
    ),
    "silent endpoint": Cause(silent_endpoint, "sent no complete response within"),
    "unknown CA of the endpoint": Cause(untrusted_endpoint, "set https.ca.location to the CA of the endpoint"),
    "unknown CA of the brokers": Cause(
        lambda ways: ways.config("PLAIN", **{"ssl.ca.location": None}),
        "set ssl.ca.location (ssl.truststore.location) to the CA of the brokers",
    ),
    "no client certificate": Cause(
        lambda ways: ways.config("certificate", **{"ssl.certificate.location": None, "ssl.key.location": None}),
        "the broker requires a client certificate that it trusts",
    ),
}


@pytest.fixture
def ways_in(secure: SecureBroker, tmp_path: Path) -> Iterator[WaysIn]:
    """Yield the ways in, with an endpoint of this test."""
    with open_ways_in(secure, tmp_path) as opened:
        yield opened


def error_of(config: list[str]) -> str:
    """Return the only line on stderr of a command that cannot log in."""
    started = time.monotonic()
    outcome = run("list", "--timeout", f"{_TIMEOUT_S}s", *config, bootstrap=None)
    assert time.monotonic() - started < _TIMEOUT_S + 2
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize("repetition", REPETITIONS)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_has_its_own_line(ways_in: WaysIn, cause: str, repetition: int) -> None:
    del repetition
    line = error_of(CAUSES[cause].config(ways_in))
    assert CAUSES[cause].text in line
    assert [other for other, each in CAUSES.items() if each.text in line] == [cause]
