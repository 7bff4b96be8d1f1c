"""Checks of connections to scripted brokers, and what became known of one connection."""

from __future__ import annotations

from kafka_groups.admin import ClusterEvidence, ConnectionEvidence
from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.settings import ConnectionSettings
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock


def check(settings: ConnectionSettings, clock: SimulatedClock | None = None, timeout_s: float = 5.0) -> ClusterEvidence:
    with (clock or SimulatedClock()).client(settings) as admin:
        return admin.check_connections(timeout=timeout_s)


def evidence_of(cluster: ScriptedCluster, **settings: object) -> ConnectionEvidence:
    """Return what became known of the first broker, which is the bootstrap server."""
    found = check(cluster.settings(**settings), cluster.clock)
    return found.connections[cluster.brokers[1].endpoint]


def outcome(evidence: ConnectionEvidence) -> tuple[SetupStep | None, str | None]:
    return evidence.failed_step, None if evidence.error is None else evidence.error.name
