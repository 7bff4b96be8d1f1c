"""TLS handshakes that fail or wait: no TLS, an old version, a required certificate, a lost connection, silence."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.admin.network.channel import Address
from kafka_groups.admin.network.connection_pool import BrokerPool
from kafka_groups.admin.network.request import Request
from kafka_groups.admin.network.tls import TlsChannel, make_context
from kafka_groups.errors import ConnectionFailedError
from kafka_groups.model import Broker
from kafka_groups.protocol.messages import LIST_GROUPS
from kafka_groups.settings import ConnectionSettings, Endpoint, Tls
from tests.admin.network.tls_listener import listing_error, tls_broker
from tests.fakes.raw_port import accepting_only, responding
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.simulated_clock import SimulatedClock

pytestmark = pytest.mark.timeout(20)


def test_the_error_of_a_plain_client_at_a_tls_listener_names_the_setting(certificate: Callable[[str], Path]) -> None:
    with tls_broker(certificate("IP:127.0.0.1")) as broker:
        _name, text = listing_error(broker.endpoint)
    assert "-X security.protocol=SSL" in text


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (
            (),
            (
                "CONNECTION_FAILED",
                "closed the connection in the TLS handshake; the listener may not use TLS, or only an older version",
            ),
        ),
        (
            (b"\x00\x00\x00\x0aplain text",),
            ("TLS_FAILED", "the listener does not use TLS; use security.protocol PLAINTEXT or SASL_PLAINTEXT"),
        ),
    ],
    ids=["closes", "responds"],
)
def test_the_error_of_a_tls_client_at_a_plain_listener_names_tls(
    pieces: tuple[bytes, ...], expected: tuple[str, str]
) -> None:
    with responding(*pieces) as plain:
        assert listing_error(plain, tls=Tls()) == expected


def test_a_tls_client_at_a_silent_listener_fails_after_the_connect_timeout() -> None:
    with accepting_only() as mute:
        name, text = listing_error(mute, clock=SimulatedClock(), tls=Tls(), connect_timeout_s=1.0)
    assert name == "TIMEOUT"
    assert text == (
        "accepted the connection but did not respond to the TLS handshake within 1 s; "
        "the listener may not use TLS, or may not be Kafka's"
    )


def test_a_broker_that_is_silent_in_the_tls_handshake_at_the_deadline_is_reported_with_that_step(
    certificate: Callable[[str], Path],
) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker, accepting_only() as mute:
        settings = broker.settings(tls=Tls(ca_file=str(file)))
        with broker.clock.client(settings) as admin:
            admin.brokers()
            admin._pool.update_brokers([Broker(id=2, host=mute.host, port=mute.port)])
            failure = admin._pool.submit(2, Request(LIST_GROUPS, lambda _version: [], token=None))
            admin._pool.poll(broker.clock() + 0.3)
            assert failure == []
            reason = admin._pool.reason_for_delay(2)
    assert reason == f"broker 2 ({mute}) accepted the connection but has not responded to the TLS handshake"


def test_a_connection_that_ends_after_the_tls_handshake_without_the_end_of_tls_is_closed(
    certificate: Callable[[str], Path],
) -> None:
    file = certificate("IP:127.0.0.1")
    context = make_context(Tls(ca_file=str(file)))
    with tls_broker(file) as broker:
        address = (socket.AF_INET, (broker.endpoint.host, broker.endpoint.port))
        channel = TlsChannel([address], context=context, server_name="127.0.0.1")
        channel.is_open = True
        channel.received = 1
        error = channel.to_failure(ssl.SSLEOFError(8, "EOF occurred in violation of protocol (_ssl.c:2406)"))
        channel.close()
    assert isinstance(error, ConnectionFailedError)
    assert str(error).startswith("closed the connection")
    assert "_ssl.c" not in str(error)


def _demanding(certificate: Path, version: ssl.TLSVersion) -> ScriptedBroker:
    """Return a broker that wants a client certificate, or speaks a TLS version that is too old."""
    broker = tls_broker(certificate)
    context = broker._tls
    assert context is not None
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificate)
    return broker


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_broker_that_requires_a_client_certificate_is_an_error_that_says_so(
    certificate: Callable[[str], Path], version: ssl.TLSVersion
) -> None:
    file = certificate("IP:127.0.0.1")
    with _demanding(file, version) as broker:
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    # With TLS 1.3 the reason follows the handshake, and the end of the connection may overtake it.
    assert name == "TLS_FAILED" or (name, version) == ("CONNECTION_FAILED", ssl.TLSVersion.TLSv1_3)
    assert re.search("require[sd]? a client certificate .*ssl.keystore.location or ssl.certificate.location", text)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_a_broker_with_an_old_version_of_tls_is_an_error_that_says_so(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with _demanding(file, ssl.TLSVersion.TLSv1_1) as broker:
        name, text = listing_error(broker.endpoint, tls=Tls(ca_file=str(file)))
    assert name == "TLS_FAILED"
    assert text == (
        "the broker and this client have no common TLS version; at least TLS 1.2 is needed; "
        "add TLSv1.2 or TLSv1.3 to ssl.enabled.protocols of the broker, or of this client if it has fewer"
    )


def test_a_connection_that_is_lost_in_the_tls_handshake_is_tried_again(certificate: Callable[[str], Path]) -> None:
    file = certificate("IP:127.0.0.1")
    with tls_broker(file) as broker, responding() as losing:
        places = iter([broker.endpoint, losing, losing])

        def resolve(_endpoint: Endpoint) -> list[Address]:
            place = next(places, broker.endpoint)
            return [(socket.AF_INET, (place.host, place.port))]

        name = Endpoint(host="kafka.example", port=9092)
        settings = ConnectionSettings(
            bootstrap=(name,), timeout_s=5.0, tls=Tls(ca_file=str(file), check_host_name=False)
        )
        with GroupAdmin(settings, pool=BrokerPool(settings, resolve=resolve)) as admin:
            admin.brokers()
            admin._pool.update_brokers([Broker(id=1, host="b1.example", port=9092)])
            assert list(admin.list_groups().all()) == ["orders"]


@pytest.mark.timed
def test_a_tls_handshake_that_waits_uses_no_processor_time() -> None:
    with accepting_only() as mute:
        before = time.thread_time()
        listing_error(mute, tls=Tls(), connect_timeout_s=1.0)
        assert time.thread_time() - before < 0.3
