"""Certificates of a sandbox, as Python's TLS verifies them."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.sandbox.security.certificates import Authority, create_authority, issue_client, issue_server

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return create_authority(NOW)


def _server(directory: Path, authority: Authority) -> ssl.SSLContext:
    """Return a server that requires the certificate of a client, as the listener SSL does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_file(directory, issue_server(authority, NOW)))
    context.load_verify_locations(cadata=authority.pem().decode())
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def _client(directory: Path, trusted: Authority, certificate: bytes | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=trusted.pem().decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if certificate is not None:
        context.load_cert_chain(_file(directory, certificate))
    return context


def _file(directory: Path, content: bytes) -> Path:
    path = directory / f"{len(list(directory.iterdir()))}.pem"
    path.write_bytes(content)
    return path


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> dict[str, str]:
    """Return the parts of the client's name that the server sees at the end of a handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    accepted = server.wrap_bio(to_server, to_client, server_side=True)
    opened = client.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (opened, accepted):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    certificate: Any = accepted.getpeercert()
    return dict(part for (part,) in certificate["subject"])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_user_authenticates_with_the_certificate_of_that_name(
    tmp_path: Path, authority: Authority, host: str
) -> None:
    client = _client(tmp_path, authority, issue_client(authority, "admin", NOW))

    name = _shake_hands(_server(tmp_path, authority), client, host)

    assert name == {"organizationName": "kafka-groups sandbox", "commonName": "admin"}


def test_another_host_is_refused(tmp_path: Path, authority: Authority) -> None:
    client = _client(tmp_path, authority, issue_client(authority, "admin", NOW))

    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        _shake_hands(_server(tmp_path, authority), client, "broker.example")


@pytest.mark.parametrize("kind", ["none", "of another authority", "of a server"])
def test_another_certificate_than_a_clients_is_refused(tmp_path: Path, authority: Authority, kind: str) -> None:
    certificate = {
        "none": None,
        "of another authority": issue_client(create_authority(NOW), "admin", NOW),
        "of a server": issue_server(authority, NOW),
    }[kind]

    with pytest.raises(ssl.SSLError):
        _shake_hands(_server(tmp_path, authority), _client(tmp_path, authority, certificate), "localhost")


def test_the_repr_of_an_authority_has_no_key(authority: Authority) -> None:
    assert "key" not in repr(authority)
