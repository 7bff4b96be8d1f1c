"""The URLs that a secret may be sent to."""

from __future__ import annotations

import pytest

from kafka_groups.settings.tokens.token_endpoint import TokenEndpoint
from tests.settings.tokens.token_sources import CLIENT, ENDPOINT, SECRET, settings_error, source_of


@pytest.mark.parametrize(
    "url",
    [
        "https://login.example/token",
        "HTTPS://login.example:8443",
        "https://login.example/token?tenant=a",
        "http://localhost:8080/token",
        "http://127.0.0.1/token",
        "http://127.8.9.10:1/token",
        "http://[::1]:8080/token",
        "http://169.254.169.254/metadata",
    ],
)
def test_https_this_machine_and_metadata_addresses_are_accepted(url: str) -> None:
    assert source_of({ENDPOINT: url, **CLIENT}).place.startswith("the endpoint ")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://login.example/token", "would send secrets without encryption; write https://HOST/PATH"),
        ("http://127.0.0.1.example/token", "would send secrets without encryption"),
        ("http://169.254.169.253/token", "would send secrets without encryption"),
        ("http://0.0.0.0/token", "would send secrets without encryption"),
        ("http://localhost.example/token", "would send secrets without encryption"),
        ("ftp://login.example/token", "is not supported; write https://HOST/PATH or file:///PATH"),
        ("login.example/token", "is not supported; write https://HOST/PATH or file:///PATH"),
        ("https:///token", "is not supported; write https://HOST/PATH or file:///PATH"),
        ("https://login.example:0/token", "is not supported; write"),
        ("https://login.example:99999/token", "is no URL; write https://HOST/PATH"),
        ("https://[login.example/token", "is no URL; write https://HOST/PATH"),
        ("https://login.example/a b", "has a blank, a control character or a letter that is not ASCII"),
        ("https://login.example/a\r\nX: y", "has a blank, a control character or a letter that is not ASCII"),
        ("https://lögin.example/", "has a blank, a control character or a letter that is not ASCII"),
    ],
)
def test_another_url_is_refused(url: str, problem: str) -> None:
    text = settings_error({ENDPOINT: url, **CLIENT})
    assert text.startswith(ENDPOINT)
    assert problem in text


@pytest.mark.parametrize("url", [f"https://me:{SECRET}@login.example/t", f"ftp://login.example/t?code={SECRET}"])
def test_a_refused_url_is_shown_without_user_and_query(url: str) -> None:
    assert settings_error({ENDPOINT: url, **CLIENT}).startswith(
        f"{ENDPOINT}={url.partition(':')[0]}://login.example/t "
    )


def test_an_endpoint_is_shown_without_its_query() -> None:
    endpoint = TokenEndpoint(url=f"https://login.example:1/t?code={SECRET}#{SECRET}")
    assert endpoint.place == "the endpoint https://login.example:1/t"
    assert SECRET not in repr(endpoint)
