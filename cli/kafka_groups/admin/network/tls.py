"""A channel with TLS, by Python's ssl module and the connection settings."""

from __future__ import annotations

import selectors
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.channel import Channel
from kafka_groups.admin.network.tls_errors import ca_error, certificate_error, cipher_error, crl_error, crl_problem
from kafka_groups.admin.network.tls_files import PIPE_TIMEOUT_S, replace_pipes
from kafka_groups.admin.network.tls_reasons import handshake_error
from kafka_groups.errors import ConnectionFailedError, SettingsError, TlsFailedError
from kafka_groups.settings.values import TLS_VERSIONS

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Address
    from kafka_groups.errors import AdminError
    from kafka_groups.settings import Tls

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class TlsChannel(Channel):
    """A channel that completes a TLS handshake before its first frame. `server_name` must match the certificate.

    A dot at its end makes a name absolute for the resolver. Certificates and SNI have none (RFC 6066, section 3).
    """

    would_block = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    sasl_protocol = "SASL_SSL"

    def __init__(self, addresses: list[Address], *, context: ssl.SSLContext, server_name: str) -> None:
        self._context = context
        self._server_name = server_name.removesuffix(".")
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
            _check_name(self._server_name)
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
        """Return what an error of the socket means; TLS 1.3 refuses a client certificate after the handshake."""
        explanation = handshake_error(error)
        if explanation is not None:
            return TlsFailedError(explanation)
        if not self.is_open:
            msg = "closed the connection in the TLS handshake; the listener may not use TLS, or only an older version"
            return ConnectionFailedError(msg)
        if isinstance(error, ssl.SSLError):
            # The peer closed the connection without the end of TLS; OpenSSL's text has a place in Python's source.
            return self._connection_error("closed the connection")
        return super().to_failure(error)


def make_context(tls: Tls, *, pipe_timeout_s: float = PIPE_TIMEOUT_S) -> ssl.SSLContext:
    """Return a context that verifies the broker's certificate. SettingsError names a file that cannot be used.

    Files that are pipes, such as those of the shell's <(command), may take `pipe_timeout_s` together.
    """
    tls = replace_pipes(tls, pipe_timeout_s)
    is_directory = tls.ca_file is not None and Path(tls.ca_file).is_dir()
    cafile, capath = (None, tls.ca_file) if is_directory else (tls.ca_file, None)
    try:
        context = ssl.create_default_context(cafile=cafile, capath=capath, cadata=tls.ca_pem)
    except (OSError, ValueError) as error:
        raise SettingsError(ca_error(tls, error)) from error
    # Every Python verifies as Kafka's own clients do: each trusted certificate ends a chain, and those of private CAs
    # may lack extensions of RFC 5280. Python 3.13 changed both defaults.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = tls.check_host_name
    _limit_negotiation(context, tls)
    if tls.crl_file is not None:
        _load_revocations(context, tls.crl_file)
    if tls.certificate_file or tls.certificate_pem:
        try:
            _load_certificate(context, tls)
        except (OSError, ValueError) as error:
            raise SettingsError(certificate_error(tls, error)) from error
    return context


def _check_name(name: str) -> None:
    """Raise TlsFailedError for a name that Python's ssl module refuses, with an exception after it took the socket."""
    try:
        is_valid = bool(name.encode("idna"))
    except UnicodeError:
        is_valid = False
    if not is_valid:
        msg = f"no certificate can have the host name '{name}'; correct it where it is set (advertised.listeners)"
        raise TlsFailedError(msg)


def _limit_negotiation(context: ssl.SSLContext, tls: Tls) -> None:
    """Set the versions and the cipher suites that are offered. The defaults of the system stay where none are set."""
    if tls.versions != TLS_VERSIONS:
        context.minimum_version = _VERSIONS[tls.versions[0]]
        context.maximum_version = _VERSIONS[tls.versions[-1]]
    if tls.ciphers is None:
        return
    try:
        context.set_ciphers(tls.ciphers)
    except (ssl.SSLError, ValueError) as error:
        raise SettingsError(cipher_error(tls.ciphers, ())) from error
    offered = {cipher["name"] for cipher in context.get_ciphers()}
    if problem := cipher_error(tls.ciphers, offered):
        raise SettingsError(problem)


def _load_revocations(context: ssl.SSLContext, file: str) -> None:
    # OpenSSL would trust certificates in the file, and accept a file without a list.
    if problem := crl_problem(file):
        raise SettingsError(problem)
    try:
        context.load_verify_locations(cafile=file)
    except (OSError, ValueError) as error:
        raise SettingsError(crl_error(file, error)) from error
    # The last certificate alone is checked, as by librdkafka.
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _load_certificate(context: ssl.SSLContext, tls: Tls) -> None:
    with _path(tls.certificate_file, tls.certificate_pem) as certificate, _path(tls.key_file, tls.key_pem) as key:
        assert certificate is not None
        # Without any password, OpenSSL would prompt for that of an encrypted key.
        context.load_cert_chain(certificate, key, tls.key_password or "")


@contextmanager
def _path(file: str | None, pem: str | None) -> Iterator[str | None]:
    """Yield the path of a file, or of a private one with this text: OpenSSL loads keys only from files."""
    if pem is None:
        yield file
        return
    from kafka_groups.files import private_file

    with private_file(pem) as path:
        yield path
