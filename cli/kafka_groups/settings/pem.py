"""PEM text, and the files that a user may give in its place: Java's key stores, PKCS #12, DER."""

from __future__ import annotations

import re
from shlex import quote
from typing import Final, NamedTuple

CERTIFICATE: Final = "CERTIFICATE"
PRIVATE_KEY: Final = "PRIVATE KEY"
REVOCATIONS: Final = "X509 CRL"
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]*")
_JAVA_STORES: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
# A DER value begins with its tag and its length; a long length has this bit, and further bytes.
_DER_SEQUENCE: Final = 0x30
_DER_HEADER_BYTES: Final = 2
_LONG_FORM: Final = 0x80


class PemBlock(NamedTuple):
    """One block of PEM text, such as a certificate. It may be a private key, so the repr does not show it."""

    label: str
    text: str

    def __repr__(self) -> str:
        return f"PemBlock(label={self.label!r})"

    def is_encrypted(self) -> bool:
        """Return whether the block is a private key that needs a password."""
        return self.label.startswith("ENCRYPTED") or "4,ENCRYPTED" in self.text


def pem_blocks(text: str) -> list[PemBlock]:
    """Return the blocks of a PEM text, with the line breaks that OpenSSL requires.

    Java accepts blanks, or nothing, in place of a line break. A properties file with continued lines has those.
    """
    return [PemBlock(label, _wrap(label, body)) for label, body in _BLOCK.findall(text)]


def has_block(blocks: list[PemBlock], kind: str) -> bool:
    """Return whether there is a block of a kind: CERTIFICATE, PRIVATE_KEY or REVOCATIONS."""
    return any(block.label.endswith(kind) for block in blocks)


def find_conversion(data: bytes, path: str, *, with_key: bool) -> str | None:
    """Return what a file that is not PEM is, and the command that converts it to PEM; None for another file."""
    if data.startswith(_JAVA_STORES):
        return f"it is a Java key store; convert it with: {conversion_command('JKS', path, with_key=with_key)}"
    body = _der_body(data)
    # A PKCS #12 file begins with its version, the integer 3.
    if body.startswith(b"\x02\x01\x03"):
        return f"it is a PKCS12 key store; convert it with: {conversion_command('PKCS12', path, with_key=with_key)}"
    # A private key begins with its version, an encrypted one with the identifier of the cipher.
    is_key = body.startswith((b"\x02\x01\x00", b"\x02\x01\x01")) or _der_body(body).startswith(b"\x06")
    if is_key or body.startswith(b"\x30"):
        command = f"openssl {'pkey' if is_key else 'x509'} -inform DER -in {quote(path)} -out {quote(path + '.pem')}"
        return f"it is a DER file; convert it with: {command}"
    return None


def conversion_command(store_type: str, path: str, *, with_key: bool) -> str:
    """Return the command line that converts a key store to a PEM file: the certificates, or also the private key."""
    store, pkcs12, pem = (quote(path + suffix) for suffix in ("", ".p12", ".pem"))
    if store_type == "PKCS12":
        return f"openssl pkcs12 -in {store} {'' if with_key else '-nokeys '}-out {pem}"
    if not with_key:
        return f"keytool -list -rfc -keystore {store} > {pem}"
    return (
        f"keytool -importkeystore -srckeystore {store} -destkeystore {pkcs12} -deststoretype PKCS12 && "
        f"openssl pkcs12 -in {pkcs12} -out {pem}"
    )


def _wrap(label: str, body: str) -> str:
    if _BASE64.fullmatch(body):
        digits = "".join(body.split())
        lines = "\n".join(digits[start : start + 64] for start in range(0, len(digits), 64))
    else:
        # A block with headers, as in an encrypted key of OpenSSL's older format.
        lines = body.strip()
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _der_body(data: bytes) -> bytes:
    """Return the content of a DER sequence, empty if the data is none."""
    if len(data) < _DER_HEADER_BYTES or data[0] != _DER_SEQUENCE:
        return b""
    return data[_DER_HEADER_BYTES + (data[1] & ~_LONG_FORM if data[1] & _LONG_FORM else 0) :]
