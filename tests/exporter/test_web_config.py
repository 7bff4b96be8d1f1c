"""The web config file: TLS, users, its errors, and changes while the server runs."""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bcrypt
import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.exporter.web_config import FileAccess, open_access, read_web_config
from tests.certificates import make_certificate
from tests.exporter.exporters import Exporter, https_connection, request, serve_cluster, small_cluster
from tests.fakes.scripted_cluster import ScriptedCluster

HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
# What a client sees of a server that ends the handshake.
DISCONNECTED = (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)
USERS = f"basic_auth_users:\n  scraper: {HASH}\n"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with small_cluster() as running:
        yield running


@pytest.fixture
def certificate(tmp_path: Path, program: Callable[[str], str]) -> Path:
    return make_certificate(program("openssl"), tmp_path, "IP:127.0.0.1")


def write(directory: Path, text: str) -> str:
    """Write a web config file, and return its name."""
    path = directory / "web.yml"
    path.write_text(text)
    return str(path)


def basic(user: str, password: str) -> str:
    """Return an Authorization header."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def tls_of(certificate: Path, more: str = "") -> str:
    """Return a section whose paths are relative to the file."""
    return f"tls_server_config:\n  cert_file: {certificate.name}\n  key_file: {certificate.name}\n{more}"


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (basic("scraper", "secret"), 200),
        (basic("scraper", "wrong"), 401),
        (basic("nobody", "secret"), 401),
        (basic("scraper", ""), 401),
        ("Basic %%%", 401),
        ("Bearer token", 401),
        ("", 401),
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_only_users_with_their_password_are_allowed(
    cluster: ScriptedCluster, tmp_path: Path, header: str, status: int, path: str
) -> None:
    with serve_cluster(cluster, access=open_access(write(tmp_path, USERS))) as exporter:
        assert exporter.get(path, Authorization=header).status == status
        response = exporter.get(path, Authorization=header)
        assert response.status == status
    assert ("WWW-Authenticate" in response.headers) is (status == 401)
    assert b"kafka_groups_group" not in response.body or status == 200


def test_a_password_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = FileAccess(write(tmp_path, USERS))
    calls: list[bytes] = []
    check = bcrypt.checkpw

    def count(password: bytes, hashed: bytes) -> bool:
        calls.append(password)
        return check(password, hashed)

    monkeypatch.setattr(bcrypt, "checkpw", count)
    assert all(access.allows(basic("scraper", "secret")) for _ in range(3))
    assert not any(access.allows(basic("scraper", "wrong")) for _ in range(2))
    assert calls == [b"secret", b"wrong", b"wrong"]


def touch(path: Path, text: str) -> None:
    """Replace a file, with another time."""
    path.write_text(text)
    later = time.time() + 10
    os.utime(path, (later, later))


def test_users_that_change_take_effect_at_once(tmp_path: Path) -> None:
    name = write(tmp_path, USERS)
    access = open_access(name)
    assert access.allows(basic("scraper", "secret"))
    touch(Path(name), USERS.replace("scraper", "other"))
    assert not access.allows(basic("scraper", "secret"))
    assert access.allows(basic("other", "secret"))


def get_by_tls(exporter: Exporter, context: ssl.SSLContext) -> int:
    return request(https_connection(exporter, context), "/metrics").status


def test_tls_is_served_with_the_certificate_of_the_file(
    cluster: ScriptedCluster, tmp_path: Path, certificate: Path
) -> None:
    access = open_access(write(tmp_path, tls_of(certificate)))
    with serve_cluster(cluster, access=access) as exporter:
        assert exporter.server.url.startswith("https://127.0.0.1:")
        assert get_by_tls(exporter, ssl.create_default_context(cafile=str(certificate))) == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            get_by_tls(exporter, ssl.create_default_context())


def test_a_certificate_that_is_replaced_serves_the_next_connection(
    cluster: ScriptedCluster, tmp_path: Path, certificate: Path, program: Callable[[str], str]
) -> None:
    access = open_access(write(tmp_path, tls_of(certificate)))
    folder = tmp_path / "new"
    folder.mkdir()
    renewed = make_certificate(program("openssl"), folder, "IP:127.0.0.1")
    with serve_cluster(cluster, access=access) as exporter:
        assert get_by_tls(exporter, ssl.create_default_context(cafile=str(certificate))) == 200
        touch(certificate, renewed.read_text())
        assert get_by_tls(exporter, ssl.create_default_context(cafile=str(renewed))) == 200


def test_a_certificate_that_cannot_be_used_refuses_connections_and_is_reported(
    cluster: ScriptedCluster, tmp_path: Path, certificate: Path
) -> None:
    good = certificate.read_text()
    access = open_access(write(tmp_path, tls_of(certificate)))
    with serve_cluster(cluster, access=access) as exporter:
        context = ssl.create_default_context(cafile=str(certificate))
        touch(certificate, "no certificate")
        with pytest.raises(DISCONNECTED):
            get_by_tls(exporter, context)
        certificate.write_text(good)
        assert get_by_tls(exporter, context) == 200
        assert any("cannot be used" in line for line in exporter.lines)


def test_client_certificates_are_verified(cluster: ScriptedCluster, tmp_path: Path, certificate: Path) -> None:
    more = f"  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: {certificate.name}\n"
    access = open_access(write(tmp_path, tls_of(certificate, more)))
    with serve_cluster(cluster, access=access) as exporter:
        context = ssl.create_default_context(cafile=str(certificate))
        with pytest.raises(DISCONNECTED):
            get_by_tls(exporter, context)
        context.load_cert_chain(certificate)
        assert get_by_tls(exporter, context) == 200


def test_an_old_version_of_tls_is_refused(cluster: ScriptedCluster, tmp_path: Path, certificate: Path) -> None:
    access = open_access(write(tmp_path, tls_of(certificate, "  min_version: TLS13\n")))
    with serve_cluster(cluster, access=access) as exporter:
        context = ssl.create_default_context(cafile=str(certificate))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(DISCONNECTED):
            get_by_tls(exporter, context)


@pytest.mark.parametrize("text", ["", "{}", "basic_auth_users: {}\n", "tls_server_config:\n"])
def test_an_empty_file_is_open_access(tmp_path: Path, text: str) -> None:
    access = open_access(write(tmp_path, text))
    assert access.allows(None)
    assert access.context() is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a", "it is not a mapping"),
        ("a: [", "it is not YAML: "),
        ("basic_auth: {}", "unknown key basic_auth; known are tls_server_config, basic_auth_users"),
        ("http_server_config: {http2: true}", "http_server_config is not supported; remove it"),
        ("basic_auth_users: [a]", "basic_auth_users is not a mapping"),
        ("basic_auth_users: {a: plain}", "the password of 'a' is not hashed with bcrypt"),
        ("tls_server_config: {cert: x}", "tls_server_config: unknown key cert; known are cert_file, "),
        ("tls_server_config: {cert_file: x}", "tls_server_config needs cert_file and key_file"),
        ("tls_server_config: {cert_file: x, key_file: x}", "No such file or directory"),
        (
            "tls_server_config: {cert_file: x, key_file: x, min_version: TLS10}",
            "min_version 'TLS10' is not one of TLS12, TLS13",
        ),
        (
            "tls_server_config: {cert_file: x, key_file: x, cipher_suites: [a]}",
            "cipher_suites is not supported; remove it",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_with_its_name(tmp_path: Path, text: str, problem: str) -> None:
    name = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        read_web_config(name)
    assert str(caught.value).startswith(f"the web config file {name} cannot be used: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("  client_auth_type: RequireAnyClientCert\n", "RequireAnyClientCert verifies nothing; use another one"),
        ("  client_auth_type: RequireAndVerifyClientCert\n", "RequireAndVerifyClientCert needs client_ca_file"),
        ("  client_ca_file: 127.0.0.1\n", "needs a client_auth_type that verifies certificates"),
    ],
)
def test_client_certificates_that_nothing_verifies_are_an_error(
    tmp_path: Path, certificate: Path, more: str, problem: str
) -> None:
    text = tls_of(certificate, more.replace("127.0.0.1", certificate.name))
    with pytest.raises(SettingsError, match=problem):
        read_web_config(write(tmp_path, text))


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="it cannot be read: No such file or directory"):
        open_access(str(tmp_path / "web.yml"))
