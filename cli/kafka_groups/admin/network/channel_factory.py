"""Channels to brokers: plain ones, or with TLS, as the settings of the connection demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_groups.admin.network.channel import Address, Channel

if TYPE_CHECKING:
    import ssl

    from kafka_groups.settings import ConnectionSettings


class ChannelFactory:
    """A function that opens channels with the same settings. Channels with TLS share one context."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._context: ssl.SSLContext | None = None

    def __call__(self, addresses: list[Address], host: str) -> Channel:
        """Open a channel to the first reachable address of a host.

        Raises SettingsError for a file of TLS that cannot be used, NoConnectionError if no address can be tried.
        """
        if self._settings.tls is None:
            return Channel(addresses, tls_protocol="SASL_SSL" if self._settings.credentials else "SSL")
        # The import of ssl takes a while, and many connections are plain.
        from kafka_groups.admin.network.tls import TlsChannel, make_context
        from kafka_groups.admin.network.tls_files import PIPE_TIMEOUT_S

        if self._context is None:
            timeout_s = min(PIPE_TIMEOUT_S, self._settings.timeout_s / 2)
            self._context = make_context(self._settings.tls, pipe_timeout_s=timeout_s)
        return TlsChannel(addresses, context=self._context, server_name=host)
