"""The checks of all connections to a cluster: every step of each bootstrap server, and one row for each broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafka_groups.admin.network.bootstrap import advertised_hint, endpoint_of, unconnected, unreachable
from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.checks.certificates import ends_soon
from kafka_groups.checks.check import Check, Status, Subject
from kafka_groups.checks.steps import StepResult, judge_steps, next_step
from kafka_groups.errors import AdminError, ConnectionFailedError

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection_evidence import ClusterEvidence, ConnectionEvidence
    from kafka_groups.model import Broker
    from kafka_groups.settings import Endpoint

CONNECTION: Final = "connection"


def check_connections(evidence: ClusterEvidence, now_s: float) -> list[Check]:
    """Return the checks of the servers, step by step, and of the brokers that they returned; `now_s` is since 1970."""
    settings = evidence.settings
    checks: list[Check] = []
    clusters: dict[str, Endpoint] = {}
    for server in evidence.servers:
        connection = evidence.connections[server]
        checks += _check_server(connection, judge_steps(connection, settings, now_s), clusters)
    for broker, source in _brokers_by_source(evidence):
        connection = evidence.connections[endpoint_of(broker)]
        is_named = endpoint_of(broker) in evidence.servers
        results = judge_steps(connection, settings, now_s)
        checks.append(_check_broker(broker, connection, results, now_s, source=None if is_named else source))
    return checks


def _check_server(
    connection: ConnectionEvidence, results: Iterable[StepResult], clusters: dict[str, Endpoint]
) -> Iterator[Check]:
    subject = Subject(server=str(connection.endpoint))
    for step, status, detail in results:
        if status is Status.FAILED:
            yield subject.failed(step, detail, unreachable([(connection.endpoint, _error_of(connection))]))
        elif step is SetupStep.CLUSTER and status is Status.OK and (other := _other_cluster(connection, clusters)):
            msg = f"{detail}, but {other}; name the servers of one cluster"
            yield subject.failed(step, msg, ConnectionFailedError(f"{connection.endpoint}: {msg}"))
        else:
            yield subject.check(step, status, detail)


def _other_cluster(connection: ConnectionEvidence, clusters: dict[str, Endpoint]) -> str | None:
    """Return the cluster of an earlier server, if it is another one; `clusters` has the first server of each."""
    cluster_id = None if connection.metadata is None else connection.metadata.cluster_id
    if cluster_id is None:
        return None
    clusters.setdefault(cluster_id, connection.endpoint)
    first_id, first_server = next(iter(clusters.items()))
    return None if first_id == cluster_id else f"{first_server} belongs to cluster {first_id}"


def _brokers_by_source(evidence: ClusterEvidence) -> list[tuple[Broker, Endpoint]]:
    """Return each broker under each of its addresses, by id, with the first server that returned the address."""
    sources: dict[Broker, Endpoint] = {}
    for server in evidence.servers:
        metadata = evidence.connections[server].metadata
        for broker in metadata.brokers.values() if metadata is not None else ():
            sources.setdefault(broker, server)
    return sorted((broker, source) for broker, source in sources.items() if endpoint_of(broker) in evidence.connections)


def _check_broker(
    broker: Broker,
    connection: ConnectionEvidence,
    results: list[StepResult],
    now_s: float,
    *,
    source: Endpoint | None,
) -> Check:
    """Return the one check of a broker: the step that failed, the warnings, or what was reached."""
    subject = Subject(server=str(connection.endpoint), broker=broker.id)
    details: Mapping[SetupStep, str] = {step: detail for step, _, detail in results}
    step = connection.failed_step
    if step is not None:
        error = _error_of(connection)
        if connection.error is not None and (hint := advertised_hint(connection.error, source)):
            # The advertised address is a more likely cause than what the next step of the error names.
            error = connection.error
            details = {step: f"{error}{hint}"}
        name = f"broker {broker.id} ({connection.endpoint})"
        return subject.failed(CONNECTION, f"{step}: {details[step]}", unconnected(name, error, source=source))
    warnings = [_describe_warning(result, connection, now_s) for result in results if result.status is Status.WARNING]
    if warnings:
        return subject.check(CONNECTION, Status.WARNING, "; ".join(warnings))
    release, *_ = details[SetupStep.VERSIONS].split("; ")
    return subject.check(CONNECTION, Status.OK, f"{details[SetupStep.ADDRESS]}; {release}")


def _describe_warning(result: StepResult, connection: ConnectionEvidence, now_s: float) -> str:
    """Return the warning of a step; that of TLS without the certificates, which the rows of the servers have."""
    if result.step is SetupStep.TLS and connection.tls is not None:
        return f"{result.step}: {ends_soon(connection.tls, now_s)}"
    return f"{result.step}: {result.detail}"


def _error_of(connection: ConnectionEvidence) -> AdminError:
    """Return the error of a failed connection, with the next step."""
    assert connection.error is not None
    return type(connection.error)(f"{connection.error}{next_step(connection)}")
