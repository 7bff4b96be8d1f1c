"""A channel with TLS, by Python's ssl module and the connection settings."""

from __future__ import annotations

import selectors
import ssl
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.channel import Channel
from kafka_groups.errors import ConnectionFailedError, SettingsError, TlsFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Address
    from kafka_groups.errors import AdminError
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
    "CERTIFICATE_REQUIRED": _CLIENT_CERTIFICATE,
    "ALERT_BAD_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_UNKNOWN_CA": _CLIENT_CERTIFICATE,
    "ALERT_CERTIFICATE": _CLIENT_CERTIFICATE,
    "ALERT_HANDSHAKE_FAILURE": f"the TLS handshake was refused: {_CLIENT_CERTIFICATE}, or no cipher is common",
}


class TlsChannel(Channel):
    """A channel that completes a TLS handshake before its first frame. `server_name` must match the certificate."""

    would_block = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    sasl_protocol = "SASL_SSL"

    def __init__(self, addresses: list[Address], *, context: ssl.SSLContext, server_name: str) -> None:
        self._context = context
        self._server_name = server_name
        self._tls: ssl.SSLSocket | None = None
        self._wants_to_write = False
        super().__init__(addresses)

    def wanted_events(self) -> int:
        """Return the events to wait for; a TLS handshake may wait to read or to write."""
        return super().wanted_events() | (selectors.EVENT_WRITE if self._wants_to_write else 0)

    def likely_cause(self) -> str:
        """Return the likely cause if the peer closes the connection at the first request, after the TLS handshake."""
        certificate = "ssl.keystore.location or ssl.certificate.location"
        return f"the listener may require a client certificate ({certificate}), or may not be Kafka's"

    def continue_handshake(self) -> bool:
        """Continue the TLS handshake; return whether it is complete. TlsFailedError if it failed."""
        if self._tls is None:
            self._tls = self._context.wrap_socket(
                self.socket, server_hostname=self._server_name, do_handshake_on_connect=False
            )
            self.socket = self._tls
        self._wants_to_write = False
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLWantWriteError:
            self._wants_to_write = True
            return False
        return True

    def to_failure(self, error: OSError) -> AdminError:
        """Return what an error of the socket means.

        With TLS 1.3 a client certificate is refused after the handshake.
        """
        if isinstance(error, ssl.SSLCertVerificationError):
            return TlsFailedError(f"the broker's certificate is not trusted: {error.verify_message}")
        reason = (getattr(error, "reason", None) or "").upper()
        explanation = next((text for part, text in _TLS_ERRORS.items() if part in reason), None)
        if explanation is not None:
            return TlsFailedError(explanation)
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
            return TlsFailedError(f"the TLS connection failed: {reason.replace('_', ' ').lower() or error}")
        if not self.is_open:
            msg = "closed the connection in the TLS handshake; the listener may not use TLS, or only an older version"
            return ConnectionFailedError(msg)
        return super().to_failure(error)


def make_context(tls: Tls) -> ssl.SSLContext:
    """Return a context that verifies the broker's certificate. SettingsError names a file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        msg = f"cannot use the CA file {tls.ca_file}: {_reason(error)}"
        raise SettingsError(msg) from error
    context.check_hostname = tls.check_host_name
    if tls.certificate_file:
        try:
            context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password or "")
        except (OSError, ssl.SSLError) as error:
            msg = f"cannot use the client certificate {tls.certificate_file}: {_reason(error)}"
            raise SettingsError(msg) from error
    return context


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
