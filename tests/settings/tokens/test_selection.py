"""The source of tokens by the properties of both of Kafka's clients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.settings import TokenCredentials
from kafka_groups.settings.tokens.azure_identity import AzureIdentity
from kafka_groups.settings.tokens.client_credentials import ClientCredentials
from kafka_groups.settings.tokens.token_command import TokenCommand
from kafka_groups.settings.tokens.token_file import TokenFile
from kafka_groups.settings.tokens.unsecured import UnsecuredToken
from tests.settings import resolution
from tests.settings.tokens.token_sources import CLIENT, ENDPOINT, SECRET, settings_error, source_of

COMMAND = "sasl.oauthbearer.token.command"
UNSECURED = "enable.sasl.oauthbearer.unsecure.jwt"
METADATA = "sasl.oauthbearer.metadata.authentication.type"
CONFIG = "sasl.oauthbearer.config"
METHOD = "sasl.oauthbearer.method"
URL = "https://login.example/token"


@pytest.mark.parametrize("method", [{}, {METHOD: "oidc"}, {METHOD: "default"}, {METHOD: "OIDC"}])
@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({ENDPOINT: URL, **CLIENT}, ClientCredentials),
        ({ENDPOINT: URL, **CLIENT, METADATA: "none"}, ClientCredentials),
        ({ENDPOINT: "file:///run/token"}, TokenFile),
        ({COMMAND: "get-token --now"}, TokenCommand),
        ({UNSECURED: "true", CONFIG: "principal=me"}, UnsecuredToken),
        ({METADATA: "azure_imds", CONFIG: "query=resource=a"}, AzureIdentity),
    ],
)
def test_the_properties_choose_the_source(method: dict[str, str], properties: dict[str, str], kind: type) -> None:
    assert isinstance(source_of({**properties, **method}), kind)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:///run/token", "/run/token"),
        ("FILE:///run/a%20b", "/run/a b"),
        ("file:/run/token", "/run/token"),
        ("file://localhost/run/token", "/run/token"),
    ],
)
def test_a_file_url_names_a_file_of_this_machine(url: str, path: str) -> None:
    assert source_of({ENDPOINT: url}) == TokenFile(path)


@pytest.mark.parametrize("url", ["file://server/run/token", "file:token", "file://"])
def test_another_file_url_is_refused(url: str) -> None:
    assert settings_error({ENDPOINT: url}) == f"{ENDPOINT}={url} is no file of this machine; write file:///PATH"


def test_words_of_a_command_and_parts_of_an_unsecured_token_are_read() -> None:
    assert source_of({COMMAND: "get 'a b' c"}) == TokenCommand(("get", "a b", "c"), COMMAND)
    source = source_of({UNSECURED: "true", CONFIG: "principal=me scope=a,b"})
    assert source == UnsecuredToken("me", ("a", "b"))


def test_without_any_source_the_error_names_two() -> None:
    text = "sasl.mechanism=OAUTHBEARER needs a token, and no property says where it comes from"
    for method in ({}, {METHOD: "oidc"}, {METADATA: "none"}, {UNSECURED: "false"}, CLIENT):
        assert settings_error(method).startswith(f"{text}; set {ENDPOINT} (https:// or file:///PATH) or {COMMAND}")


@pytest.mark.parametrize("properties", [{}, {ENDPOINT: URL}])
@pytest.mark.parametrize(
    ("jaas", "problem"),
    [
        (
            f'a.OAuthBearerLoginModule required clientId="me" clientSecret="{SECRET};',
            "the options of OAuthBearerLoginModule cannot be parsed; write them as ",
        ),
        (f'OAuthBearerLoginModule clientId="{SECRET}"', "it names no login module; write org.apache.kafka."),
    ],
    ids=["quote", "module"],
)
def test_a_jaas_text_that_cannot_be_parsed_is_named(properties: dict[str, str], jaas: str, problem: str) -> None:
    assert settings_error({**properties, "sasl.jaas.config": jaas}).startswith(f"sasl.jaas.config: {problem}")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({COMMAND: "x", ENDPOINT: URL}, f"{COMMAND} and {ENDPOINT} exclude each other; remove one of them"),
        (
            {ENDPOINT: "file:///x", UNSECURED: "true"},
            f"{ENDPOINT} and {UNSECURED} exclude each other; remove one of them",
        ),
        ({COMMAND: "x", METADATA: "gcp"}, f"{COMMAND} and {METADATA} exclude each other; remove one of them"),
        ({UNSECURED: "true"}, f"{UNSECURED} needs the name of a user; set {CONFIG}=principal=NAME"),
        ({UNSECURED: "yes"}, f"{UNSECURED}=yes is neither true nor false; write one of them"),
        ({METHOD: "other"}, f"{METHOD}=other is not supported; write oidc or default"),
        (
            {METADATA: "aws_iam"},
            f"{METADATA}=aws_iam is not supported; write none, azure_imds or gcp; for Amazon MSK set sasl.mechanism",
        ),
        ({COMMAND: f"x '{SECRET}"}, f"{COMMAND}: a quotation mark of the command has no partner"),
    ],
)
def test_properties_that_cannot_be_used_are_refused(properties: dict[str, str], text: str) -> None:
    assert settings_error(properties).startswith(text)


def test_a_source_of_a_flag_replaces_the_one_of_a_file(tmp_path: Path) -> None:
    handler = "sasl.login.callback.handler.class=com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler\n"
    frame = "bootstrap.servers=b:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
    for lower in (handler, f"{ENDPOINT}={URL}\n", f"{METADATA}=gcp\n", f"{COMMAND}=x\n"):
        config = resolution.write_file(tmp_path, frame + lower)
        settings = resolution.resolve(config=config, properties=[f"{ENDPOINT}=file:///run/token"])
        assert isinstance(settings.credentials, TokenCredentials)
        assert settings.credentials.source == TokenFile("/run/token")
        assert settings.credentials.identity == "the token file /run/token"


@pytest.mark.parametrize("url", ["file:///run/token", URL])
def test_http_and_tls_are_imported_when_a_token_is_fetched(url: str) -> None:
    properties = {ENDPOINT: url, **CLIENT, "sasl.oauthbearer.assertion.private.key.file": "/key"}
    program = (
        "import sys\n"
        "from tests.settings.tokens.token_sources import source_of\n"
        f"source_of({properties!r})\n"
        "print(*sys.modules)"
    )
    path = os.pathsep.join(each for each in sys.path if each)
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    imported = set(result.stdout.split())
    assert not imported & {"ssl", "http.client", "urllib.request", "cryptography"}
    assert ("kafka_groups.settings.tokens.http_client" in imported) == url.startswith("https")
