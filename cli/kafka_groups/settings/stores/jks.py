"""A reader of JKS, the format of Java's key stores before Java 9.

The source is the JDK's sun.security.provider.JavaKeyStore and KeyProtector. Numbers are big-endian, and a text has its
length in 16 bits.

    magic 0xFEEDFEED (4 bytes), version 1 or 2 (4), number of entries (4), entries, SHA-1 digest (20)
    entry:           tag (4), alias (text), creation in ms (8)
      tag 1, a key:  length (4), EncryptedPrivateKeyInfo (DER), number of certificates (4), certificates
      tag 2:         a trusted certificate
    certificate:     type (text, from version 2 on), length (4), X.509 (DER)

The digest is over the password (UTF-16BE), the words "Mighty Aphrodite" and all bytes before it. The encrypted data of
a key is a salt (20), the key XOR a keystream, and a digest (20) over the password and the key. The keystream is
SHA-1(password, salt), then SHA-1(password, the digest before).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final

from kafka_groups.settings.stores.store import StoreError

_VERSIONS: Final = (1, 2)
_KEY_TAG: Final = 1
_CERTIFICATE_TAG: Final = 2
_WORDS: Final = b"Mighty Aphrodite"
_DIGEST_BYTES: Final = 20
# The object identifier 1.3.6.1.4.1.42.2.17.1.1 of the protection, in DER.
_PROTECTION: Final = bytes.fromhex("060a2b060104012a02110101")
_DER_SEQUENCE: Final = 0x30
_DER_BYTES: Final = 0x04
_LONG_FORM: Final = 0x80
_DAMAGED: Final = "it is damaged, or not complete; copy it again from its source"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtectedKey:
    """The entry of a private key, encrypted (DER of EncryptedPrivateKeyInfo), and its chain of certificates (DER)."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class JksStore:
    """The entries of a store, in the order of the file; trusted certificates are DER."""

    keys: tuple[ProtectedKey, ...]
    trusted: tuple[bytes, ...]


def read_jks(data: bytes) -> JksStore:
    """Return the entries of a store. Raises StoreError if the file is damaged. No password is checked."""
    reader = _Reader(data[:-_DIGEST_BYTES])
    reader.take(4)
    version = reader.number()
    if version not in _VERSIONS:
        msg = f"its version {version} of JKS is unknown; {_DAMAGED}"
        raise StoreError(msg)
    keys, trusted = [], []
    for _ in range(reader.number()):
        tag, alias = reader.number(), reader.text()
        # The time of its creation, in ms.
        reader.take(8)
        if tag == _KEY_TAG:
            protected = reader.sized()
            chain = tuple(reader.certificate(version) for _ in range(reader.number()))
            keys.append(ProtectedKey(alias=alias, protected=protected, chain=chain))
        elif tag == _CERTIFICATE_TAG:
            trusted.append(reader.certificate(version))
        else:
            raise StoreError(_DAMAGED)
    if reader.has_rest():
        raise StoreError(_DAMAGED)
    return JksStore(keys=tuple(keys), trusted=tuple(trusted))


def has_password(data: bytes, password: str) -> bool:
    """Return whether the digest at the end of a store is that of its bytes and this password."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    return hmac.compare_digest(_sha1(_encode(password), _WORDS, body), digest)


def decrypt_key(entry: ProtectedKey, password: str) -> bytes | None:
    """Return a private key (DER of PKCS #8); None for a wrong password. Raises StoreError for an unknown protection."""
    reader = _Reader(entry.protected)
    content = _Reader(reader.der(_DER_SEQUENCE))
    if not content.der(_DER_SEQUENCE).startswith(_PROTECTION):
        msg = f"the key of its entry '{entry.alias}' has a protection that is not Java's own for JKS"
        raise StoreError(msg)
    encrypted = content.der(_DER_BYTES)
    if len(encrypted) <= 2 * _DIGEST_BYTES:
        raise StoreError(_DAMAGED)
    salt = encrypted[:_DIGEST_BYTES]
    body = encrypted[_DIGEST_BYTES:-_DIGEST_BYTES]
    digest = encrypted[-_DIGEST_BYTES:]
    secret = _encode(password)
    key = _xor(body, _keystream(secret, salt, len(body)))
    return key if hmac.compare_digest(_sha1(secret, key), digest) else None


class _Reader:
    """A position in bytes. Every read raises StoreError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self._position + count
        if end > len(self._data):
            raise StoreError(_DAMAGED)
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def number(self, size: int = 4) -> int:
        """Return a number. Java has signed ones; a negative one is larger than any file here, so it is an error."""
        return int.from_bytes(self.take(size), "big")

    def sized(self) -> bytes:
        """Return bytes behind their length."""
        return self.take(self.number())

    def text(self) -> str:
        """Return a text of Java's DataOutputStream; its modified UTF-8 differs for few characters."""
        return self.take(self.number(2)).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        """Return a certificate (DER), without its type."""
        if version > 1:
            self.text()
        return self.sized()

    def der(self, tag: int) -> bytes:
        """Return the content of a DER value with this tag."""
        if self.number(1) != tag:
            raise StoreError(_DAMAGED)
        length = self.number(1)
        return self.take(self.number(length & ~_LONG_FORM) if length & _LONG_FORM else length)

    def has_rest(self) -> bool:
        """Return whether bytes are left."""
        return self._position < len(self._data)


def _encode(password: str) -> bytes:
    return password.encode("utf-16-be")


def _keystream(secret: bytes, salt: bytes, length: int) -> bytes:
    stream = b""
    block = salt
    while len(stream) < length:
        block = _sha1(secret, block)
        stream += block
    return stream[:length]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _sha1(*parts: bytes) -> bytes:
    # The format prescribes SHA-1. OpenSSL in FIPS mode refuses it for security.
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()
