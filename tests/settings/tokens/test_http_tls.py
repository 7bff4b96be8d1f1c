"""TLS of token endpoints: the CAs of the settings, and certificates that are refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.settings.tokens.http_client import HttpSettings
from tests.fakes.token_server import TokenServer
from tests.settings.tokens.http_exchanges import failure, get
from tests.settings.tokens.token_sources import CLIENT, ENDPOINT, SECRET, client_source, fetch, settings_error

pytestmark = pytest.mark.timeout(30)


def test_https_trusts_the_ca_of_the_settings(certificate: Callable[[str], Path]) -> None:
    path = certificate("IP:127.0.0.1")
    with TokenServer(client_secret=SECRET, certificate=path) as server:
        assert fetch(client_source(server.url, https_ca_location=str(path))).subject == "my-client"
        assert fetch(client_source(server.url, https_ca_pem=path.read_text())).subject == "my-client"


def test_https_trusts_the_cas_of_a_directory(
    certificate: Callable[[str], Path], program: Callable[[str], str], tmp_path: Path
) -> None:
    path = certificate("IP:127.0.0.1")
    command = [program("openssl"), "x509", "-noout", "-hash", "-in", str(path)]
    digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / f"{digest}.0").write_text(path.read_text())
    with TokenServer(certificate=path) as server:
        assert get(server.url, HttpSettings(ca_file=str(tmp_path))).status == 401


def test_an_unknown_ca_is_one_request_and_names_the_setting(certificate: Callable[[str], Path]) -> None:
    with TokenServer(certificate=certificate("IP:127.0.0.1")) as server:
        error = failure(server.url)
        assert str(error) == (
            "has a certificate that is not trusted: self-signed certificate; "
            "set https.ca.location to the CA of the endpoint"
        )
        assert not error.is_retriable
        assert server.requests == []


def test_a_certificate_of_another_name_is_refused(certificate: Callable[[str], Path]) -> None:
    path = certificate("DNS:login.example")
    with TokenServer(certificate=path) as server:
        error = failure(server.url, HttpSettings(ca_file=str(path)))
        assert str(error).startswith("has a certificate that is not trusted: IP address mismatch")
        assert str(error).endswith("; write the URL with a name that the certificate has")


def test_https_to_a_port_without_tls_is_explained() -> None:
    with TokenServer() as server:
        error = failure(server.url.replace("http:", "https:"))
        assert str(error) == "does not use TLS; check the port of the URL"


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "no such file or directory"), ("no certificate", "it has no certificate in PEM")]
)
def test_a_ca_file_that_cannot_be_used_is_named(content: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    error = failure("https://127.0.0.1:1/", HttpSettings(ca_file=str(path)))
    assert str(error) == (
        f"cannot be verified: https.ca.location={path} cannot be used: {reason}; write a PEM file with the CA"
    )


def test_settings_of_the_ca_that_cannot_be_used_are_refused() -> None:
    properties = {ENDPOINT: "https://login.example/t", **CLIENT}
    assert settings_error({**properties, "https.ca.pem": SECRET}) == (
        "https.ca.pem has no certificate; write the text of a PEM file"
    )
    assert settings_error({**properties, "https.ca.pem": SECRET, "https.ca.location": "/ca.pem"}) == (
        "https.ca.location and https.ca.pem exclude each other; remove one of them"
    )
