"""PEM text: its blocks, as OpenSSL reads them."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final, NamedTuple

CERTIFICATE: Final = "CERTIFICATE"
PRIVATE_KEY: Final = "PRIVATE KEY"
REVOCATIONS: Final = "X509 CRL"
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]*")


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


def pem_text(label: str, data: bytes) -> str:
    """Return DER data as a block of PEM text."""
    return _wrap(label, b64encode(data).decode())


def _wrap(label: str, body: str) -> str:
    if _BASE64.fullmatch(body):
        digits = "".join(body.split())
        lines = "\n".join(digits[start : start + 64] for start in range(0, len(digits), 64))
    else:
        # A block with headers, as in an encrypted key of OpenSSL's older format.
        lines = body.strip()
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
