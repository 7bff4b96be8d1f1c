"""Why a TLS handshake failed, and the next step: OpenSSL's own words have neither."""

from __future__ import annotations

import re
import ssl
from typing import Final

_NO_TLS: Final = "the listener does not use TLS; use security.protocol PLAINTEXT or SASL_PLAINTEXT"
_CLIENT_CERTIFICATE: Final = (
    "the broker requires a client certificate that it trusts and that has not expired "
    "(ssl.keystore.location or ssl.certificate.location)"
)
_OLD_TLS: Final = (
    "the broker and this client have no common TLS version; at least TLS 1.2 is needed; "
    "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker, or of this client if it has fewer"
)
_NO_CIPHER: Final = (
    "the broker and this client have no common cipher suite or key exchange; "
    "compare ssl.cipher.suites of the broker with that of this client, or with the output of: openssl ciphers -v"
)
_SIGNATURE: Final = (
    "the broker's certificate has a signature or a key that this Python's OpenSSL does not accept; "
    "give the broker a certificate with SHA-256 and an RSA key of 2,048 bits or an EC key"
)
_WEAK_KEY: Final = "give it a certificate with an RSA key of at least 2,048 bits, or an EC key"
_WEAK_DIGEST: Final = "give it a certificate, and CAs, that are signed with SHA-256 or better"
_SHORT_DH: Final = (
    "the broker's Diffie-Hellman key is too short for this Python's OpenSSL; "
    "set ssl.cipher.suites of the broker to ECDHE suites, or start its Java with -Djdk.tls.ephemeralDHKeySize=2048"
)
_RENEGOTIATION: Final = (
    "the broker's TLS does not support secure renegotiation (RFC 5746), which OpenSSL 3 requires; "
    "update the Java of the broker, or the proxy before it"
)
_BROKERS_LOG: Final = (
    "the log of the broker has the reason, and this command shows what it offers: openssl s_client -connect HOST:PORT"
)
_CLIENT_CERTIFICATE_SETTING: Final = "ssl.keystore.location or ssl.certificate.location"
# Part of the reason that OpenSSL returns: the explanation. The first part that the reason contains counts.
_REASONS: Final = {
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "HTTPS_PROXY_REQUEST": _NO_TLS,
    "UNKNOWN_PROTOCOL": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "BAD_PROTOCOL_VERSION_NUMBER": _NO_TLS,
    "PROTOCOL_VERSION": _OLD_TLS,
    "UNSUPPORTED_PROTOCOL": _OLD_TLS,
    "LEGACY_SIGALG": _OLD_TLS,
    "SSL_VERSION": _OLD_TLS,
    "VERSION_TOO_LOW": _OLD_TLS,
    "VERSION_TOO_HIGH": _OLD_TLS,
    "NO_PROTOCOLS_AVAILABLE": _OLD_TLS,
    "INAPPROPRIATE_FALLBACK": _OLD_TLS,
    "DH_KEY_TOO_SMALL": _SHORT_DH,
    "MODULUS_TOO_SMALL": _SHORT_DH,
    "BAD_DH": _SHORT_DH,
    "EE_KEY_TOO_SMALL": f"the key of the broker's certificate is too short; {_WEAK_KEY}",
    "CA_KEY_TOO_SMALL": f"the key of a CA of the broker's certificate is too short; {_WEAK_KEY}",
    "CA_MD_TOO_WEAK": f"the broker's certificate is signed with a digest that is too weak; {_WEAK_DIGEST}",
    "RENEGOTIATION": _RENEGOTIATION,
    "SHARED_CIPHER": _NO_CIPHER,
    "NO_CIPHER": _NO_CIPHER,
    "CIPHER_RETURNED": _NO_CIPHER,
    "INSUFFICIENT_SECURITY": _NO_CIPHER,
    "KEY_SHARE": _NO_CIPHER,
    "GROUPS": _NO_CIPHER,
    "CURVE": _NO_CIPHER,
    "SIGNATURE": _SIGNATURE,
    "UNRECOGNIZED_NAME": (
        "the listener has no certificate for this host name; connect by the name that its certificate has"
    ),
    "NO_APPLICATION_PROTOCOL": "the listener requires ALPN, which Kafka does not use; check host and port",
    "CERTIFICATE_EXPIRED": (
        f"the broker refused the client certificate because it has expired; renew it ({_CLIENT_CERTIFICATE_SETTING})"
    ),
    "CERTIFICATE_REVOKED": (
        f"the broker refused the client certificate because it is revoked; use another one "
        f"({_CLIENT_CERTIFICATE_SETTING})"
    ),
    "UNSUPPORTED_CERTIFICATE": (
        "the broker does not support the type of the client certificate; use one for client authentication "
        f"({_CLIENT_CERTIFICATE_SETTING})"
    ),
    "CERTIFICATE_REQUIRED": _CLIENT_CERTIFICATE,
    "ALERT_NO_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_BAD_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_UNKNOWN_CA": _CLIENT_CERTIFICATE,
    "ALERT_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_ACCESS_DENIED": f"the broker denied access in the TLS handshake: {_CLIENT_CERTIFICATE}",
    "ALERT_DECRYPT_ERROR": (
        "the broker could not verify the handshake; check that the client certificate and its key belong together"
    ),
    "ALERT_HANDSHAKE_FAILURE": (
        f"the TLS handshake was refused: {_CLIENT_CERTIFICATE}, or no cipher suite is common (ssl.cipher.suites)"
    ),
}
# What Python adds to OpenSSL's text, as in [SSL] tlsv1 alert no application protocol (_ssl.c:1006).
_PLACE: Final = re.compile(r"^\[[^\]]*\]\s*|\s*\(\w+\.c:\d+\)")
# The reason in an error of librdkafka's, as in error:0A00018A:SSL routines::dh key too small.
_ROUTINES: Final = re.compile(r"SSL routines:[^:]*:([^:(]+)")
_SET_CA: Final = "set ssl.ca.location (ssl.truststore.location) to the CA of the brokers"
_SEND_CHAIN: Final = f"{_SET_CA}; if it is set, the brokers must send the intermediate certificates of their chain"
_OTHER_NAME: Final = (
    "connect by a name that the certificate has (brokers name themselves in advertised.listeners), or switch the check "
    "of the name off with ssl.endpoint.identification.algorithm=none"
)
_CLOCK: Final = "check the clock of this machine, or renew the certificate of the broker"
_REVOCATIONS: Final = "write a current list of each CA to ssl.crl.location"
# The next step for a certificate of the broker by X509_V_ERR_… of OpenSSL's x509_vfy.h.
_CERTIFICATE_STEPS: Final = {
    **dict.fromkeys((2, 18, 19, 27, 33), _SET_CA),
    **dict.fromkeys((20, 21), _SEND_CHAIN),
    **dict.fromkeys((9, 10, 13, 14), _CLOCK),
    **dict.fromkeys((3, 8, 11, 12, 15, 16, 35, 36, 44, 54), _REVOCATIONS),
    **dict.fromkeys((62, 64), _OTHER_NAME),
    23: "give the broker another certificate, or remove it from the list in ssl.crl.location",
    26: "give the broker a certificate for server authentication (extendedKeyUsage)",
    66: _WEAK_KEY.replace("give it", "give the broker"),
    67: "give the broker a certificate of a CA with an RSA key of at least 2,048 bits, or an EC key",
    68: _WEAK_DIGEST.replace("give it", "give the broker"),
}
_CHECK_CERTIFICATE: Final = (
    "look at it with: openssl s_client -connect HOST:PORT -showcerts; correct it, or the CA in ssl.ca.location"
)


