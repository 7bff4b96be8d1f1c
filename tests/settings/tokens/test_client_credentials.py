"""Tokens of a client with a secret (KIP-768) or an assertion (KIP-1258, KIP-1139), from a scripted endpoint."""

from __future__ import annotations

import logging
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from kafka_groups.settings.tokens.assertion import AssertionFile
from kafka_groups.settings.tokens.client_credentials import ClientCredentials
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint
from tests.fakes.jwt_tokens import make_key, to_pem
from tests.fakes.token_server import Answer, TokenServer, json_answer
from tests.settings.tokens.token_sources import (
    CLIENT,
    CLIENT_ID,
    CLIENT_SECRET,
    ENDPOINT,
    QUICK,
    SECRET,
    client_source,
    credentials_of,
    failure_of,
    fetch,
    reprs,
    settings_error,
    source_of,
)

pytestmark = pytest.mark.timeout(30)
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer(client_secret=SECRET) as running:
        yield running


@pytest.fixture
def assertion_file(tmp_path: Path) -> str:
    path = tmp_path / "assertion"
    path.write_text("aaa.bbb.ccc\n")
    return str(path)


def basic(request_header: str) -> str:
    """Return the credentials of an Authorization header."""
    return b64decode(request_header.removeprefix("Basic ")).decode()


def test_a_token_is_requested_with_the_secret_in_the_header_and_no_scope(server: TokenServer) -> None:
    token = fetch(client_source(server.url))
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/token", "grant_type=client_credentials")
    assert basic(request.headers["authorization"]) == f"my-client:{SECRET}"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert (request.headers["accept"], request.headers["cache-control"]) == ("application/json", "no-cache")
    assert token.subject == "my-client"
    assert token.expires_at == pytest.approx(time.time() + 3600, abs=5)


def test_the_scope_is_sent_as_it_is_written(server: TokenServer) -> None:
    fetch(source_of({ENDPOINT: server.url, **CLIENT, "sasl.oauthbearer.scope": "api://kafka/.default"}))
    assert server.requests[0].body == "grant_type=client_credentials&scope=api://kafka/.default"


def test_id_secret_and_scope_are_url_encoded_on_demand() -> None:
    properties = {CLIENT_ID: "a b", CLIENT_SECRET: "c/d+é", "sasl.oauthbearer.scope": "e f&g"}
    with TokenServer() as server:
        server.script(json_answer({"access_token": "t"}))
        fetch(source_of({ENDPOINT: server.url, **properties, "sasl.oauthbearer.header.urlencode": "true"}))
        assert basic(server.requests[0].headers["authorization"]) == "a+b:c%2Fd%2B%C3%A9"
        assert server.requests[0].body == "grant_type=client_credentials&scope=e+f%26g"


def test_a_wrong_secret_is_one_request_and_an_error_with_the_next_step(server: TokenServer) -> None:
    text = failure_of(source_of({ENDPOINT: server.url, **CLIENT, CLIENT_SECRET: "wrong-thing"}))
    assert text == (
        f"the endpoint {server.url} returned status 401: invalid_client: Invalid client or Invalid client credentials; "
        "check sasl.oauthbearer.client.credentials.client.id and .client.secret, or the assertion"
    )
    assert len(server.requests) == 1


def test_an_endpoint_that_repeats_the_secret_is_quoted_without_it(server: TokenServer) -> None:
    header = b64encode(f"my-client:{SECRET}".encode()).decode()
    said = f"no {SECRET}, nor {quote_plus(SECRET)}, nor Basic {header}"
    server.script(json_answer({"error": "invalid_client", "error_description": said}, 400))
    text = failure_of(client_source(server.url))
    assert "invalid_client: no (hidden), nor (hidden), nor Basic (hidden)" in text


@pytest.mark.parametrize("missing", [CLIENT_ID, CLIENT_SECRET])
def test_a_missing_id_or_secret_is_named(missing: str) -> None:
    properties = {ENDPOINT: "https://login.example/t", **CLIENT}
    del properties[missing]
    name = missing.replace("client.", "client.credentials.client.", 1)
    assert settings_error(properties) == (
        f"{ENDPOINT} needs {name}, which is not set; set it, or sasl.oauthbearer.assertion.file"
    )


def test_options_of_a_jaas_text_are_those_of_the_properties(server: TokenServer) -> None:
    options = f'clientId="my-client" clientSecret="{SECRET}" scope="read" extension_logicalCluster="lkc-1"'
    credentials = credentials_of({ENDPOINT: server.url, "sasl.jaas.config": f"{MODULE} {options};"})
    assert fetch(credentials.source).subject == "my-client"
    assert server.requests[0].form == {"grant_type": "client_credentials", "scope": "read"}
    assert credentials.extensions == {"logicalCluster": "lkc-1"}


def test_options_of_strimzis_login_module_name_endpoint_id_and_secret(server: TokenServer) -> None:
    options = f'oauth.client.id="my-client" oauth.client.secret="{SECRET}" oauth.scope="read"'
    jaas = f'{MODULE} {options} oauth.token.endpoint.uri="{server.url}";'
    handler = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
    source = source_of({"sasl.jaas.config": jaas, "sasl.login.callback.handler.class": handler})
    assert fetch(source).subject == "my-client"
    assert server.requests[0].form == {"grant_type": "client_credentials", "scope": "read"}


def test_options_of_strimzis_login_module_name_a_ca_and_an_assertion(assertion_file: str) -> None:
    options = f'oauth.client.assertion.location="{assertion_file}" oauth.ssl.truststore.location="/ca.pem"'
    source = source_of({ENDPOINT: "https://login.example/t", "sasl.jaas.config": f"{MODULE} {options};"})
    assert isinstance(source, ClientCredentials)
    assert source.assertion == AssertionFile(assertion_file)
    assert source.endpoint.http.ca_file == "/ca.pem"


