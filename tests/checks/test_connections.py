"""The rows of connections: every step of a server, one row for each broker, and the failures of both."""

from __future__ import annotations

from typing import Any

from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.admin.network.tls_evidence import Certificate, TlsEvidence
from kafka_groups.checks.check import Check, Status
from kafka_groups.checks.connections import check_connections
from kafka_groups.errors import (
    AuthenticationFailedError,
    BrokerTimeoutError,
    NameNotResolvedError,
    NoConnectionError,
    TlsFailedError,
    TokenFailedError,
)
from kafka_groups.settings import Endpoint, PasswordCredentials, Tls
from tests.checks.evidence import B1, B2, EVERY_API, cluster, evidence, metadata

USER = PasswordCredentials(mechanism="PLAIN", username="reader", password="geheim")
DAY_S = 86_400.0
NOW_S = 1_000 * DAY_S
CERTIFICATE = Certificate("CN=b1", "CN=ca", ("DNS:b1",), 0.0, NOW_S + 100 * DAY_S)
DESCRIBED = "certificate CN=b1 for DNS:b1, issued by CN=ca; valid from 1970-01-01 to 1973-01-05 (100 days left)"
UNCONNECTED: dict[str, Any] = {"address": None, "connected_s": None, "versions": None, "metadata": None}


def rows(checks: list[Check]) -> list[tuple[str, str, str]]:
    return [(check.check, check.status.value, check.detail) for check in checks]


def test_a_plain_server_that_is_reached() -> None:
    checks = check_connections(cluster(evidence()), NOW_S)
    assert rows(checks) == [
        ("name", "ok", "10.0.0.1"),
        ("address", "ok", "10.0.0.1 accepted the connection after 2.0 ms"),
        ("tls", "skipped", "security.protocol=PLAINTEXT"),
        ("protocol", "ok", f"Kafka's protocol, with {len(EVERY_API)} APIs"),
        ("mechanisms", "skipped", "security.protocol=PLAINTEXT"),
        ("authentication", "skipped", "security.protocol=PLAINTEXT"),
        ("versions", "ok", "Kafka 4.3; in use: group.version 1"),
        ("cluster", "ok", "cluster abc with 1 broker"),
        ("connection", "ok", "10.0.0.1 accepted the connection after 2.0 ms; Kafka 4.3"),
    ]
    assert [check.subject for check in checks] == ["b1:9092"] * 8 + ["broker 1 (b1:9092)"]
    assert [check.failure for check in checks] == [None] * 9


def test_a_server_with_tls_and_sasl_that_is_reached() -> None:
    tls = TlsEvidence("TLSv1.3", "TLS_AES_256_GCM_SHA384", (CERTIFICATE,))
    found = evidence(tls=tls, mechanisms=("PLAIN", "SCRAM-SHA-256"), session_lifetime_s=3600.0)
    checks = check_connections(cluster(found, tls=Tls(), credentials=USER), NOW_S)
    assert rows(checks)[2:6] == [
        (
            "tls",
            "ok",
            f"TLSv1.3, TLS_AES_256_GCM_SHA384; {DESCRIBED}",
        ),
        ("protocol", "ok", f"Kafka's protocol, with {len(EVERY_API)} APIs"),
        ("mechanisms", "ok", "the broker offers PLAIN, SCRAM-SHA-256; this client uses PLAIN"),
        (
            "authentication",
            "ok",
            "the broker accepts user 'reader'; the session lasts 3,600 s, and is renewed before its end",
        ),
    ]


def test_the_first_failure_of_a_server_ends_its_checks_with_the_next_step() -> None:
    error = NoConnectionError("connection refused")
    found = evidence(**UNCONNECTED, failed_step=SetupStep.ADDRESS, error=error)
    checks = check_connections(cluster(found), NOW_S)
    assert rows(checks)[:3] == [
        ("name", "ok", "10.0.0.1"),
        ("address", "failed", "connection refused; check the port, and whether the broker runs"),
        ("tls", "skipped", "not checked, because the check of address failed"),
    ]
    assert {check.status for check in checks[2:]} == {Status.SKIPPED}
    assert len(checks) == 8
    failure = checks[1].failure
    assert failure is not None
    assert (failure.name, failure.message) == (
        "CONNECTION_FAILED",
        "cannot connect to b1:9092: connection refused; check the port, and whether the broker runs",
    )


