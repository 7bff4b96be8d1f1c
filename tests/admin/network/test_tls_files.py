"""Files and texts for TLS that cannot be used, and revocation lists: errors name the reason and the next step."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.tls import make_context
from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from tests.admin.network.tls_listener import listing_error, tls_broker
from tests.fakes.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.timeout(20)


def _settings_error(**values: Any) -> str:
    """Return the text of the error that these settings of TLS give at the first connection."""
    with (
        ScriptedBroker() as broker,
        GroupAdmin(broker.settings(tls=Tls(**values))) as admin,
        pytest.raises(SettingsError) as caught,
    ):
        admin.list_groups()
    assert "hidden-thing" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no certificate", "it has no certificate; write a PEM file, which has a line -----BEGIN CERTIFICATE-----"),
        (None, "no such file or directory"),
        (b"\xfe\xed\xfe\xed\0\0\0\2", "it is a JKS store; set ssl.truststore.location or ssl.keystore.location to it"),
        (
            b"\x30\x82\x04\x41\x02\x01\x03",
            "it is a PKCS12 store; set ssl.truststore.location or ssl.keystore.location to it",
        ),
        ("-----BEGIN CERTIFICATE-----\n".encode("utf-16"), "it is UTF-16 text; save it in UTF-8"),
    ],
    ids=["text", "absent", "JKS", "PKCS12", "UTF-16"],
)
def test_a_ca_file_that_cannot_be_used_is_a_settings_error_with_the_reason(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    file = tmp_path / "ca"
    if content is not None:
        file.write_bytes(content)
    assert _settings_error(ca_file=str(file)).startswith(f"cannot use the CA file {file}: {reason}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file", "crl_file"])
def test_a_pipe_that_nobody_writes_is_an_error_within_the_timeout(
    tmp_path: Path, name: str, certificate: Callable[[str], Path]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    others: dict[str, Any] = {"certificate_file": str(certificate("IP:127.0.0.1"))} if name == "key_file" else {}
    with pytest.raises(SettingsError) as caught:
        make_context(Tls(**{**others, name: str(pipe)}), pipe_timeout_s=0.2)
    assert f"{pipe}: it is a pipe, " in str(caught.value)
    assert str(caught.value).endswith("; write the PEM text to a file, and give that one")


@pytest.mark.parametrize("name", ["certificate_file", "key_file", "crl_file"])
def test_a_directory_in_place_of_a_file_has_a_next_step(
    tmp_path: Path, name: str, certificate: Callable[[str], Path]
) -> None:
    others: dict[str, Any] = {"certificate_file": str(certificate("IP:127.0.0.1"))} if name == "key_file" else {}
    with pytest.raises(SettingsError, match="it is a directory; give the path of a file"):
        make_context(Tls(**{**others, name: str(tmp_path)}))


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="this system has no /dev/zero")
@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file", "crl_file"])
def test_a_device_without_an_end_is_refused(name: str, certificate: Callable[[str], Path]) -> None:
    others: dict[str, Any] = {"certificate_file": str(certificate("IP:127.0.0.1"))} if name == "key_file" else {}
    with pytest.raises(SettingsError, match="/dev/zero: it is a device or a socket; write the PEM text to a file"):
        make_context(Tls(**{**others, name: "/dev/zero"}))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_pipes_may_hold_the_ca_and_a_certificate_with_its_key(
    tmp_path: Path, certificate: Callable[[str], Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    pipes = (tmp_path / "ca", tmp_path / "client")
    for pipe in pipes:
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=["# é\n".encode() + file.read_bytes()], daemon=True).start()
    context = make_context(Tls(ca_file=str(pipes[0]), certificate_file=str(pipes[1])))
    assert context.cert_store_stats()["x509"] == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_without_a_certificate_is_an_error_and_is_not_read_again(tmp_path: Path) -> None:
    pipe = tmp_path / "ca"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=[b"no certificate"], daemon=True).start()
    with pytest.raises(SettingsError, match="cannot use the CA certificates"):
        make_context(Tls(ca_file=str(pipe)))


@pytest.mark.parametrize("password", [None, "", "hidden-thing", "hidden-thing" * 200])
@pytest.mark.parametrize("form", [("pkey", "-aes128"), ("ec", "-aes128")], ids=["PKCS8", "older"])
def test_the_error_for_an_encrypted_key_names_its_password(
    password: str | None, form: tuple[str, str], certificate: Callable[[str], Path], openssl: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    key = openssl("encrypted.pem", form[0], "-in", str(file), form[1], "-passout", "pass:secret")
    text = _settings_error(certificate_file=str(file), key_file=str(key), key_password=password)
    problem = "the private key is encrypted; set ssl.key.password"
    if password:
        problem = "ssl.key.password does not decrypt the private key; correct it"
    assert text == f"cannot use the private key {key}: {problem}"


def test_the_error_for_a_certificate_without_a_key_names_the_setting_of_the_key(
    certificate: Callable[[str], Path], openssl: Callable[..., Path]
) -> None:
    file = openssl("alone.pem", "x509", "-in", str(certificate("IP:127.0.0.1")))
    problem = "it has no private key; set ssl.key.location to the PEM file of the key"
    assert _settings_error(certificate_file=str(file)) == f"cannot use the client certificate {file}: {problem}"
    assert _settings_error(certificate_file=str(file), key_file=str(file)) == (
        f"cannot use the private key {file}: it has no private key; "
        "write a PEM file, which has a line -----BEGIN PRIVATE KEY-----"
    )


@pytest.mark.parametrize("algorithm", ["EC", "RSA"])
def test_a_key_of_another_certificate_is_reported_as_such(
    algorithm: str, certificate: Callable[[str], Path], openssl: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    options = (
        ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1") if algorithm == "EC" else ("-algorithm", "RSA")
    )
    key = openssl("other.pem", "genpkey", *options)
    assert _settings_error(certificate_file=str(file), key_file=str(key)) == (
        f"cannot use the private key {key}: the private key does not belong to the certificate; "
        "set ssl.key.location to the key that does"
    )


def test_the_file_of_a_certificate_or_of_a_key_that_is_absent_is_the_one_in_the_error(
    certificate: Callable[[str], Path], tmp_path: Path
) -> None:
    file, absent = str(certificate("IP:127.0.0.1")), str(tmp_path / "absent")
    assert _settings_error(certificate_file=absent, key_file=file) == (
        f"cannot use the client certificate {absent}: no such file or directory"
    )
    assert _settings_error(certificate_file=file, key_file=absent) == (
        f"cannot use the private key {absent}: no such file or directory"
    )


def test_pem_text_that_openssl_cannot_decode_is_a_settings_error() -> None:
    text = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
    assert _settings_error(ca_pem=text).startswith(
        "cannot use the CA certificates of ssl.ca.pem, or of the trust store: "
    )
    assert _settings_error(certificate_pem=text, key_pem=text.replace("CERTIFICATE", "PRIVATE KEY")).startswith(
        "cannot use the private key of ssl.key.pem, or of the key store: "
    )


@pytest.fixture
def revocation_list(tmp_path: Path, program: Callable[[str], str]) -> Callable[..., Path]:
    """Return a function that makes the revocation list of a self-signed certificate, which revokes it or nothing."""

    def make(issuer: Path, *, revokes: bool) -> Path:
        file, index = tmp_path / "crl.pem", tmp_path / "index"
        index.write_text("")
        settings = tmp_path / "ca.cnf"
        settings.write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={index}\ndefault_md=sha256\ndefault_crl_days=2\n")
        ca = [program("openssl"), "ca", "-config", str(settings), "-cert", str(issuer), "-keyfile", str(issuer)]
        if revokes:
            subprocess.run([*ca, "-revoke", str(issuer)], check=True, capture_output=True)
        subprocess.run([*ca, "-gencrl", "-out", str(file)], check=True, capture_output=True)
        return file

    return make


def test_a_revoked_certificate_is_not_trusted(
    certificate: Callable[[str], Path], revocation_list: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker:
        name, text = listing_error(
            broker.endpoint, tls=Tls(ca_file=str(file), crl_file=str(revocation_list(file, revokes=True)))
        )
    assert name == "TLS_FAILED"
    assert text.startswith("the broker's certificate is not trusted: certificate revoked; give the broker another")


def test_a_certificate_that_its_revocation_list_does_not_have_is_trusted(
    certificate: Callable[[str], Path], revocation_list: Callable[..., Path]
) -> None:
    file = certificate("IP:127.0.0.1")
    tls = Tls(ca_file=str(file), crl_file=str(revocation_list(file, revokes=False)))
    with tls_broker(file) as broker, GroupAdmin(broker.settings(tls=tls)) as admin:
        assert list(admin.list_groups().all()) == ["orders"]


def test_a_file_of_revocation_lists_that_cannot_be_used_is_a_settings_error_with_the_reason(
    certificate: Callable[[str], Path], tmp_path: Path
) -> None:
    lead = "cannot use the revocation lists (ssl.crl.location)"
    absent, file = tmp_path / "absent", certificate("IP:127.0.0.1")
    assert _settings_error(crl_file=str(absent)) == f"{lead} {absent}: no such file or directory"
    assert _settings_error(crl_file=str(file)).startswith(f"{lead} {file}: it has a certificate; ")
    absent.write_text("nothing")
    assert _settings_error(crl_file=str(absent)).startswith(f"{lead} {absent}: it has no revocation list; ")
    absent.write_text("-----BEGIN X509 CRL-----\nQUJD\n-----END X509 CRL-----\n")
    assert _settings_error(crl_file=str(absent)).startswith(f"{lead} {absent}: ")


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b"], ids=["NUL", "surrogate"])
def test_a_path_that_no_file_can_have_is_a_settings_error(path: str, certificate: Callable[[str], Path]) -> None:
    reason = "the path has a character that no path can have, such as NUL; correct it"
    file = str(certificate("IP:127.0.0.1"))
    assert _settings_error(ca_file=path).endswith(reason)
    assert _settings_error(certificate_file=path).endswith(reason)
    assert _settings_error(certificate_file=file, key_file=path).endswith(reason)
