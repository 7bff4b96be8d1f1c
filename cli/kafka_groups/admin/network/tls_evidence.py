"""What a TLS connection shows of itself: protocol, cipher suite, and the certificates that the broker sent."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

# The names of RFC 4514 for the parts of a distinguished name that certificates usually have.
_SHORT_NAMES: Final[Mapping[str, str]] = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "domainComponent": "DC",
}


class Certificate(NamedTuple):
    """A certificate. Times are seconds since 1970; `names` are its subject alternative names, such as `DNS:b1`."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    not_before_s: float
    not_after_s: float


class TlsEvidence(NamedTuple):
    """A TLS connection, or one whose handshake failed: then `protocol` is None, and the chain is not verified.

    `chain` has the certificates that the broker sent, its own first; it is empty if none is known.
    """

    protocol: str | None
    cipher: str | None
    chain: tuple[Certificate, ...]


def read_tls(sock: ssl.SSLSocket) -> TlsEvidence:
    """Return what is known of a connection; call it before the socket is closed."""
    is_complete = sock.version() is not None
    cipher = sock.cipher() if is_complete else None
    return TlsEvidence(sock.version(), cipher[0] if cipher else None, tuple(_read_chain(sock)))


def _read_chain(sock: ssl.SSLSocket) -> Iterable[Certificate]:
    """Return the certificates that the peer sent.

    Only Python's inner object returns them parsed, and also if the handshake failed. It is not documented before
    Python 3.13, so whatever it lacks makes the chain unknown.
    """
    with suppress(AttributeError, ValueError, TypeError, KeyError, ssl.SSLError):
        inner: Any = sock._sslobj  # type: ignore[attr-defined]  # noqa: SLF001
        return [_certificate(each.get_info()) for each in inner.get_unverified_chain() or ()]
    return ()


def _certificate(info: Mapping[str, Any]) -> Certificate:
    return Certificate(
        subject=_distinguished_name(info.get("subject", ())),
        issuer=_distinguished_name(info.get("issuer", ())),
        names=tuple(f"{_kind(kind)}:{name}" for kind, name in info.get("subjectAltName", ())),
        not_before_s=ssl.cert_time_to_seconds(info["notBefore"]),
        not_after_s=ssl.cert_time_to_seconds(info["notAfter"]),
    )


def _distinguished_name(parts: Iterable[Iterable[tuple[str, str]]]) -> str:
    """Return a name such as `CN=b1,O=Example`, the most specific part first as in RFC 4514; empty if it has no part."""
    named = [(name, value) for part in parts for name, value in part]
    return ",".join(f"{_SHORT_NAMES.get(name, name)}={value}" for name, value in reversed(named))


def _kind(kind: str) -> str:
    return "IP" if kind == "IP Address" else kind
