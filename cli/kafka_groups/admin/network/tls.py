"""TLS as Python's ssl speaks it, from the connection settings."""

from __future__ import annotations

import selectors
import ssl
from typing import TYPE_CHECKING

from kafka_groups.admin.network.channel import Channel
from kafka_groups.errors import SettingsError, TlsFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.resolver import Address
    from kafka_groups.settings import Tls


class TlsChannel(Channel):
    """A channel that shakes hands before its first frame. `server_name` is what the certificate must be for."""

    would_block = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    with_login = "SASL_SSL"

    def __init__(self, addresses: list[Address], *, context: ssl.SSLContext, server_name: str) -> None:
        self._context = context
        self._server_name = server_name
        self._tls: ssl.SSLSocket | None = None
        self._wants_to_write = False
        super().__init__(addresses)

    def wanted_events(self) -> int:
        """What the selector is to wait for; a handshake may wait for either direction."""
        return super().wanted_events() | (selectors.EVENT_WRITE if self._wants_to_write else 0)

    def suspicion(self) -> str:
        """The handshake is done by then."""
        return "perhaps it wants a client certificate (ssl.certificate.location), or is not Kafka's"

    def shake_hands(self) -> bool:
        """Wrap the socket once it is connected, and go on with the handshake. TlsFailedError when it fails."""
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
            msg = f"its certificate is not trusted: {error.verify_message}"
            raise TlsFailedError(msg) from error
        except OSError as error:
            raise TlsFailedError("the TLS handshake failed; perhaps the port does not speak TLS") from error
        return True


def make_context(tls: Tls) -> ssl.SSLContext:
    """A context that always verifies the broker's certificate. SettingsError names the file that cannot be used."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
    except (OSError, ssl.SSLError) as error:
        msg = f"the CA file {tls.ca_file} cannot be used: {_reason(error)}"
        raise SettingsError(msg) from error
    context.check_hostname = tls.check_host_name
    if tls.certificate_file:
        try:
            context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password or "")
        except (OSError, ssl.SSLError) as error:
            msg = f"the client certificate {tls.certificate_file} cannot be used: {_reason(error)}"
            raise SettingsError(msg) from error
    return context


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
