"""Why a file or a text for TLS cannot be used. OpenSSL's own errors name neither the reason nor a next step."""

from __future__ import annotations

import re
import ssl
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.tls_files import describe_special
from kafka_groups.admin.network.tls_reasons import openssl_reason
from kafka_groups.settings.pem import (
    CERTIFICATE,
    PRIVATE_KEY,
    REVOCATIONS,
    PemBlock,
    has_block,
    pem_blocks,
)
from kafka_groups.settings.stores.formats import describe_other_format
from kafka_groups.suggestions import did_you_mean
from kafka_groups.text_encoding import find_wide_encoding

if TYPE_CHECKING:
    from kafka_groups.settings import Tls

_CRL_LEAD: Final = "cannot use the revocation lists (ssl.crl.location)"
_STRONG_KEY: Final = "use a certificate with an RSA key of at least 2,048 bits, or an EC key"
# Reasons of OpenSSL's for which it does not accept a certificate that it can read.
_STEPS: Final = {
    "EE_KEY_TOO_SMALL": f"its key is too short for this Python's OpenSSL; {_STRONG_KEY}",
    "CA_KEY_TOO_SMALL": f"the key of its CA is too short for this Python's OpenSSL; {_STRONG_KEY}",
    "CA_MD_TOO_WEAK": "its signature has a digest that is too weak; use a certificate that is signed with SHA-256",
}
_CHECK_PEM: Final = "write the PEM text again, from its source"
# The name of one suite of TLS 1.2; other words of OpenSSL's, such as HIGH, stand for many.
_CIPHER_NAME: Final = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)+")
_MISMATCHES: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})


def ca_error(tls: Tls, error: Exception) -> str:
    """Return the text of the error for CA certificates that could not be loaded."""
    if tls.ca_file is None:
        return f"cannot use the CA certificates of ssl.ca.pem, or of the trust store: {_explain(error)}"
    lead = f"cannot use the CA file {tls.ca_file}"
    data = _read(tls.ca_file)
    if isinstance(data, str):
        return f"{lead}: {data}"
    problem = _file_problem(data, tls.ca_file, CERTIFICATE)
    return f"{lead}: {problem or _explain(error)}"


def crl_problem(path: str) -> str | None:
    """Return the text of the error for a file of revocation lists that has other content; None if it has lists only."""
    data = _read(path)
    if isinstance(data, str):
        return f"{_CRL_LEAD} {path}: {data}"
    if encoding := find_wide_encoding(data):
        return f"{_CRL_LEAD} {path}: it is {encoding} text; save it in UTF-8"
    blocks = pem_blocks(data.decode("latin-1"))
    if has_block(blocks, CERTIFICATE):
        return f"{_CRL_LEAD} {path}: it has a certificate; write CAs to ssl.ca.location, and only their lists here"
    if not has_block(blocks, REVOCATIONS):
        kind = f"-----BEGIN {REVOCATIONS}-----"
        return f"{_CRL_LEAD} {path}: it has no revocation list; write a PEM file, which has a line {kind}"
    return None


def crl_error(path: str, error: Exception) -> str:
    """Return the text of the error for revocation lists that could not be loaded."""
    return f"{_CRL_LEAD} {path}: {_explain(error)}"


def certificate_error(tls: Tls, error: Exception) -> str:
    """Return the text of the error for a client certificate, or its private key, that could not be loaded."""
    certificate = tls.certificate_file or "of ssl.certificate.pem, or of the key store"
    lead = f"cannot use the client certificate {certificate}"
    blocks, problem = _blocks(tls.certificate_file, tls.certificate_pem, CERTIFICATE)
    if problem:
        return f"{lead}: {problem}"
    if tls.key_file or tls.key_pem:
        lead = f"cannot use the private key {tls.key_file or 'of ssl.key.pem, or of the key store'}"
        blocks, problem = _blocks(tls.key_file, tls.key_pem, PRIVATE_KEY)
        if problem:
            return f"{lead}: {problem}"
    return f"{lead}: {_key_problem(blocks, tls, error) or _explain(error)}"


def cipher_error(ciphers: str, offered: Collection[str]) -> str | None:
    """Return the text of the error for names of ciphers that OpenSSL does not offer; None if it offers all of them.

    An expression of OpenSSL's, such as HIGH:!SHA, has an error only if nothing is offered.
    """
    names = [name for name in re.split(r"[:, ]+", ciphers) if name]
    if offered and not all(map(_CIPHER_NAME.fullmatch, names)):
        return None
    missing = [name for name in names if name not in offered]
    if not missing:
        return None
    known = [cipher["name"] for cipher in ssl.create_default_context().get_ciphers()]
    return (
        f"cannot use the cipher suites (ssl.cipher.suites): this Python's OpenSSL does not offer {', '.join(missing)}; "
        f"remove what the output of 'openssl ciphers -s' does not have{did_you_mean(missing[0], known)}"
    )


def _key_problem(blocks: list[PemBlock], tls: Tls, error: Exception) -> str | None:
    if not has_block(blocks, PRIVATE_KEY):
        return "it has no private key; set ssl.key.location to the PEM file of the key"
    if getattr(error, "reason", None) in _MISMATCHES:
        return "the private key does not belong to the certificate; set ssl.key.location to the key that does"
    if any(block.is_encrypted() for block in blocks):
        if tls.key_password:
            return "ssl.key.password does not decrypt the private key; correct it"
        return "the private key is encrypted; set ssl.key.password"
    return None


def _blocks(path: str | None, text: str | None, kind: str) -> tuple[list[PemBlock], str | None]:
    """Return the PEM blocks of a file or of a text, and why it has none of a kind."""
    if path is None:
        return pem_blocks(text or ""), None
    data = _read(path)
    if isinstance(data, str):
        return [], data
    return pem_blocks(data.decode("latin-1")), _file_problem(data, path, kind)


def _file_problem(data: bytes, path: str, kind: str) -> str | None:
    if problem := describe_other_format(data, path):
        return problem
    if has_block(pem_blocks(data.decode("latin-1")), kind):
        return None
    if encoding := find_wide_encoding(data):
        return f"it is {encoding} text; save it in UTF-8"
    name = kind.lower()
    return f"it has no {name}; write a PEM file, which has a line -----BEGIN {kind}-----"


def _read(path: str) -> bytes | str:
    """Return the bytes of a file, or why it cannot be read: only a regular file can be read twice, and has an end."""
    if problem := describe_special(path):
        return problem
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except ValueError:
        return "the path has a character that no path can have, such as NUL; correct it"


def _explain(error: Exception) -> str:
    """Return the reason of an error of OpenSSL's, and the next step."""
    name = error.reason if isinstance(error, ssl.SSLError) else None
    return _STEPS.get(name or "") or f"{_reason(error)}; {_CHECK_PEM}"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return openssl_reason(error)
    return ((isinstance(error, OSError) and error.strerror) or str(error)).replace("_", " ").lower()
