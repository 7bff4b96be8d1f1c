"""What a TLS connection shows of its certificates, by Python's own objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_groups.admin.network.tls_evidence import Certificate, TlsEvidence, read_tls

NAME = ((("countryName", "DE"),), (("organizationName", "Example"),), (("commonName", "b1"), ("serialNumber", "7")))
INFO = {
    "subject": NAME,
    "issuer": ((("commonName", "ca"),),),
    "subjectAltName": (("DNS", "b1.example"), ("IP Address", "10.0.0.1")),
    "notBefore": "Jan  1 00:00:00 1970 GMT",
    "notAfter": "Jan  2 00:00:00 1970 GMT",
}


def socket_with(chain: Any, *, version: str | None = "TLSv1.3") -> Any:
    inner = SimpleNamespace(get_unverified_chain=lambda: chain)
    return SimpleNamespace(version=lambda: version, cipher=lambda: ("SUITE", "TLSv1.3", 256), _sslobj=inner)


def certificate(**info: Any) -> Any:
    return SimpleNamespace(get_info=lambda: {**INFO, **info})


def test_names_have_the_most_specific_part_first() -> None:
    evidence = read_tls(socket_with([certificate()]))
    names = ("DNS:b1.example", "IP:10.0.0.1")
    expected = Certificate("serialNumber=7,CN=b1,O=Example,C=DE", "CN=ca", names, 0.0, 86_400.0)
    assert evidence == TlsEvidence("TLSv1.3", "SUITE", (expected,))


def test_an_incomplete_handshake_has_a_chain_and_no_cipher() -> None:
    evidence = read_tls(socket_with([certificate()], version=None))
    assert (evidence.protocol, evidence.cipher, len(evidence.chain)) == (None, None, 1)


def test_a_certificate_without_alternative_names_has_none() -> None:
    bare = SimpleNamespace(get_info=lambda: {key: INFO[key] for key in ("notBefore", "notAfter")})
    assert read_tls(socket_with([bare])).chain == (Certificate("", "", (), 0.0, 86_400.0),)


@pytest.mark.parametrize(
    "sock",
    [
        socket_with(None),
        socket_with([certificate(notAfter="never")]),
        SimpleNamespace(version=lambda: "TLSv1.3", cipher=lambda: None, _sslobj=None),
        SimpleNamespace(version=lambda: "TLSv1.3", cipher=lambda: None),
    ],
    ids=["no certificate", "other dates", "closed", "other Python"],
)
def test_a_chain_that_python_does_not_return_is_unknown(sock: Any) -> None:
    assert read_tls(sock).chain == ()
