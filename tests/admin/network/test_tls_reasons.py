"""The errors of failed TLS handshakes: each has the reason and a next step, and none has only OpenSSL's words."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.admin.network.tls import make_context
from kafka_groups.admin.network.tls_errors import certificate_error
from kafka_groups.admin.network.tls_reasons import explain_librdkafka, handshake_error
from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls
from tests.admin.network.tls_listener import listing_error, tls_broker

pytestmark = pytest.mark.timeout(20)

# Parameters of 1,024 bits by `openssl dhparam -dsaparam 1024`, which takes a while.
SHORT_DH = """\
-----BEGIN X9.42 DH PARAMETERS-----
MIIBJgKBgQCdEis4NU9Vgna+DFhIdvHvGAk40x11XO082LN7bgB/kdiIewIL0u9V
DGhDXa2Tss6HCye26ulH//dwZkyKZi6PFFeDVGGS6MBYeNnRsR0gvdGKvD92898k
i2JfzzWFk13EPQdbO2VEgp1Krjo51nDdIf6qHfrYWGjPC5H1FuPkTwKBgD5gtykg
8yXYLu09ayQFbwz5aEMPSkgoziHEHDsSZyddwNXbjCdMUNDPD/Eik0ZagMmiIi+T
A+llqzB6kciRE08S/x0FTaT1geqGZrNZMJ+Xtke1z48UW+ab2g/4dUOG6BPLnjHC
JdfsPK9KhIlqDl/ql9ojHbIRlHGfwduQ7VBCAh0AqpTtNgWIieG+gMvsLZaf3dkg
1yEwxiKZ27MBBQ==
-----END X9.42 DH PARAMETERS-----
"""
KEY = "-----BEGIN PRIVATE KEY-----\nTUlJ\n-----END PRIVATE KEY-----\n"


def error_of(reason: str | None, text: str = "") -> ssl.SSLError:
    """Return an error of OpenSSL's as Python raises it."""
    error = ssl.SSLError(1, text or f"[SSL: {reason}] {(reason or '').lower().replace('_', ' ')} (_ssl.c:1006)")
    error.reason = reason  # type: ignore[assignment]  # it may be None, as typeshed does not know
    return error


def refusal(code: int, message: str) -> ssl.SSLCertVerificationError:
    """Return the error of a certificate that OpenSSL refuses with an X509_V_ERR_ code."""
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, message
    return error