def test_each_kind_of_error_names_what_to_check_once() -> None:
    failures = {
        SetupStep.NAME: NameNotResolvedError("cannot resolve the host name 'b1': unknown"),
        SetupStep.ADDRESS: BrokerTimeoutError("did not accept the connection within 10 s"),
        SetupStep.PROTOCOL: BrokerTimeoutError("accepted the connection but did not respond within 10 s"),
        SetupStep.AUTHENTICATION: AuthenticationFailedError("refused; check sasl.password"),
    }
    details = {}
    for step, error in failures.items():
        checks = check_connections(cluster(evidence(metadata=None, failed_step=step, error=error)), NOW_S)
        details[step] = next(check.detail for check in checks if check.status is Status.FAILED)
    assert details == {
        SetupStep.NAME: "cannot resolve the host name 'b1': unknown; check the host name, and the DNS of this machine",
        SetupStep.ADDRESS: "did not accept the connection within 10 s; check host and port, and firewalls on the way",
        SetupStep.PROTOCOL: (
            "accepted the connection but did not respond within 10 s; "
            "check host and port, security.protocol, and the log of the broker"
        ),
        SetupStep.AUTHENTICATION: "refused; check sasl.password",
    }


def test_a_failed_tls_handshake_shows_the_certificates_that_the_broker_sent() -> None:
    found = evidence(
        tls=TlsEvidence(None, None, (CERTIFICATE,)),
        metadata=None,
        failed_step=SetupStep.TLS,
        error=TlsFailedError("it is for another host"),
    )
    (failed,) = [check for check in check_connections(cluster(found, tls=Tls()), NOW_S) if check.failure is not None]
    assert failed.detail.startswith("it is for another host; the broker sent: certificate CN=b1 for DNS:b1, issued by ")
    assert failed.failure is not None
    assert failed.failure.message == "cannot connect to b1:9092: it is for another host"


def test_a_token_that_could_not_be_fetched_is_not_the_fault_of_the_server() -> None:
    error = TokenFailedError("token.txt has no token: it is empty")
    found = evidence(metadata=None, failed_step=SetupStep.AUTHENTICATION, error=error)
    failures = [check.failure for check in check_connections(cluster(found), NOW_S) if check.failure is not None]
    assert [failure.message for failure in failures] == ["cannot log in: token.txt has no token: it is empty"]


def test_a_broker_at_a_wrong_advertised_address_names_who_returned_it() -> None:
    wrong = evidence(B2, **UNCONNECTED, failed_step=SetupStep.ADDRESS, error=NoConnectionError("refused"))
    checks = check_connections(cluster(evidence(metadata=metadata(B1, B2)), wrong), NOW_S)
    assert (checks[-1].subject, checks[-1].status) == ("broker 2 (b2:9092)", Status.FAILED)
    assert checks[-1].detail == "address: refused; check advertised.listeners: b1:9092 returned this address"
    failure = checks[-1].failure
    assert failure is not None
    assert (failure.broker, failure.message) == (
        2,
        "cannot connect to broker 2 (b2:9092): refused; check advertised.listeners: b1:9092 returned this address",
    )


def test_a_broker_with_warnings_has_them_in_its_row() -> None:
    ends = CERTIFICATE._replace(not_after_s=NOW_S + 3 * DAY_S)
    found = evidence(tls=TlsEvidence("TLSv1.3", "X", (ends,)))
    checks = check_connections(cluster(found, tls=Tls()), NOW_S)
    assert [check.check for check in checks if check.status is Status.WARNING] == ["tls", "connection"]
    assert checks[-1].detail == "tls: the broker's certificate ends in 3 days; renew it"


def test_servers_of_different_clusters_fail() -> None:
    found = cluster(evidence(), evidence(B2, metadata=metadata(B2, cluster_id="xyz")), servers=2)
    failed = [check for check in check_connections(found, NOW_S) if check.status is Status.FAILED]
    assert [(check.subject, check.check, check.detail) for check in failed] == [
        (
            "b2:9092",
            "cluster",
            "cluster xyz with 1 broker, but b1:9092 belongs to cluster abc; name the servers of one cluster",
        )
    ]


def test_brokers_without_a_cluster_id_are_not_compared() -> None:
    found = cluster(
        evidence(metadata=metadata(B1, B2, cluster_id=None)), evidence(B2, metadata=metadata(B1, B2)), servers=2
    )
    checks = check_connections(found, NOW_S)
    assert {check.status for check in checks} == {Status.OK, Status.SKIPPED}
    assert "cluster without an id with 2 brokers" in [check.detail for check in checks]


def test_addresses_that_were_tried_in_vain_are_a_warning() -> None:
    checks = check_connections(cluster(evidence(addresses=("::1", "10.0.0.1"))), NOW_S)
    assert rows(checks)[1] == (
        "address",
        "warning",
        "10.0.0.1 accepted the connection after 2.0 ms; ::1 did not, and is tried before it",
    )


def test_a_host_that_is_an_address_needs_no_lookup() -> None:
    checks = check_connections(cluster(evidence(Endpoint(host="10.0.0.1", port=9092))), NOW_S)
    assert rows(checks)[0] == ("name", "skipped", "it is an address, which needs no lookup")
