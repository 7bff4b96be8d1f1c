"""Tokens of the metadata endpoints of Azure and Google Cloud, from a scripted server in their place."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode

import pytest

from kafka_groups.settings.tokens.azure_identity import AzureIdentity
from kafka_groups.settings.tokens.gcp_account import GcpAccount
from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint
from tests.fakes.token_server import Answer, HttpRequest, TokenServer, json_answer
from tests.settings.tokens.token_sources import ENDPOINT, QUICK, failure_of, fetch, settings_error, source_of

pytestmark = pytest.mark.timeout(30)
TYPE = "sasl.oauthbearer.metadata.authentication.type"
CONFIG = "sasl.oauthbearer.config"
HANDLER = {"sasl.login.callback.handler.class": "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"}
QUERY = "api-version=2018-02-01&resource=api%3A%2F%2Fkafka&client_id=0f0e"
ACCOUNT = "me@project.iam.gserviceaccount.com"
METADATA = "/computeMetadata/v1/instance/service-accounts/default"


def decode(part: str) -> bytes:
    """Return the bytes of a part of a JWT."""
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def google(request: HttpRequest) -> Answer:
    """Respond as Google's metadata endpoint does."""
    if request.headers.get("metadata-flavor") != "Google":
        return Answer(403)
    bodies = {
        "/email": Answer(200, ACCOUNT.encode()),
        "/token": json_answer({"access_token": "ya29.c+/", "expires_in": 600}),
    }
    return bodies[request.path]


@pytest.mark.parametrize("config", [f"query={QUERY}", f"query=?{QUERY}", QUERY])
def test_azure_returns_a_token_for_the_query_of_the_config(config: str) -> None:
    with TokenServer() as server:
        server.script(json_answer({"access_token": "opaque", "expires_in": "3599"}))
        url = server.url.replace("/token", "/metadata/identity/oauth2/token")
        token = fetch(source_of({TYPE: "azure_imds", CONFIG: config, ENDPOINT: url}))
        (request,) = server.requests
        assert (request.method, request.path) == ("GET", f"/metadata/identity/oauth2/token?{QUERY}")
        assert request.headers["metadata"] == "true"
        assert "authorization" not in request.headers
        assert token.expires_at == pytest.approx(time.time() + 3599, abs=5)


def test_azure_has_a_fixed_address_and_one_of_the_user_may_have_the_query() -> None:
    source = source_of({TYPE: "AZURE_IMDS", CONFIG: f"query={QUERY}"})
    assert isinstance(source, AzureIdentity)
    assert source.endpoint.url == f"http://169.254.169.254/metadata/identity/oauth2/token?{QUERY}"
    assert source.place == "Azure's metadata endpoint http://169.254.169.254/metadata/identity/oauth2/token"
    source = source_of({TYPE: "azure_imds", ENDPOINT: f"http://169.254.169.254/other?{QUERY}"})
    assert isinstance(source, AzureIdentity)
    assert source.endpoint.url == f"http://169.254.169.254/other?{QUERY}"


def test_azure_needs_the_resource_of_the_token() -> None:
    assert settings_error({TYPE: "azure_imds"}) == (
        f"azure_imds needs the resource of the token; set {CONFIG}=query=api-version=2018-02-01&resource=RESOURCE"
    )
    text = settings_error({TYPE: "azure_imds", CONFIG: "query=resource=hidden-thing thing"})
    assert text.startswith(f"{CONFIG} has a blank, a control character or a letter that is not ASCII")


def test_azure_reports_why_there_is_no_token() -> None:
    with TokenServer() as server:
        server.script(json_answer({"error": "invalid_request", "error_description": "Identity not found"}, 400))
        source = source_of({TYPE: "azure_imds", CONFIG: f"query={QUERY}", ENDPOINT: server.url})
        assert failure_of(source) == (
            f"Azure's metadata endpoint {server.url} returned status 400: invalid_request: Identity not found"
        )


@pytest.mark.parametrize("choice", [HANDLER, {TYPE: "gcp"}], ids=["Java's handler", "our value"])
def test_google_takes_the_access_token_in_a_jwt_that_names_the_account(choice: dict[str, str]) -> None:
    with TokenServer() as server:
        server.respond = google
        token = fetch(source_of({**choice, ENDPOINT: server.url.removesuffix("/token")}))
    header, claims, access = (decode(part) for part in token.text.split("."))
    assert json.loads(header) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
    read = json.loads(claims)
    assert {name: read[name] for name in ("iss", "scope", "sub")} == {"iss": "Google", "scope": "kafka", "sub": ACCOUNT}
    assert read["exp"] - read["iat"] == 600
    assert access == b"ya29.c+/"
    assert "=" not in token.text
    assert (token.subject, token.expires_at) == (ACCOUNT, read["exp"])


def test_google_has_a_fixed_address() -> None:
    source = source_of(HANDLER)
    assert isinstance(source, GcpAccount)
    assert source.endpoint.url == f"http://169.254.169.254{METADATA}"


@pytest.mark.parametrize("body", [b"", b"<html>", b"a@b\x1b", b"a@" + b"b" * 400])
def test_google_needs_a_service_account(body: bytes) -> None:
    with TokenServer() as server:
        server.script(Answer(200, body))
        text = failure_of(GcpAccount(endpoint=TokenEndpoint(url=server.url)))
        assert text.endswith("returned no name of a service account; give the machine a service account")


def test_a_metadata_endpoint_follows_no_redirect_and_tries_again() -> None:
    with TokenServer() as server:
        source = source_of({**HANDLER, **QUICK, ENDPOINT: server.url})
        server.script(Answer(302, headers={"Location": "https://login.example/"}))
        assert "redirects to login.example (status 302)" in failure_of(source)
        server.script(Answer(429), Answer(200, ACCOUNT.encode()), Answer(500), json_answer({"access_token": "x"}))
        assert fetch(source).subject == ACCOUNT
