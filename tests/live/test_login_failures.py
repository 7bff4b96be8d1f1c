"""Logins that fail: exit code 1 in time, one line on stderr for each cause, no two alike (docs/security.md)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import run
from tests.fakes.token_server import json_answer, silence
from tests.live.secure_broker import SecureBroker
from tests.live.secured_broker import SecuredBroker
from tests.live.ways_in import WaysIn, open_ways_in

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]
REPETITIONS = range(int(os.environ.get("PROOF_REPETITIONS", "1")))
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
OTHER_MECHANISM = "a mechanism that the listener does not have"
CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"  # The name of a property.
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_TIMEOUT_S = 4
# A port of this machine on which nothing listens.
_CLOSED = "http://127.0.0.1:1/token"


def at(offset_s: float) -> float:
    return time.time() + offset_s


def silent_endpoint(ways: WaysIn) -> list[str]:
    ways.endpoint.script(*[silence(2 * _TIMEOUT_S)] * 3)
    return ways.config("OIDC")


def overloaded_endpoint(ways: WaysIn) -> list[str]:
    ways.endpoint.script(*[json_answer({}, 503)] * 99)
    return ways.config("OIDC")


def proxied_endpoint(ways: WaysIn) -> list[str]:
    return ways.config("OIDC", **{ENDPOINT: "https://login.example/token"})


def with_claims(ways: WaysIn, **claims: Any) -> list[str]:
    return ways.config("token file", **{ENDPOINT: ways.token(claims)})


# What the options of the command are, by the first cell of the page's rows.
CAUSES: Mapping[str, Callable[[WaysIn], list[str]]] = {
    "wrong password, PLAIN": lambda ways: ways.config("PLAIN", **{"sasl.password": "wrong"}),
    "wrong password, SCRAM": lambda ways: ways.config("SCRAM-SHA-512", **{"sasl.password": "wrong"}),
    "wrong secret of a client": lambda ways: ways.config("OIDC", **{CLIENT_SECRET: "wrong"}),
    "expired token": lambda ways: with_claims(ways, iat=at(-7200), exp=at(-3600)),
    "token that is not valid yet": lambda ways: with_claims(ways, nbf=at(3600), exp=at(7200)),
    "wrong audience or issuer": lambda ways: with_claims(ways, aud="another"),
    "missing token file": lambda ways: ways.config("token file", **{ENDPOINT: "file:///no/such/token"}),
    "failing command": lambda ways: ways.config("token command", **{"sasl.oauthbearer.token.command": "false"}),
    "unreachable endpoint": lambda ways: ways.config("OIDC", **{ENDPOINT: _CLOSED}),
    "silent endpoint": silent_endpoint,
    "silent endpoint, https": lambda ways: ways.config("OIDC", **{ENDPOINT: f"https://{ways.silent_endpoint}/token"}),
    "overloaded endpoint (status 429, 5xx)": overloaded_endpoint,
    "unusable proxy": proxied_endpoint,
    "unknown CA of the endpoint": lambda ways: ways.config("OIDC", **{ENDPOINT: ways.secure_endpoint.url}),
    "unknown CA of the brokers": lambda ways: ways.config("PLAIN", **{"ssl.ca.location": None}),
    "missing client certificate": lambda ways: ways.config(
        "certificate", **{"ssl.certificate.location": None, "ssl.key.location": None}
    ),
}


def texts_of_page() -> dict[str, list[str]]:
    """Return the parts of each text in the table of the page, by cause."""
    page = PAGE.read_text()
    rows = page[page.index("### When a login fails") :].split("\n\n")[2].splitlines()[2:]
    cells = [re.fullmatch(r"\| (.+?) \| `(.+?)`(?: …)? \|", row) for row in rows]
    return {cell[1]: [part.strip() for part in cell[2].split("…")] for cell in cells if cell}


def causes_of(line: str) -> list[str]:
    """Return the causes of the page whose text is in the line."""
    return [cause for cause, parts in texts_of_page().items() if re.search(".*".join(map(re.escape, parts)), line)]


def test_the_page_on_security_has_each_cause() -> None:
    assert list(texts_of_page()) == [*CAUSES, OTHER_MECHANISM]


@pytest.fixture
def ways_in(secure: SecureBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WaysIn]:
    """Yield the ways in, with an endpoint of this test; the proxy is for other machines, and nothing listens there."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
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
    assert causes_of(error_of(CAUSES[cause](ways_in))) == [cause]


def test_a_listener_without_the_mechanism_has_its_own_line(ways_in: WaysIn, secured: SecuredBroker) -> None:
    plaintext = {"security.protocol": "SASL_PLAINTEXT", "ssl.ca.location": None}
    config = ways_in.config("token file", **{"bootstrap.servers": secured.sasl_listener, **plaintext})
    assert causes_of(error_of(config)) == [OTHER_MECHANISM]
