"""Responses of token endpoints: which are final, which are repeated, and what is read of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from kafka_groups.errors import TokenFailedError
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.http_client import HttpRequest
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint
from kafka_groups.settings.tokens.token_request import request_document
from tests.fakes.token_server import Answer, TokenServer, json_answer, silence
from tests.settings.tokens.token_sources import ENDPOINT, SECRET, client_source, failure_of, fetch

pytestmark = pytest.mark.timeout(30)
FINAL = [*(code for code in range(400, 416) if code != 408), 501, 505]


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer(client_secret=SECRET) as running:
        yield running


@pytest.mark.parametrize("status", FINAL)
def test_a_final_status_is_not_requested_again(status: int, server: TokenServer) -> None:
    server.script(Answer(status))
    assert f"returned status {status}" in failure_of(client_source(server.url))
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 416, 429, 500, 502, 503, 504])
def test_another_status_is_requested_again_until_there_is_a_token(status: int, server: TokenServer) -> None:
    server.script(Answer(status), Answer(status))
    assert fetch(client_source(server.url)).subject == "my-client"
    assert len(server.requests) == 3


def test_backoffs_double_and_end_with_the_limit(server: TokenServer) -> None:
    server.respond = lambda _request: Answer(503)
    endpoint = TokenEndpoint(url=server.url, backoff_s=0.1, longest_backoff_s=0.2)
    started = time.monotonic()
    with pytest.raises(TokenFailedError) as caught:
        request_document(HttpRequest(method="GET", url=server.url), endpoint, Limit.after(0.8))
    # Before a second, third, fourth and fifth attempt: 0.1, 0.2, 0.2, 0.2 s.
    assert 2 <= len(server.requests) <= 5
    count = f"({len(server.requests)} attempts)"
    assert str(caught.value).endswith(f"status 503; try again later, or ask the identity provider {count}")
    assert 0.4 < time.monotonic() - started < 2


def test_a_refused_connection_is_tried_again() -> None:
    with TokenServer() as ended:
        url = ended.url
    text = failure_of(client_source(url), 0.3)
    assert text.startswith(f"the endpoint {url} cannot be reached: connection refused; check the URL and the network (")
    assert text.endswith(" attempts)")


def test_a_closed_connection_is_tried_again(server: TokenServer) -> None:
    cut = Answer(200, headers={"Content-Length": "100"}, send_body=lambda connection: connection.sendall(b"x"))
    server.script(cut, cut)
    assert fetch(client_source(server.url)).subject == "my-client"
    assert len(server.requests) == 3


def test_a_timeout_of_the_last_attempt_does_not_hide_an_earlier_reason(server: TokenServer) -> None:
    server.script(Answer(503, b'{"error": "busy"}'), silence(2))
    assert "returned status 503: busy; try again later, or ask the identity provider (2 attempts)" in failure_of(
        client_source(server.url), 0.5
    )


def test_a_cancelled_fetch_ends_at_once(server: TokenServer) -> None:
    server.respond = lambda _request: Answer(503)
    limit = Limit.after(20)
    endpoint = TokenEndpoint(url=server.url, backoff_s=10, longest_backoff_s=10)
    request = HttpRequest(method="GET", url=server.url)
    errors: list[TokenFailedError] = []

    def run() -> None:
        try:
            request_document(request, endpoint, limit)
        except TokenFailedError as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    limit.cancel()
    thread.join(2)
    assert (len(errors), thread.is_alive()) == (1, False)


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize(
    ("document", "token"),
    [
        ({"access_token": "a", "id_token": "b"}, "a"),
        ({"id_token": "b"}, "b"),
        ({"access_token": "", "id_token": "b"}, "b"),
        ({"access_token": 1, "id_token": "b"}, "b"),
    ],
)
def test_the_first_of_access_token_and_id_token_is_used(
    status: int, document: dict[str, Any], token: str, server: TokenServer
) -> None:
    server.script(json_answer(document, status))
    assert fetch(client_source(server.url)).text == token


@pytest.mark.parametrize(
    ("expires_in", "is_known"),
    [(60, True), (60.5, True), ("60", True), ("soon", False), (0, False), (-1, False), (True, False), (None, False)],
)
def test_only_a_number_of_seconds_says_when_a_token_expires(
    expires_in: object, is_known: bool, server: TokenServer
) -> None:
    server.script(json_answer({"access_token": "opaque", "expires_in": expires_in}))
    assert (fetch(client_source(server.url)).expires_at is not None) == is_known


@pytest.mark.parametrize("expires_in", ["Infinity", "NaN", "1e999", "9" * 400])
def test_a_number_of_seconds_without_an_end_is_unknown(expires_in: str, server: TokenServer) -> None:
    server.script(Answer(200, f'{{"access_token": "opaque", "expires_in": {expires_in}}}'.encode()))
    assert fetch(client_source(server.url)).expires_at is None


def test_the_expiry_of_a_jwt_precedes_expires_in(server: TokenServer) -> None:
    token = server.make_token(exp=1234, nbf=5, iss="issuer", aud="kafka")
    server.script(json_answer({"access_token": token, "expires_in": 60}))
    read = fetch(client_source(server.url))
    assert (read.expires_at, read.not_before, read.issuer, read.audience) == (1234, 5, "issuer", "kafka")


@pytest.mark.parametrize("body", [b"<html>hidden-thing</html>", b"", b"[]", b"[" * 100_000, b"\xff", b"null"])
def test_a_response_that_is_no_json_object_is_final(body: bytes, server: TokenServer) -> None:
    server.script(Answer(200, body, {"Content-Type": "text/html; charset=utf-8"}))
    assert failure_of(client_source(server.url)) == (
        f"the endpoint {server.url} returned status 200 and no JSON (text/html); check {ENDPOINT}: "
        "it may be a page for people"
    )
    assert len(server.requests) == 1


def test_an_error_with_status_200_is_reported(server: TokenServer) -> None:
    server.script(json_answer({"error": "bad_verification_code"}))
    text = failure_of(client_source(server.url))
    assert f"returned neither access_token nor id_token: bad_verification_code; check {ENDPOINT}" in text


def test_a_token_with_other_characters_is_refused_without_showing_it(server: TokenServer) -> None:
    server.script(json_answer({"access_token": f"{SECRET}\x01auth=x"}))
    assert "has no token: a token has the characters" in failure_of(client_source(server.url))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"error": "invalid_scope"}, "invalid_scope; check sasl.oauthbearer.scope"),
        ({"error": "unauthorized_client", "error_description": "no\r\nway"}, "unauthorized_client: no way; let the"),
        ({"error_description": "only words"}, "400: only words"),
        ({"errorCode": "E0000011", "errorSummary": "Invalid token provided"}, "400: E0000011: Invalid token provided"),
        ({"error": {"message": "x"}}, f"400; check {ENDPOINT}"),
        ({"error": "a\x1b[31mb\u202e"}, "400: a?[31mb?"),
    ],
)
def test_the_errors_of_rfc_6749_and_of_okta_are_quoted(
    document: dict[str, Any], said: str, server: TokenServer
) -> None:
    server.script(json_answer(document, 400))
    assert said in failure_of(client_source(server.url))


@pytest.mark.parametrize("status", [429, 500, 501, 503, 504, 599])
@pytest.mark.parametrize(("body", "said"), [(b"", ""), (b'{"error": "busy"}', ": busy")])
def test_an_endpoint_that_cannot_respond_now_is_for_later(
    status: int, body: bytes, said: str, server: TokenServer
) -> None:
    server.respond = lambda _request: Answer(status, body)
    text = failure_of(client_source(server.url), 0.2)
    assert f" returned status {status}{said}; try again later, or ask the identity provider" in text
    assert ENDPOINT not in text


def test_a_redirect_is_not_followed_and_its_host_is_named(server: TokenServer) -> None:
    with TokenServer() as other:
        for status in (301, 302, 303, 307, 308):
            server.script(Answer(status, headers={"Location": f"{other.url}?secret={SECRET}"}))
            assert failure_of(client_source(server.url)) == (
                f"the endpoint {server.url} redirects to 127.0.0.1 (status {status}), and no secret is sent there; "
                "write the final URL"
            )
        assert other.requests == []


@pytest.mark.parametrize(
    ("location", "host"),
    [("//login.example/x", "login.example"), ("/x", "127.0.0.1"), ("http://[", "another address")],
)
def test_a_redirect_may_be_relative_or_invalid(location: str, host: str, server: TokenServer) -> None:
    server.script(Answer(302, headers={"Location": location}))
    assert f"redirects to {host} (status 302)" in failure_of(client_source(server.url))


def test_a_long_description_is_cut(server: TokenServer) -> None:
    server.script(Answer(400, json.dumps({"error": "x", "error_description": "word " * 1000}).encode()))
    assert len(failure_of(client_source(server.url))) < 500
