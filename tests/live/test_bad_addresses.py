"""What the command says when its cluster cannot be reached: one line that names the address, soon, and exit 1."""

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
from tests.live.groups.asking import ask

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = [pytest.mark.live, pytest.mark.timed]

WEB = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# Java's tool waits for its whole timeout in most of these cases.
SOON_S = 5.0


@pytest.fixture
def tls_port(tmp_path: Path, program: Callable[[str], str]) -> Iterator[str]:
    """The address of a broker that speaks TLS, with a certificate that nobody signed."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, *named, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ScriptedBroker(tls=context) as broker:
        yield str(broker.endpoint)


def _failed(bootstrap: str, *arguments: str, within_s: float = SOON_S) -> str:
    """The one line that a command leaves behind that can do nothing."""
    started = time.monotonic()
    answer = ask(bootstrap, *arguments)
    assert time.monotonic() - started < within_s
    assert (answer.out, len(answer.notes), answer.code) == ("", 1, 1), answer
    assert "Traceback" not in answer.err
    return answer.err


def test_a_web_server_is_no_broker() -> None:
    with responding(WEB) as endpoint:
        told = _failed(str(endpoint), "list")

    assert str(endpoint) in told
    assert "does not speak Kafka's protocol" in told


def test_nobody_is_listening() -> None:
    with refusing() as endpoint:
        told = _failed(str(endpoint), "describe", "any")

    assert str(endpoint) in told
    assert "connection refused" in told


def test_all_of_several_silent_servers_are_named() -> None:
    with refusing() as first, refusing() as second:
        told = _failed(f"{first},{second}", "offsets", "any")

    assert str(first) in told
    assert str(second) in told


def test_a_name_that_has_no_address() -> None:
    told = _failed("no-such-host.invalid:9092", "list", "--timeout", "4s")

    assert "no-such-host.invalid:9092" in told


def test_a_port_that_takes_connections_and_says_nothing() -> None:
    with accepting_only() as endpoint:
        told = _failed(str(endpoint), "list", "--timeout", "1s")

    assert str(endpoint) in told
    assert "1 s" in told


@pytest.mark.parametrize("command", [["list"], ["describe", "any"], ["describe", "any", "--state"], ["offsets", "any"]])
def test_a_millisecond_is_too_little_for_a_real_cluster(cluster: Cluster, command: list[str]) -> None:
    told = _failed(cluster.bootstrap, *command, "--timeout", "1ms")

    assert "0.001 s" in told or "1 ms" in told


@pytest.mark.parametrize("command", ["list", "describe", "offsets"])
def test_the_document_of_a_command_that_failed_is_still_json(command: str) -> None:
    with refusing() as endpoint:
        answer = ask(str(endpoint), command, "any", "--format", "json")

    assert answer.json["status"] == "failed"
    assert answer.json["groups"] == []
    assert [(each["code"], each["name"]) for each in answer.json["errors"]] == [(None, "CONNECTION_FAILED")]
    assert (len(answer.notes), answer.code) == (1, 1)


def test_tls_is_spoken_to_a_port_that_has_none(cluster: Cluster) -> None:
    first = cluster.bootstrap.split(",")[0]
    told = _failed(first, "list", "-X", "security.protocol=SSL", "--timeout", "4s")

    assert first in told
    assert "TLS" in told


def test_a_plain_client_is_told_that_the_port_speaks_tls(tls_port: str) -> None:
    told = _failed(tls_port, "list", "--timeout", "4s")

    assert tls_port in told
    assert "TLS" in told


def test_a_certificate_that_nobody_signed_is_not_trusted(tls_port: str) -> None:
    told = _failed(tls_port, "list", "-X", "security.protocol=SSL", "--timeout", "4s")

    assert tls_port in told
    assert "certificate" in told


def test_an_advertised_address_that_nobody_answers_is_named_with_who_named_it() -> None:
    with refusing() as nobody:
        brokers = [{"node_id": 1, "host": nobody.host, "port": nobody.port, "rack": None}]
        metadata = {"brokers": brokers, "cluster_id": "c", "controller_id": 1, "topics": []}
        with ScriptedBroker(lambda _: metadata) as broker:
            bootstrap = str(broker.endpoint)
            told = _failed(bootstrap, "list", within_s=8.0)

    assert bootstrap in told
    assert str(nobody) in told
    assert "advertised.listeners" in told