def handshake_error(error: OSError) -> str | None:
    """Return the text of the error for a TLS connection that failed; None if it was only lost."""
    if isinstance(error, ssl.SSLCertVerificationError):
        step = _CERTIFICATE_STEPS.get(error.verify_code, _CHECK_CERTIFICATE)
        return f"the broker's certificate is not trusted: {error.verify_message.rstrip('.')}; {step}"
    # Python 3.11.2 has SSLZeroReturnError for a peer that closes the connection in the handshake.
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return None
    text = openssl_reason(error)
    return _explain(text) or f"the TLS connection failed: {text}; {_BROKERS_LOG}"


def openssl_reason(error: ssl.SSLError) -> str:
    """Return the reason of an error of OpenSSL's, in lower case, without its library and the place in Python's source.

    A Python that is older than its OpenSSL has no name for some reasons, only their text.
    """
    text = error.reason or _PLACE.sub("", error.strerror or str(error))
    return text.replace("_", " ").lower()


def explain_librdkafka(text: str) -> str:
    """Return the text of an error of librdkafka's; if it has a reason of OpenSSL's, with the explanation."""
    found = _ROUTINES.search(text)
    explanation = _explain(found[1]) if found is not None else None
    return text if explanation is None else f"{text}; {explanation}"


def _explain(text: str) -> str | None:
    """Return why a handshake failed and the next step, from OpenSSL's name or text of a reason; None if unknown."""
    reason = text.upper().replace(" ", "_")
    return next((explanation for part, explanation in _REASONS.items() if part in reason), None)
