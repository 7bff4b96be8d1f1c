"""Evidence of connections, as a client collects it."""

from __future__ import annotations

from typing import Any

from kafka_groups.admin import ClusterEvidence, ConnectionEvidence
from kafka_groups.admin.network.bootstrap import ClusterMetadata
from kafka_groups.model import Broker
from kafka_groups.protocol.features import Features
from kafka_groups.protocol.messages import ALL
from kafka_groups.settings import ConnectionSettings, Endpoint

B1 = Endpoint(host="b1", port=9092)
B2 = Endpoint(host="b2", port=9092)
EVERY_API = {api.key: (api.lowest, api.highest) for api in ALL}
FEATURES = Features(supported={"metadata.version": 30, "group.version": 1}, finalized={"group.version": 1})


def metadata(*brokers: Endpoint, cluster_id: str | None = "abc") -> ClusterMetadata:
    """Return the metadata of a cluster of these brokers; their ids are 1, 2, …"""
    found = {number: Broker(number, at.host, at.port) for number, at in enumerate(brokers, start=1)}
    return ClusterMetadata(cluster_id, found)


def evidence(endpoint: Endpoint = B1, **values: Any) -> ConnectionEvidence:
    """Return the evidence of a plain connection that was reached, with other values."""
    found = {
        "addresses": ("10.0.0.1",),
        "address": "10.0.0.1",
        "connected_s": 0.002,
        "versions": EVERY_API,
        "metadata": metadata(endpoint),
        "features": FEATURES,
    }
    return ConnectionEvidence(endpoint=endpoint, **{**found, **values})


def cluster(*connections: ConnectionEvidence, servers: int = 1, **settings: Any) -> ClusterEvidence:
    """Return the evidence of a cluster; the first connections are those to bootstrap servers."""
    endpoints = tuple(each.endpoint for each in connections[:servers])
    return ClusterEvidence(
        servers=endpoints,
        connections={each.endpoint: each for each in connections},
        settings=ConnectionSettings(bootstrap=endpoints, **settings),
    )
