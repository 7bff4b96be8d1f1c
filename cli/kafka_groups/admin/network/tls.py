"""A channel with TLS, by Python's ssl module and the connection settings."""

from __future__ import annotations

import selectors
import ssl
from typing import TYPE_CHECKING

from kafka_groups.admin.network.channel import Channel
from kafka_groups.errors import SettingsError, TlsFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Address
    from kafka_groups.settings import Tls


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
        return "the listener may require a client certificate (ssl.certificate.location), or may not be Kafka's"

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
        except ssl.SSLCertVerificationError as error:
            msg = f"the broker's certificate is not trusted: {error.verify_message}"
            raise TlsFailedError(msg) from error
        except OSError as error:
            raise TlsFailedError("the TLS handshake failed; the listener may not use TLS") from error
        return True


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