@pytest.mark.parametrize(
    ("reason", "step"),
    [
        (
            "DH_KEY_TOO_SMALL",
            "set ssl.cipher.suites of the broker to ECDHE suites, or start its Java with -Djdk.tls.eph",
        ),
        ("MODULUS_TOO_SMALL", "set ssl.cipher.suites of the broker to ECDHE suites"),
        ("EE_KEY_TOO_SMALL", "give it a certificate with an RSA key of at least 2,048 bits, or an EC key"),
        ("CA_KEY_TOO_SMALL", "give it a certificate with an RSA key of at least 2,048 bits, or an EC key"),
        ("CA_MD_TOO_WEAK", "give it a certificate, and CAs, that are signed with SHA-256 or better"),
        ("UNSAFE_LEGACY_RENEGOTIATION_DISABLED", "update the Java of the broker, or the proxy before it"),
        ("UNSUPPORTED_PROTOCOL", "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker"),
        ("WRONG_SSL_VERSION", "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker"),
        ("NO_PROTOCOLS_AVAILABLE", "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker"),
        ("WRONG_VERSION_NUMBER", "use security.protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("PACKET_LENGTH_TOO_LONG", "use security.protocol PLAINTEXT or SASL_PLAINTEXT"),
        ("NO_SHARED_CIPHER", "compare ssl.cipher.suites of the broker"),
        ("NO_CIPHERS_AVAILABLE", "compare ssl.cipher.suites of the broker"),
        ("TLSV1_ALERT_INSUFFICIENT_SECURITY", "compare ssl.cipher.suites of the broker"),
        ("NO_SUITABLE_KEY_SHARE", "compare ssl.cipher.suites of the broker"),
        ("WRONG_CURVE", "compare ssl.cipher.suites of the broker"),
        ("NO_SUITABLE_SIGNATURE_ALGORITHM", "give the broker a certificate with SHA-256"),
        ("WRONG_SIGNATURE_TYPE", "give the broker a certificate with SHA-256"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "ssl.keystore.location or ssl.certificate.location"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "ssl.keystore.location or ssl.certificate.location"),
        ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "ssl.keystore.location or ssl.certificate.location"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "it has expired; renew it (ssl.keystore.location or ssl.certificate"),
        ("SSLV3_ALERT_CERTIFICATE_REVOKED", "it is revoked; use another one (ssl.keystore.location"),
        ("SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "use one for client authentication (ssl.keystore.location"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "ssl.keystore.location or ssl.certificate.location"),
        ("TLSV1_ALERT_UNKNOWN_CA", "ssl.keystore.location or ssl.certificate.location"),
        ("TLSV1_ALERT_ACCESS_DENIED", "ssl.keystore.location or ssl.certificate.location"),
        ("TLSV1_ALERT_DECRYPT_ERROR", "check that the client certificate and its key belong together"),
        ("TLSV1_UNRECOGNIZED_NAME", "connect by the name that its certificate has"),
        ("TLSV1_ALERT_NO_APPLICATION_PROTOCOL", "the listener requires ALPN, which Kafka does not use; check host"),
        ("TLSV1_ALERT_INTERNAL_ERROR", "the log of the broker has the reason, and this command shows"),
        ("SOME_REASON_OF_A_LATER_OPENSSL", "some reason of a later openssl; the log of the broker has the reason"),
    ],
)
def test_every_reason_of_a_failed_handshake_has_a_next_step(reason: str, step: str) -> None:
    text = handshake_error(error_of(reason))
    assert text is not None
    assert step in text
    # A Python that is older than its OpenSSL has only the text.
    assert step in (handshake_error(error_of(None, f"error:0A00018A:SSL routines::{reason.replace('_', ' ')}")) or "")


@pytest.mark.parametrize(
    "text",
    [
        "[SSL] some new alert (_ssl.c:1006)",
        "[SSL: SOME_NEW_ALERT] some new alert (_ssl.c:2576)",
        "some new alert (_ssl.c:1006)",
    ],
)
def test_no_text_of_a_reason_has_a_place_in_the_source_of_python(text: str) -> None:
    assert (handshake_error(error_of(None, text)) or "").startswith("the TLS connection failed: some new alert; ")


def test_a_pem_text_that_openssl_refuses_has_a_reason_without_a_place() -> None:
    cut = "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n"
    for error in (error_of(None, "[SSL] PEM lib (_ssl.c:3900)"), error_of("PEM_LIB")):
        text = certificate_error(Tls(certificate_pem=cut + KEY), error)
        assert text.endswith(
            "of ssl.certificate.pem, or of the key store: pem lib; write the PEM text again, from its source"
        )


@pytest.mark.parametrize(
    ("code", "message", "step"),
    [
        (18, "self-signed certificate", "set ssl.ca.location (ssl.truststore.location) to the CA of the brokers"),
        (19, "self-signed certificate in certificate chain", "set ssl.ca.location (ssl.truststore.location)"),
        (20, "unable to get local issuer certificate", "set ssl.ca.location (ssl.truststore.location)"),
        (21, "unable to verify the first certificate", "set ssl.ca.location (ssl.truststore.location)"),
        (9, "certificate is not yet valid", "check the clock of this machine, or renew the certificate of the broker"),
        (10, "certificate has expired", "check the clock of this machine, or renew the certificate of the broker"),
        (12, "CRL has expired", "write a current list of each CA to ssl.crl.location"),
        (23, "certificate revoked", "give the broker another certificate, or remove it from the list"),
        (26, "unsuitable certificate purpose", "give the broker a certificate for server authentication"),
        (62, "Hostname mismatch, certificate is not valid for 'b'.", "ssl.endpoint.identification.algorithm=none"),
        (64, "IP address mismatch, certificate is not valid for '::1'.", "ssl.endpoint.identification.algorithm=none"),
        (66, "EE certificate key too weak", "give the broker a certificate with an RSA key of at least 2,048 bits"),
        (67, "CA certificate key too weak", "give the broker a certificate of a CA with an RSA key of at least 2,048"),
        (
            68,
            "CA signature digest algorithm too weak",
            "give the broker a certificate, and CAs, that are signed with SHA",
        ),
        (79, "invalid CA certificate", "openssl s_client -connect HOST:PORT -showcerts"),
    ],
)
def test_every_certificate_that_is_not_trusted_has_a_next_step(code: int, message: str, step: str) -> None:
    text = handshake_error(refusal(code, message))
    assert text is not None
    assert text.startswith(f"the broker's certificate is not trusted: {message.rstrip('.')}; ")
    assert step in text


@pytest.mark.parametrize("error", [ssl.SSLEOFError(8, "EOF"), ssl.SSLZeroReturnError(6, "end"), OSError(104, "reset")])
def test_a_connection_that_is_lost_in_the_handshake_has_no_reason_of_tls(error: OSError) -> None:
    assert handshake_error(error) is None


def test_the_error_of_librdkafka_gets_the_next_step_of_its_reason() -> None:
    text = "b:1: SSL handshake failed: error:0A00018A:SSL routines::dh key too small (after 3ms in state SSL_HANDSHAKE)"
    assert explain_librdkafka(text).startswith(f"{text}; the broker's Diffie-Hellman key is too short for")
    for other in ("b:1: Connect failed: refused", "b:1: SSL handshake failed: error:1:SSL routines::odd reason"):
        assert explain_librdkafka(other) == other


@pytest.fixture
def rsa_certificate(openssl: Callable[..., Path]) -> Callable[[int], Path]:
    """Return a function that makes a self-signed certificate for 127.0.0.1 with an RSA key of this number of bits."""

    def make(bits: int) -> Path:
        key = openssl("rsa.pem", "genpkey", "-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{bits}")
        name = ("-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1")
        file = openssl("rsa-certificate.pem", "req", "-x509", "-key", str(key), "-days", "2", *name)
        file.write_text(file.read_text() + key.read_text())
        return file

    return make


def test_the_error_of_a_short_diffie_hellman_key_names_the_settings_of_the_broker(
    rsa_certificate: Callable[[int], Path], tmp_path: Path
) -> None:
    file, parameters = rsa_certificate(2048), tmp_path / "dh.pem"
    parameters.write_text(SHORT_DH)
    with tls_broker(file, ciphers="DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0") as broker:
        assert broker._tls is not None
        broker._tls.maximum_version = ssl.TLSVersion.TLSv1_2
        broker._tls.load_dh_params(str(parameters))
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    assert name == "TLS_FAILED"
    assert text.startswith("the broker's Diffie-Hellman key is too short for this Python's OpenSSL; set ssl.cipher.su")


def test_the_error_of_a_short_key_of_the_broker_has_a_next_step(rsa_certificate: Callable[[int], Path]) -> None:
    file = rsa_certificate(1024)
    with tls_broker(file, ciphers="DEFAULT:@SECLEVEL=0") as broker:
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    assert name == "TLS_FAILED"
    assert text.endswith("give the broker a certificate with an RSA key of at least 2,048 bits, or an EC key")


def test_the_error_of_a_short_key_of_the_client_has_a_next_step(rsa_certificate: Callable[[int], Path]) -> None:
    file = str(rsa_certificate(1024))
    with pytest.raises(SettingsError) as caught:
        make_context(Tls(certificate_file=file))
    assert str(caught.value) == (
        f"cannot use the client certificate {file}: its key is too short for this Python's OpenSSL; "
        "use a certificate with an RSA key of at least 2,048 bits, or an EC key"
    )


def test_the_error_of_a_host_name_that_the_certificate_lacks_names_the_setting_of_the_check(
    certificate: Callable[[str], Path],
) -> None:
    file = certificate("DNS:elsewhere.example")
    with tls_broker(file) as broker:
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    assert name == "TLS_FAILED"
    assert "is not valid for '127.0.0.1'; connect by a name that the certificate has" in text
    assert "ssl.endpoint.identification.algorithm=none" in text
