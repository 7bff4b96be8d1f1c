"""Errors when a cluster cannot be reached: one line that names the address, within seconds, and exit code 1."""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.raw_port import accepting_only, refusing, responding
from tests.fakes.scripted_broker import ScriptedBroker
from tests.live.groups.clients import run_command

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

WEB = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# Java's tool waits for its whole timeout in most of these cases.
SOON_S = 5.0


@pytest.fixture
def tls_port(tmp_path: Path, program: Callable[[str], str]) -> Iterator[str]:
    """Yield the address of a broker that uses TLS with a self-signed certificate."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = [
        program("openssl"),
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    subject = ["-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=30
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ScriptedBroker(tls=context) as broker:
        yield str(broker.endpoint)


def _run_failing(bootstrap: str, *arguments: str, within_s: float = SOON_S) -> str:
    """Run a command that fails, and return its one line of stderr."""
    started = time.monotonic()
    result = run_command(bootstrap, *arguments)
    assert time.monotonic() - started < within_s
    assert (result.out, len(result.notes), result.code) == ("", 1, 1), result
    assert "Traceback" not in result.err
    return result.err


def test_a_web_server_is_an_error() -> None:
    with responding(WEB) as endpoint:
        message = _run_failing(str(endpoint), "list")

    assert str(endpoint) in message
    assert "does not speak Kafka's protocol" in message


def test_a_port_without_a_listener_is_an_error() -> None:
    with refusing() as endpoint:
        message = _run_failing(str(endpoint), "describe", "any")

    assert str(endpoint) in message
    assert "connection refused" in message


def test_the_error_names_every_bootstrap_server_that_refuses_connections() -> None:
    with refusing() as first, refusing() as second:
        message = _run_failing(f"{first},{second}", "offsets", "any")

    assert str(first) in message
    assert str(second) in message


def test_a_host_name_that_does_not_resolve_is_an_error() -> None:
    message = _run_failing("no-such-host.invalid:9092", "list", "--timeout", "4s")

    assert "no-such-host.invalid:9092" in message


def test_a_port_that_accepts_connections_and_sends_nothing_is_an_error_after_the_timeout() -> None:
    with accepting_only() as endpoint:
        message = _run_failing(str(endpoint), "list", "--timeout", "1s")

    assert str(endpoint) in message
    assert "1 s" in message


@pytest.mark.parametrize("command", [["list"], ["describe", "any"], ["describe", "any", "--state"], ["offsets", "any"]])
def test_a_timeout_of_a_millisecond_fails_on_a_real_cluster(cluster: Cluster, command: list[str]) -> None:
    message = _run_failing(cluster.bootstrap, *command, "--timeout", "1ms")

    assert "0.001 s" in message or "1 ms" in message


@pytest.mark.parametrize("command", ["list", "describe", "offsets"])
def test_a_failed_command_prints_a_json_document(command: str) -> None:
    with refusing() as endpoint:
        result = run_command(str(endpoint), command, "any", "--format", "json")

    assert result.json["status"] == "failed"
    assert result.json["groups"] == []
    assert [(each["code"], each["name"]) for each in result.json["errors"]] == [(None, "CONNECTION_FAILED")]
    assert (len(result.notes), result.code) == (1, 1)


def test_a_tls_client_on_a_plaintext_port_is_an_error(cluster: Cluster) -> None:
    first = cluster.bootstrap.split(",")[0]
    message = _run_failing(first, "list", "-X", "security.protocol=SSL", "--timeout", "4s")

    assert first in message
    assert "TLS" in message


def test_a_plaintext_client_on_a_tls_port_is_an_error_that_names_tls(tls_port: str) -> None:
    message = _run_failing(tls_port, "list", "--timeout", "4s")

    assert tls_port in message
    assert "TLS" in message


def test_a_self_signed_certificate_is_not_trusted(tls_port: str) -> None:
    message = _run_failing(tls_port, "list", "-X", "security.protocol=SSL", "--timeout", "4s")

    assert tls_port in message
    assert "certificate" in message


def test_the_error_names_an_unreachable_advertised_address_and_the_bootstrap_server() -> None:
    with refusing() as unreachable:
        brokers = [{"node_id": 1, "host": unreachable.host, "port": unreachable.port, "rack": None}]
        metadata = {"brokers": brokers, "cluster_id": "c", "controller_id": 1, "topics": []}
        with ScriptedBroker(lambda _: metadata) as broker:
            bootstrap = str(broker.endpoint)
            message = _run_failing(bootstrap, "list", within_s=8.0)

    assert bootstrap in message
    assert str(unreachable) in message
    assert "advertised.listeners" in message