def test_a_secret_that_is_not_utf_8_is_refused() -> None:
    text = settings_error({ENDPOINT: "https://login.example/t", **CLIENT, CLIENT_SECRET: f"{SECRET}\udcff"})
    assert text == f"{CLIENT_SECRET} is not valid UTF-8; write it in UTF-8"


def test_an_assertion_takes_the_place_of_the_secret(server: TokenServer, assertion_file: str) -> None:
    server.script(json_answer({"access_token": "t"}))
    assertion = {"sasl.oauthbearer.assertion.file": assertion_file, "sasl.oauthbearer.scope": "read"}
    fetch(source_of({ENDPOINT: server.url, **CLIENT, **assertion}))
    (request,) = server.requests
    assert "authorization" not in request.headers
    assert request.body == (
        "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        "&client_assertion=aaa.bbb.ccc&grant_type=client_credentials&client_id=my-client&scope=read"
    )


@pytest.mark.parametrize(
    "grant",
    [
        {"sasl.oauthbearer.grant.type": JWT_BEARER},
        {"sasl.oauthbearer.jwt.retriever.class": "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"},
    ],
    ids=["librdkafka's", "Java's"],
)
def test_the_grant_jwt_bearer_sends_the_assertion_alone(
    grant: dict[str, str], server: TokenServer, assertion_file: str
) -> None:
    server.script(json_answer({"access_token": "t"}))
    fetch(source_of({ENDPOINT: server.url, "sasl.oauthbearer.assertion.file": assertion_file, **grant}))
    (request,) = server.requests
    assert "authorization" not in request.headers
    assert request.body == f"grant_type={quote_plus(JWT_BEARER)}&assertion=aaa.bbb.ccc"


def test_the_grant_jwt_bearer_needs_an_assertion() -> None:
    text = settings_error({ENDPOINT: "https://login.example/t", **CLIENT, "sasl.oauthbearer.grant.type": JWT_BEARER})
    assert text == (
        "the grant jwt-bearer needs an assertion; set sasl.oauthbearer.assertion.file or "
        "sasl.oauthbearer.assertion.private.key.file"
    )


@pytest.mark.parametrize(
    ("key", "value", "advice"),
    [
        ("sasl.oauthbearer.grant.type", "password", f"write client_credentials or {JWT_BEARER}"),
        ("sasl.oauthbearer.jwt.retriever.class", "a.OtherRetriever", "write a class of Kafka's: ClientCredentials"),
        (
            "sasl.oauthbearer.jwt.retriever.class",
            "a.FileJwtRetriever",
            f"needs a file; write file:///PATH to {ENDPOINT}",
        ),
        ("sasl.oauthbearer.header.urlencode", "yes", "is neither true nor false; write one of them"),
        ("sasl.login.retry.backoff.ms", "1s", "is not a whole number of at least 0; write for example 100"),
    ],
)
def test_a_value_that_is_not_supported_is_reported_with_the_others(key: str, value: str, advice: str) -> None:
    text = settings_error({ENDPOINT: "https://login.example/t", **CLIENT, key: value})
    assert text.startswith(f"{key}={value} ")
    assert advice in text


def test_an_assertion_that_the_endpoint_repeats_is_not_shown(server: TokenServer, assertion_file: str) -> None:
    Path(assertion_file).write_text(SECRET)
    server.script(json_answer({"error": "invalid_grant", "error_description": f"bad {SECRET}"}, 400))
    text = failure_of(source_of({ENDPOINT: server.url, "sasl.oauthbearer.assertion.file": assertion_file}))
    assert text.endswith("invalid_grant: bad (hidden); check the assertion: its issuer, audience, expiry and key")


def test_no_secret_is_in_a_repr_an_exception_or_a_log(
    server: TokenServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    pem = to_pem(make_key()).decode()
    assertion = {
        "sasl.oauthbearer.assertion.private.key.pem": pem,
        "sasl.oauthbearer.assertion.private.key.passphrase": SECRET,
    }
    source = client_source(f"{server.url}?code={SECRET}")
    token = fetch(source)
    others = source_of({ENDPOINT: server.url, **CLIENT, **assertion})
    shown = reprs(source) + reprs(others) + repr(token) + repr(server.requests[0].path[:0]) + caplog.text
    shown += "".join(capfd.readouterr())
    for secret in (SECRET, token.text, pem.splitlines()[1]):
        assert secret not in shown
    server.script(Answer(404))
    assert f"the endpoint {server.url} returned status 404; check {ENDPOINT}" in failure_of(source)


def test_each_fetch_requests_a_new_token(server: TokenServer) -> None:
    source = client_source(server.url)
    assert not source.is_read_each_time
    fetch(source)
    fetch(source)
    assert len(server.requests) == 2


def test_an_opaque_token_expires_by_expires_in(server: TokenServer) -> None:
    server.script(json_answer({"access_token": "opaque", "expires_in": 120}))
    endpoint = TokenEndpoint(url=server.url)
    source = ClientCredentials(endpoint=endpoint, client_id="me", client_secret=SECRET, clock=lambda: 1000.0)
    token = fetch(source)
    assert (token.text, token.expires_at) == ("opaque", 1120.0)


def test_backoffs_are_settings(server: TokenServer) -> None:
    server.script(*[Answer(503)] * 3)
    assert fetch(source_of({ENDPOINT: server.url, **CLIENT, **QUICK})).subject == "my-client"
    assert len(server.requests) == 4
