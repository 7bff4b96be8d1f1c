"""The check of one address: a connection, the requests that it sends, and what becomes known on the way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafka_groups import __version__
from kafka_groups.admin.network.bootstrap import ClusterMetadata, metadata_request, read_metadata
from kafka_groups.admin.network.channel import numeric_addresses
from kafka_groups.admin.network.connection import Connection
from kafka_groups.admin.network.connection_evidence import ConnectionEvidence, SetupStep
from kafka_groups.admin.network.request import Request, Response
from kafka_groups.admin.network.setup_errors import with_settings
from kafka_groups.errors import (
    AdminError,
    BrokerTimeoutError,
    ConnectionFailedError,
    NameNotResolvedError,
    TlsFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol import SchemaError
from kafka_groups.protocol.features import Features, features_of
from kafka_groups.protocol.messages.api_versions import FEATURES, FEATURES_SINCE

if TYPE_CHECKING:
    from kafka_groups.admin.network.channel import Address, Channel
    from kafka_groups.admin.network.handshake import Handshake
    from kafka_groups.admin.network.resolver import Resolve
    from kafka_groups.admin.network.tls_evidence import TlsEvidence
    from kafka_groups.settings import ConnectionSettings, Endpoint

_CLIENT: Final = {"client_software_name": "kafka-groups", "client_software_version": __version__}


class ConnectionCheck:
    """A connection to one address that requests Metadata, and then the features of the broker.

    Its owner calls `connect`, and `advance` until `is_done`. Nothing is raised but SettingsError: an error ends the
    check, and is part of its evidence. Times are seconds of the owner's clock; at `until` the owner calls `expire`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ConnectionSettings,
        *,
        handshake: Handshake,
        clock: Callable[[], float],
        until: float,
    ) -> None:
        self.endpoint = endpoint
        self.until = until
        self.connection: Connection | None = None
        self.is_done = False
        self._settings = settings
        self._handshake = handshake
        self._clock = clock
        self._started = clock()
        self._opened_at: float | None = None
        self._connected_s: float | None = None
        self._address: str | None = None
        self._tls: TlsEvidence | None = None
        self._metadata: ClusterMetadata | None = None
        self._features: Features | None = None
        self._failed_step: SetupStep | None = None
        self._error: AdminError | None = None

    def connect(
        self,
        *,
        make_channel: Callable[[list[Address], str], Channel],
        resolve: Resolve,
        wakeup: Callable[[], None],
    ) -> None:
        """Begin the connection, with the first request waiting. SettingsError for a file of TLS that is not valid."""
        try:
            self.connection = Connection(
                self.endpoint,
                handshake=self._handshake,
                make_channel=make_channel,
                setup_timeout_s=min(self._settings.connect_timeout_s, self.until - self._started),
                now=self._started,
                resolve=resolve,
                wakeup=wakeup,
            )
            self.connection.submit(metadata_request(self), self._started)
        except AdminError as error:
            self._end(error)
        self._observe(self._started)

    def advance(self, now: float) -> None:
        """Continue as far as possible without waiting."""
        if self.is_done or self.connection is None:
            return
        try:
            responses = self.connection.advance(now)
        except AdminError as error:
            self._observe(now)
            self._end(error)
            return
        self._observe(now)
        for response in responses:
            self._receive(response, now)

    def skip(self) -> None:
        """End the check before it begins: the others took all of the time."""
        self._end(BrokerTimeoutError("no time was left to check it; raise --timeout, or name fewer servers"))

    def expire(self, now: float) -> None:
        """End the check, because its time is over."""
        assert self.connection is not None
        reason = self.connection.reason_for_delay(now) or "has not responded"
        self._observe(now)
        if self._handshake.is_waiting and self._handshake.step is not None:
            # The broker waits for this client, and the step may have more time than this check.
            self._end(self._handshake.step.timeout_error())
            return
        self._end(BrokerTimeoutError(f"no response within {max(0.1, round(now - self._started, 1)):g} s; it {reason}"))

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close(ConnectionFailedError("closed"))

    def evidence(self) -> ConnectionEvidence:
        """Return what became known."""
        return ConnectionEvidence(
            endpoint=self.endpoint,
            addresses=self._addresses(),
            address=self._address,
            connected_s=self._connected_s,
            tls=self._tls,
            versions=self._handshake.versions,
            mechanisms=self._handshake.mechanisms,
            session_lifetime_s=self._handshake.session_lifetime_s,
            metadata=self._metadata,
            features=self._features,
            failed_step=self._failed_step,
            error=self._error,
        )

    def _addresses(self) -> tuple[str, ...] | None:
        found = numeric_addresses(self.endpoint) if self.connection is None else self.connection.addresses
        return None if found is None else tuple(dict.fromkeys(address[0] for _, address in found))

    def _observe(self, now: float) -> None:
        """Note what the channel shows at this time; a closed one shows nothing any more."""
        channel = None if self.connection is None else self.connection.channel
        if channel is None:
            return
        if self._opened_at is None:
            # The first channel with TLS reads the certificates of the CAs, which takes longer than a connection.
            self._opened_at = self._clock()
        if channel.is_connected and self._connected_s is None:
            self._connected_s = max(0.0, now - self._opened_at)
            self._address = channel.address
        if self._settings.tls is not None and channel.is_connected:
            self._observe_tls(channel)

    def _observe_tls(self, channel: Channel) -> None:
        import ssl

        from kafka_groups.admin.network.tls_evidence import read_tls

        if isinstance(channel.socket, ssl.SSLSocket) and (self._tls is None or self._tls.protocol is None):
            self._tls = read_tls(channel.socket)

    def _receive(self, response: Response, now: float) -> None:
        if response.request.api is FEATURES:
            self._read_features(response)
            self.is_done = True
            return
        try:
            self._metadata = read_metadata(response)
        except AdminError as error:
            self._end(error)
            return
        assert self.connection is not None
        _, highest = (self._handshake.versions or {}).get(FEATURES.key, (0, 0))
        if highest < FEATURES_SINCE:
            self.is_done = True
            return
        self.connection.submit(Request(api=FEATURES, bodies=lambda _version: [(None, _CLIENT)], token=self), now)

    def _read_features(self, response: Response) -> None:
        # A broker whose features cannot be read is reached all the same; they stay unknown.
        if response.error is not None:
            return
        with suppress(SchemaError):
            body = FEATURES.read_response(response.version, response.payload)
            if not body["error_code"]:
                self._features = features_of(body)

    def _end(self, error: AdminError) -> None:
        self.is_done = True
        if self._metadata is not None:
            return
        self._failed_step = self._step_of(error)
        is_set_up = self.connection is not None and self.connection.versions is not None
        self._error = error if is_set_up else with_settings(error, self._settings, self.endpoint)

    def _step_of(self, error: AdminError) -> SetupStep:
        channel = None if self.connection is None else self.connection.channel
        if isinstance(error, NameNotResolvedError) or self._addresses() is None:
            return SetupStep.NAME
        if channel is None or not channel.is_connected:
            return SetupStep.ADDRESS
        # A listener with TLS 1.3 refuses the client's certificate after the handshake.
        if isinstance(error, TlsFailedError) or not channel.is_open:
            return SetupStep.TLS
        return self._step_of_kafka(error)

    def _step_of_kafka(self, error: AdminError) -> SetupStep:
        """Return the step of an error on an open channel."""
        if self._handshake.versions is None:
            return SetupStep.PROTOCOL
        assert self.connection is not None
        if self.connection.versions is None:
            is_accepted = self._handshake.is_mechanism_accepted
            return SetupStep.AUTHENTICATION if is_accepted else SetupStep.MECHANISMS
        if isinstance(error, UnsupportedVersionError):
            return SetupStep.VERSIONS
        # A listener that demands SASL responds to ApiVersions, and closes the connection at any other request.
        is_closed = type(error) is ConnectionFailedError and self._handshake.credentials is None
        return SetupStep.AUTHENTICATION if is_closed else SetupStep.CLUSTER
