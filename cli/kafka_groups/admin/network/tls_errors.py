"""Why a TLS connection failed, or a file or a text for TLS cannot be used.

OpenSSL's own errors name neither the reason nor a next step.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_groups.settings.pem import (
    CERTIFICATE,
    PRIVATE_KEY,
    REVOCATIONS,
    PemBlock,
    find_conversion,
    has_block,
    pem_blocks,
)
from kafka_groups.text_encoding import find_wide_encoding

if TYPE_CHECKING:
    from kafka_groups.settings import Tls

_NO_TLS: Final = "the listener does not use TLS; use security.protocol PLAINTEXT or SASL_PLAINTEXT"
_CLIENT_CERTIFICATE: Final = (
    "the broker requires a client certificate that it trusts (ssl.keystore.location or ssl.certificate.location)"
)
_OLD_TLS: Final = "the broker and this Python support no common TLS version; at least TLS 1.2 is needed"
# Part of the reason that OpenSSL returns: the explanation.
_TLS_ERRORS: Final = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "PROTOCOL_VERSION": _OLD_TLS,
    "UNSUPPORTED_PROTOCOL": _OLD_TLS,
    "LEGACY_SIGALG": _OLD_TLS,
    "CERTIFICATE_REQUIRED": _CLIENT_CERTIFICATE,
    "ALERT_BAD_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_UNKNOWN_CA": _CLIENT_CERTIFICATE,
    "ALERT_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_HANDSHAKE_FAILURE": f"the TLS handshake was refused: {_CLIENT_CERTIFICATE}, or no cipher is common",
}
_CRL_LEAD: Final = "cannot use the revocation lists (ssl.crl.location)"
_MISMATCHES: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})


def handshake_error(error: OSError) -> str | None:
    """Return the text of the error for a TLS connection that failed; None if it was only lost."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is not trusted: {error.verify_message}"
    # Python 3.11.2 has SSLZeroReturnError for a peer that closes the connection in the handshake.
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return None
    # A Python that is older than its OpenSSL has no name for some reasons, only their text.
    reason = (error.reason or str(error)).upper().replace(" ", "_")
    explanation = next((text for part, text in _TLS_ERRORS.items() if part in reason), None)
    return explanation or f"the TLS connection failed: {_reason(error)}"


def ca_error(tls: Tls, error: Exception) -> str:
    """Return the text of the error for CA certificates that could not be loaded."""
    if tls.ca_file is None:
        return f"cannot use the CA certificates of ssl.ca.pem: {_reason(error)}"
    lead = f"cannot use the CA file {tls.ca_file}"
    data = _read(tls.ca_file)
    if isinstance(data, str):
        return f"{lead}: {data}"
    problem = _file_problem(data, tls.ca_file, CERTIFICATE, with_key=False)
    return f"{lead}: {problem or _reason(error)}"


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
    return f"{_CRL_LEAD} {path}: {_reason(error)}"


def certificate_error(tls: Tls, error: Exception) -> str:
    """Return the text of the error for a client certificate, or its private key, that could not be loaded."""
    certificate = tls.certificate_file or "of ssl.certificate.pem"
    lead = f"cannot use the client certificate {certificate}"
    blocks, problem = _blocks(tls.certificate_file, tls.certificate_pem, CERTIFICATE)
    if problem:
        return f"{lead}: {problem}"
    if tls.key_file or tls.key_pem:
        lead = f"cannot use the private key {tls.key_file or 'of ssl.key.pem'}"
        blocks, problem = _blocks(tls.key_file, tls.key_pem, PRIVATE_KEY)
        if problem:
            return f"{lead}: {problem}"
    return f"{lead}: {_key_problem(blocks, tls, error) or _reason(error)}"


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
    return pem_blocks(data.decode("latin-1")), _file_problem(data, path, kind, with_key=True)


def _file_problem(data: bytes, path: str, kind: str, *, with_key: bool) -> str | None:
    if conversion := find_conversion(data, path, with_key=with_key):
        return conversion
    if has_block(pem_blocks(data.decode("latin-1")), kind):
        return None
    if encoding := find_wide_encoding(data):
        return f"it is {encoding} text; save it in UTF-8"
    name = kind.lower()
    return f"it has no {name}; write a PEM file, which has a line -----BEGIN {kind}-----"


def _read(path: str) -> bytes | str:
    """Return the bytes of a file, or why it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except ValueError:
        return "the path has a character that no path can have, such as NUL; correct it"


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    return (reason or (isinstance(error, OSError) and error.strerror) or str(error)).replace("_", " ").lower()
