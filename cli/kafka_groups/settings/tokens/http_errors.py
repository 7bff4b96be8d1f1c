"""Why an HTTP request failed, and the next step, as the end of a sentence that begins with the endpoint."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

_SET_CA: Final = "set https.ca.location to the CA of the endpoint"
_CLOCK: Final = "check the clock of this machine, or renew the certificate of the endpoint"
_OTHER_NAME: Final = "write the URL with a name that the certificate has"
_LOOK: Final = "look at it with: openssl s_client -connect HOST:PORT -showcerts"
# The next step for a certificate by X509_V_ERR_… of OpenSSL's x509_vfy.h.
_CERTIFICATE_STEPS: Final = {
    **dict.fromkeys((2, 18, 19, 20, 21, 27, 33), _SET_CA),
    **dict.fromkeys((9, 10, 13, 14), _CLOCK),
    **dict.fromkeys((62, 64), _OTHER_NAME),
}
# Reasons of OpenSSL's for a server that does not speak TLS.
_NO_TLS: Final = re.compile(
    r"WRONG_VERSION_NUMBER|HTTP_REQUEST|UNKNOWN_PROTOCOL|RECORD_LAYER_FAILURE|PACKET_LENGTH_TOO_LONG"
)
CHECK_URL: Final = "check the URL and the network"


class HttpFailedError(Exception):
    """A request without a usable response. Its text says why, as the end of a sentence, without secrets.

    `is_retriable` is true if the same request may succeed a moment later. `is_timeout` is true if the server did
    nothing wrong but be slow.
    """

    def __init__(self, text: str, *, is_retriable: bool = True, is_timeout: bool = False) -> None:
        super().__init__(text)
        self.is_retriable = is_retriable
        self.is_timeout = is_timeout


def explain_failure(error: Exception) -> HttpFailedError:
    """Return the error for a connection that failed, or for a response that cannot be read."""
    # Imported here, as the network layer imports this module without fetching anything over HTTP.
    import ssl
    from http.client import HTTPException, IncompleteRead

    if isinstance(error, ssl.SSLError):
        return _explain_tls(error)
    if isinstance(error, socket.gaierror | UnicodeError):
        reason = getattr(error, "strerror", None) or "it is no valid name"
        return HttpFailedError(f"has a host name that is not resolved ({reason.lower()}); {CHECK_URL}")
    if isinstance(error, ConnectionResetError | BrokenPipeError | IncompleteRead):
        return HttpFailedError(f"closed the connection before its response was complete; {CHECK_URL}")
    if isinstance(error, OSError):
        reason = (error.strerror or "it did not respond in time").lower()
        return HttpFailedError(f"cannot be reached: {reason}; {CHECK_URL}", is_timeout=isinstance(error, TimeoutError))
    if isinstance(error, HTTPException):
        msg = "sent no HTTP response that can be read; check the port of the URL"
        return HttpFailedError(msg, is_retriable=False)
    return HttpFailedError(f"cannot be used: {type(error).__name__}", is_retriable=False)


def _explain_tls(error: ssl.SSLError) -> HttpFailedError:
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        step = _CERTIFICATE_STEPS.get(error.verify_code, _LOOK)
        msg = f"has a certificate that is not trusted: {error.verify_message.rstrip('.')}; {step}"
        return HttpFailedError(msg, is_retriable=False)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return HttpFailedError(f"closed the connection before its response was complete; {CHECK_URL}")
    reason = error.reason or ""
    if _NO_TLS.search(reason):
        return HttpFailedError("does not use TLS; check the port of the URL", is_retriable=False)
    shown = reason.replace("_", " ").lower() or "no reason is known"
    return HttpFailedError(f"cannot be reached: the TLS handshake failed: {shown}; {_LOOK}", is_retriable=False)
