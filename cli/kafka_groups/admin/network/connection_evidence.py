"""What became known of connections to the servers and brokers of a cluster, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from kafka_groups.protocol.features import Features

if TYPE_CHECKING:
    from kafka_groups.admin.network.bootstrap import ClusterMetadata
    from kafka_groups.admin.network.handshake import Versions
    from kafka_groups.admin.network.tls_evidence import TlsEvidence
    from kafka_groups.errors import AdminError
    from kafka_groups.settings import ConnectionSettings, Endpoint


class SetupStep(StrEnum):
    """A step on the way to a broker, in their order."""

    NAME = "name"
    ADDRESS = "address"
    TLS = "tls"
    PROTOCOL = "protocol"
    MECHANISMS = "mechanisms"
    AUTHENTICATION = "authentication"
    VERSIONS = "versions"
    CLUSTER = "cluster"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionEvidence:
    """What became known of one address. What is not known is None.

    `addresses` are those of the host, `address` the one that accepted the connection, `connected_s` after how many
    seconds. `mechanisms` are those of SASL that the broker offers. `session_lifetime_s` is how long it accepts an
    authentication; None without a limit. `failed_step` is where `error` occurred; both are None if the broker returned
    its metadata.
    """

    endpoint: Endpoint
    addresses: tuple[str, ...] | None = None
    address: str | None = None
    connected_s: float | None = None
    tls: TlsEvidence | None = None
    versions: Versions | None = None
    mechanisms: tuple[str, ...] | None = None
    session_lifetime_s: float | None = None
    metadata: ClusterMetadata | None = None
    features: Features | None = None
    failed_step: SetupStep | None = None
    error: AdminError | None = None

    @property
    def is_reached(self) -> bool:
        """Return whether the broker responded to a request after the authentication."""
        return self.error is None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterEvidence:
    """What became known of the bootstrap `servers`, and of the brokers in their metadata, with these settings."""

    servers: tuple[Endpoint, ...]
    connections: Mapping[Endpoint, ConnectionEvidence]
    settings: ConnectionSettings = field(repr=False)

    def is_reached(self) -> bool:
        """Return whether a bootstrap server was reached."""
        return any(self.connections[server].is_reached for server in self.servers)

    def cluster_id(self) -> str | None:
        """Return the id that the servers returned; None if there is none, or if they belong to different clusters."""
        metadata = (self.connections[server].metadata for server in self.servers)
        ids = {each.cluster_id for each in metadata if each is not None}
        return ids.pop() if len(ids) == 1 else None
