"""The formats of files with keys or certificates, by their first bytes; names and types of files may be wrong."""

from __future__ import annotations

from shlex import quote
from typing import Final, Literal

Format = Literal["JKS", "JCEKS", "PKCS12", "DER key", "DER certificate", "other"]

_MAGIC_NUMBERS: Final[dict[bytes, Format]] = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
# A DER value begins with its tag and its length; a long length has this bit, and further bytes.
_DER_SEQUENCE: Final = 0x30
_DER_HEADER_BYTES: Final = 2
_LONG_FORM: Final = 0x80


def find_format(data: bytes) -> Format:
    """Return the format of a file by its first bytes; PEM is text, so it is among the others."""
    if data[:4] in _MAGIC_NUMBERS:
        return _MAGIC_NUMBERS[data[:4]]
    body = _der_body(data)
    # A PKCS #12 file begins with its version, the integer 3 (RFC 7292).
    if body.startswith(b"\x02\x01\x03"):
        return "PKCS12"
    # A private key begins with its version, an encrypted one with the identifier of the cipher.
    if body.startswith((b"\x02\x01\x00", b"\x02\x01\x01")) or _der_body(body).startswith(b"\x06"):
        return "DER key"
    # A certificate begins with its version, which has the tag 0, or with its serial number (RFC 5280).
    return "DER certificate" if _der_body(body).startswith((b"\xa0", b"\x02")) else "other"


def describe_other_format(data: bytes, path: str) -> str | None:
    """Return what a file is that should be PEM, and the next step; None for PEM and for an unknown format."""
    found = find_format(data)
    if found in {"JKS", "PKCS12"}:
        return f"it is a {found} store; set ssl.truststore.location or ssl.keystore.location to it"
    if found == "JCEKS":
        return f"it is a JCEKS store, which is not supported; convert it with: {conversion_to_pkcs12(path)}"
    if found == "other":
        return None
    kind = "pkey" if found == "DER key" else "x509"
    command = f"openssl {kind} -inform DER -in {quote(path)} -out {quote(path + '.pem')}"
    return f"it is a DER file; convert it with: {command}"


def conversion_to_pkcs12(path: str) -> str:
    """Return the command line that copies a store of any type that Java reads to a PKCS12 store."""
    return (
        f"keytool -importkeystore -srckeystore {quote(path)} -destkeystore {quote(path + '.p12')} -deststoretype PKCS12"
    )


def _der_body(data: bytes) -> bytes:
    """Return the content of a DER sequence, empty if the data is none."""
    if len(data) < _DER_HEADER_BYTES or data[0] != _DER_SEQUENCE:
        return b""
    return data[_DER_HEADER_BYTES + (data[1] & ~_LONG_FORM if data[1] & _LONG_FORM else 0) :]
