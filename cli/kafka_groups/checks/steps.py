"""The checks of one connection: a text for each step that succeeded, and the error of the one that did not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.checks.certificates import describe_chain, describe_tls, ends_soon
from kafka_groups.checks.check import Status
from kafka_groups.checks.versions import (
    describe_absent_kinds,
    describe_features,
    describe_missing,
    describe_release,
    missing_apis,
)
from kafka_groups.errors import AdminError, BrokerTimeoutError, NameNotResolvedError, NoConnectionError

if TYPE_CHECKING:
    from kafka_groups.admin.network.connection_evidence import ConnectionEvidence
    from kafka_groups.settings import ConnectionSettings

STEPS: Final = tuple(SetupStep)
# The next step for errors that do not have one.
_NEXT_STEPS: Final[Sequence[tuple[SetupStep, type[AdminError], str]]] = (
    (SetupStep.NAME, NameNotResolvedError, "check the host name, and the DNS of this machine"),
    (SetupStep.ADDRESS, NoConnectionError, "check the port, and whether the broker runs"),
    (SetupStep.ADDRESS, BrokerTimeoutError, "check host and port, and firewalls on the way"),
    (SetupStep.PROTOCOL, BrokerTimeoutError, "check host and port, security.protocol, and the log of the broker"),
    (SetupStep.MECHANISMS, BrokerTimeoutError, "check the log of the broker"),
    (SetupStep.AUTHENTICATION, BrokerTimeoutError, "check the log of the broker"),
    (SetupStep.CLUSTER, BrokerTimeoutError, "check the log of the broker"),
)


class StepResult(NamedTuple):
    """The result of one step."""

    step: SetupStep
    status: Status
    detail: str


def judge_steps(evidence: ConnectionEvidence, settings: ConnectionSettings, now_s: float) -> list[StepResult]:
    """Return the result of each step; those after a failed one are skipped. `now_s` is in seconds since 1970."""
    failed = evidence.failed_step
    results = []
    for step in STEPS:
        if failed is not None and STEPS.index(step) > STEPS.index(failed):
            results.append(StepResult(step, Status.SKIPPED, f"not checked, because the check of {failed} failed"))
        elif step is failed:
            results.append(StepResult(step, Status.FAILED, _describe_failure(evidence, now_s)))
        else:
            results.append(StepResult(step, *_judge(step, evidence, settings, now_s)))
    return results


def next_step(evidence: ConnectionEvidence) -> str:
    """Return what to do about an error that does not say so itself, as the end of its sentence; else empty."""
    steps = (
        text
        for step, kind, text in _NEXT_STEPS
        if step is evidence.failed_step and isinstance(evidence.error, kind) and "check " not in str(evidence.error)
    )
    return "".join(f"; {text}" for text in steps)


def _describe_failure(evidence: ConnectionEvidence, now_s: float) -> str:
    """Return the error; that of TLS with the certificates that the broker sent, which nobody has verified."""
    chain = evidence.tls.chain if evidence.tls is not None and evidence.failed_step is SetupStep.TLS else ()
    sent = "; the broker sent: " if chain else ""
    return f"{evidence.error}{next_step(evidence)}{sent}{'; '.join(describe_chain(chain, now_s))}"


def _judge(
    step: SetupStep, evidence: ConnectionEvidence, settings: ConnectionSettings, now_s: float
) -> tuple[Status, str]:
    """Return the status of a step that succeeded, or that the settings do not need, and its detail."""
    if step is SetupStep.TLS:
        return _judge_tls(evidence, settings, now_s)
    if step in (SetupStep.MECHANISMS, SetupStep.AUTHENTICATION):
        return _judge_sasl(step, evidence, settings)
    return _JUDGES[step](evidence)


def _judge_name(evidence: ConnectionEvidence) -> tuple[Status, str]:
    addresses = evidence.addresses or ()
    if addresses == (evidence.endpoint.host,):
        return Status.SKIPPED, "it is an address, which needs no lookup"
    return Status.OK, ", ".join(addresses)


def _judge_address(evidence: ConnectionEvidence) -> tuple[Status, str]:
    took = "" if evidence.connected_s is None else f" after {max(0.1, evidence.connected_s * 1000):.1f} ms"
    detail = f"{evidence.address or 'an address'} accepted the connection{took}"
    addresses = evidence.addresses or ()
    before = addresses[: addresses.index(evidence.address)] if evidence.address in addresses else ()
    if before:
        return Status.WARNING, f"{detail}; {', '.join(before)} did not, and is tried before it"
    return Status.OK, detail


def _judge_tls(evidence: ConnectionEvidence, settings: ConnectionSettings, now_s: float) -> tuple[Status, str]:
    if settings.tls is None or evidence.tls is None:
        return Status.SKIPPED, f"security.protocol={protocol_of(settings)}"
    detail = describe_tls(evidence.tls, now_s)
    if warning := ends_soon(evidence.tls, now_s):
        return Status.WARNING, f"{warning}; {detail}"
    return Status.OK, detail


def _judge_sasl(step: SetupStep, evidence: ConnectionEvidence, settings: ConnectionSettings) -> tuple[Status, str]:
    credentials = settings.credentials
    if credentials is None:
        certificate = settings.tls is not None and (settings.tls.certificate_file or settings.tls.certificate_pem)
        known_by = "; a broker that demands a client certificate got one" if certificate else ""
        return Status.SKIPPED, f"security.protocol={protocol_of(settings)}{known_by}"
    if step is SetupStep.MECHANISMS:
        offered = ", ".join(evidence.mechanisms or ()) or credentials.mechanism
        return Status.OK, f"the broker offers {offered}; this client uses {credentials.mechanism}"
    lifetime_s = evidence.session_lifetime_s
    session = "" if lifetime_s is None else f"; the session lasts {lifetime_s:,.0f} s, and is renewed before its end"
    return Status.OK, f"the broker accepts {credentials.identity}{session}"


def _judge_protocol(evidence: ConnectionEvidence) -> tuple[Status, str]:
    return Status.OK, f"Kafka's protocol, with {len(evidence.versions or ())} APIs"


def _judge_versions(evidence: ConnectionEvidence) -> tuple[Status, str]:
    missing = missing_apis(evidence.versions or {})
    gaps = describe_missing(missing)
    features = None if evidence.features is None else describe_features(evidence.features)
    parts = [describe_release(evidence.features), *gaps, describe_absent_kinds(missing), features]
    return Status.WARNING if gaps else Status.OK, "; ".join(filter(None, parts))


def _judge_cluster(evidence: ConnectionEvidence) -> tuple[Status, str]:
    assert evidence.metadata is not None
    brokers = sorted(evidence.metadata.brokers)
    plural = "" if len(brokers) == 1 else "s"
    name = evidence.metadata.cluster_id or "without an id"
    return Status.OK, f"cluster {name} with {len(brokers)} broker{plural}"


# The steps that every connection has.
_JUDGES: Final[Mapping[SetupStep, Callable[[ConnectionEvidence], tuple[Status, str]]]] = {
    SetupStep.NAME: _judge_name,
    SetupStep.ADDRESS: _judge_address,
    SetupStep.PROTOCOL: _judge_protocol,
    SetupStep.VERSIONS: _judge_versions,
    SetupStep.CLUSTER: _judge_cluster,
}


def protocol_of(settings: ConnectionSettings) -> str:
    """Return the security protocol of the settings."""
    transport = "PLAINTEXT" if settings.tls is None else "SSL"
    return transport if settings.credentials is None else f"SASL_{transport}"
