"""The checks of connections with TLS and SASL: which step fails, and what is known until then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.admin.network.connection_evidence import SetupStep
from kafka_groups.errors import SettingsError, TokenFailedError
from kafka_groups.settings import ConnectionSettings, PasswordCredentials, Tls, TokenCredentials
from kafka_groups.settings.limits import Limit
from kafka_groups.settings.tokens.token import Token
from tests.admin.network.checked_connections import check, evidence_of, outcome
from tests.admin.network.tls_listener import tls_broker
from tests.fakes.raw_port import responding
from tests.fakes.reactions import changed, drops
from tests.fakes.sasl_cluster import SaslCluster
from tests.fakes.scripted_cluster import ScriptedCluster
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)
USER = PasswordCredentials(mechanism="PLAIN", username="reader", password="geheim")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((b"\x15\x03\x03\x00\x02\x02\x46",), (SetupStep.TLS, "TLS_FAILED")),
        ((), (SetupStep.PROTOCOL, "CONNECTION_FAILED")),
    ],
    ids=["alert", "closed"],
)
def test_the_error_of_a_plain_client_at_a_tls_listener_names_the_setting(
    sent: tuple[bytes, ...], expected: tuple[SetupStep, str]
) -> None:
    clock = SimulatedClock()
    with responding(*sent, clock=clock) as listener:
        evidence = check(ConnectionSettings(bootstrap=(listener,)), clock).connections[listener]
    assert outcome(evidence) == expected
    assert "-X security.protocol=SSL" in str(evidence.error)


def test_a_tls_connection_has_its_protocol_and_the_certificate(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker:
        settings = broker.settings(tls=Tls(ca_file=str(file)))
        evidence = check(settings, broker.clock).connections[broker.endpoint]
    assert outcome(evidence) == (None, None)
    assert evidence.tls is not None
    assert evidence.tls.protocol == "TLSv1.3"
    assert (evidence.tls.cipher or "").startswith("TLS_")
    (leaf,) = evidence.tls.chain
    assert (leaf.subject, leaf.issuer, leaf.names) == ("CN=test", "CN=test", ("IP:127.0.0.1",))
    assert leaf.not_after_s - leaf.not_before_s == 2 * 86_400


@pytest.mark.parametrize(("name", "is_trusted"), [("IP:127.0.0.1", False), ("DNS:other.example", True)])
def test_a_certificate_that_is_refused_is_known_all_the_same(
    name: str, is_trusted: bool, certificate: Callable[[str], Path]
) -> None:
    file = certificate(name)
    with tls_broker(file) as broker:
        settings = broker.settings(tls=Tls(ca_file=str(file) if is_trusted else None))
        evidence = check(settings, broker.clock).connections[broker.endpoint]
    assert outcome(evidence) == (SetupStep.TLS, "TLS_FAILED")
    assert evidence.tls is not None
    assert (evidence.tls.protocol, [each.names for each in evidence.tls.chain]) == (None, [(name,)])


def test_an_expired_certificate_fails_at_tls_with_its_end(openssl: Callable[..., Path]) -> None:
    key = openssl("key.pem", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    name = ("-subj", "/CN=old", "-addext", "subjectAltName=IP:127.0.0.1")
    request = openssl("request.pem", "req", "-new", "-key", str(key), *name)
    signed = ("x509", "-req", "-in", str(request), "-signkey", str(key), "-copy_extensions", "copy", "-days", "-1")
    file = openssl("old.pem", *signed)
    file.write_text(file.read_text() + key.read_text())
    with tls_broker(file) as broker:
        settings = broker.settings(tls=Tls(ca_file=str(file)))
        evidence = check(settings, broker.clock).connections[broker.endpoint]
    assert outcome(evidence) == (SetupStep.TLS, "TLS_FAILED")
    assert "expired" in str(evidence.error)
    assert evidence.tls is not None
    assert evidence.tls.chain[0].subject == "CN=old"


def test_a_missing_client_certificate_fails_at_tls_after_the_handshake(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file, client_ca=file) as broker:
        settings = broker.settings(tls=Tls(ca_file=str(file)))
        evidence = check(settings, broker.clock).connections[broker.endpoint]
    assert evidence.failed_step is SetupStep.TLS
    assert (evidence.address, evidence.tls is not None) == ("127.0.0.1", True)
    assert "requires a client certificate" in str(evidence.error)


def test_a_file_of_tls_that_cannot_be_used_is_a_settings_error(tmp_path: Path) -> None:
    with ScriptedCluster(brokers=1) as cluster, pytest.raises(SettingsError, match="cannot use the CA file"):
        check(cluster.settings(tls=Tls(ca_file=str(tmp_path / "absent.pem"))), cluster.clock)


def test_a_mechanism_that_is_not_offered_fails_with_those_that_are() -> None:
    with SaslCluster(mechanism="SCRAM-SHA-512", brokers=1) as cluster:
        evidence = evidence_of(cluster, credentials=USER)
    assert outcome(evidence) == (SetupStep.MECHANISMS, "AUTHENTICATION_FAILED")
    assert evidence.mechanisms == ("SCRAM-SHA-512",)
    assert evidence.versions is not None


def test_a_wrong_password_fails_at_the_authentication() -> None:
    with SaslCluster(mechanism="PLAIN", brokers=1) as cluster:
        cluster.script("SaslAuthenticate", changed(error_code=58, error_message="Authentication failed"))
        evidence = evidence_of(cluster, credentials=USER)
        assert not cluster.requests_of("Metadata")
    assert outcome(evidence) == (SetupStep.AUTHENTICATION, "AUTHENTICATION_FAILED")
    assert evidence.mechanisms == ("PLAIN",)
    assert "geheim" not in repr(evidence)


def test_an_authentication_that_succeeds_has_the_lifetime_of_its_session() -> None:
    with SaslCluster(mechanism="PLAIN", lifetime_ms=900_000, brokers=2) as cluster:
        found = check(cluster.settings(credentials=USER), cluster.clock)
    assert [(outcome(each), each.session_lifetime_s) for each in found.connections.values()] == [
        ((None, None), 900.0)
    ] * 2


class SilentSource:
    """A source whose endpoint never responds."""

    place = "the endpoint"
    is_read_each_time = False

    def fetch(self, limit: Limit) -> Token:
        """Wait until the limit."""
        while not limit.cancelled.wait(0.005):
            pass
        raise TokenFailedError("cancelled")


def test_a_token_that_does_not_come_is_the_error_also_if_the_check_has_less_time() -> None:
    with SaslCluster(brokers=1) as cluster:
        settings = cluster.settings(credentials=TokenCredentials(source=SilentSource()), timeout_s=30.0)
        evidence = check(settings, cluster.clock, 2.0).connections[cluster.brokers[1].endpoint]
    assert outcome(evidence) == (SetupStep.AUTHENTICATION, "TOKEN_FAILED")
    assert str(evidence.error) == "the endpoint took too long: it returned no token within 2 s"


def test_a_listener_that_demands_sasl_fails_at_the_authentication_of_a_client_without_it() -> None:
    with ScriptedCluster(brokers=1) as cluster:
        cluster.script("Metadata", drops)
        evidence = evidence_of(cluster)
    assert outcome(evidence) == (SetupStep.AUTHENTICATION, "CONNECTION_FAILED")
    assert "the listener may require SASL" in str(evidence.error)
