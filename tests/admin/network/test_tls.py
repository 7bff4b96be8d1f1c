"""TLS to a real TLS listener: certificates are always verified."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.tls import make_context
from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from tests.admin.network.tls_listener import listing_error, tls_broker

pytestmark = pytest.mark.timeout(20)


def test_groups_are_listed_over_tls_when_the_certificate_is_trusted(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker, GroupAdmin(broker.settings(tls=Tls(ca_file=str(file)))) as admin:
        assert list(admin.list_groups().all()) == ["orders"]


def test_trusted_certificates_may_be_a_directory_as_in_librdkafka(
    certificate: Callable[[str], Path], openssl: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    number = openssl("hash", "x509", "-in", str(file), "-noout", "-subject_hash").read_text().strip()
    directory = file.parent / "cas"
    directory.mkdir()
    (directory / f"{number}.0").write_text(file.read_text())
    with tls_broker(file) as broker, GroupAdmin(broker.settings(tls=Tls(ca_file=str(directory)))) as admin:
        assert list(admin.list_groups().all()) == ["orders"]


def test_certificates_and_an_encrypted_key_may_be_text(
    certificate: Callable[[str], Path], openssl: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    key = openssl("encrypted.pem", "pkey", "-in", str(file), "-aes128", "-passout", "pass:secret")
    text = file.read_text()
    tls = Tls(ca_pem=text, certificate_pem=text, key_pem=key.read_text(), key_password="secret")
    with tls_broker(file, client_ca=file) as broker, GroupAdmin(broker.settings(tls=tls)) as admin:
        assert list(admin.list_groups().all()) == ["orders"]


def test_no_temporary_file_with_a_key_is_left(
    certificate: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate("IP:127.0.0.1")
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    make_context(Tls(certificate_pem=file.read_text()))
    with pytest.raises(SettingsError):
        make_context(Tls(certificate_pem=file.read_text(), key_pem="x"))
    assert list(directory.iterdir()) == []


def test_a_trusted_certificate_need_not_be_a_root(
    openssl: Callable[..., Path], certificate: Callable[[str], Path]
) -> None:
    """Kafka's own clients trust each certificate of their trust store, whatever signed it."""
    root = certificate("DNS:root")
    request = openssl("request.pem", "req", "-new", "-key", str(root), "-subj", "/CN=broker")
    extensions = request.with_name("extensions")
    extensions.write_text("subjectAltName=IP:127.0.0.1")
    sign = ("-CA", str(root), "-CAkey", str(root), "-CAcreateserial", "-days", "2", "-extfile", str(extensions))
    leaf = openssl("leaf.pem", "x509", "-req", "-in", str(request), *sign)
    chain = leaf.with_name("chain.pem")
    chain.write_text(leaf.read_text() + root.read_text())
    with tls_broker(chain) as broker, GroupAdmin(broker.settings(tls=Tls(ca_file=str(leaf)))) as admin:
        assert list(admin.list_groups().all()) == ["orders"]


def test_every_python_verifies_certificates_by_the_same_rules() -> None:
    flags = make_context(Tls()).verify_flags
    assert (bool(flags & ssl.VERIFY_X509_PARTIAL_CHAIN), bool(flags & ssl.VERIFY_X509_STRICT)) == (True, False)


def test_a_self_signed_certificate_is_not_trusted(certificate: Callable[[str], Path]) -> None:
    with tls_broker(certificate("IP:127.0.0.1")) as broker:
        name, text = listing_error(broker.endpoint, tls=Tls())
    assert name == "TLS_FAILED"
    assert text == (
        "the broker's certificate is not trusted: self-signed certificate; "
        "set ssl.ca.location (ssl.truststore.location) to the CA of the brokers"
    )


def test_a_certificate_for_another_host_is_not_trusted(certificate: Callable[[str], Path]) -> None:
    file = certificate("DNS:elsewhere.example")
    with tls_broker(file) as broker:
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    assert name == "TLS_FAILED"
    assert "is not trusted: IP address mismatch" in text


def test_the_host_name_check_can_be_switched_off(certificate: Callable[[str], Path]) -> None:
    file = certificate("DNS:elsewhere.example")
    tls = Tls(ca_file=str(file), check_host_name=False)
    with tls_broker(file) as broker, GroupAdmin(broker.settings(tls=tls)) as admin:
        assert list(admin.list_groups().all()) == ["orders"]
