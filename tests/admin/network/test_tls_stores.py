"""Key stores of Java, TLS versions and cipher suites at a real TLS listener, for both clients."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_server
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError
from kafka_groups.settings import ConnectionSettings, settings_from
from kafka_groups.settings.librdkafka import client_properties
from tests.admin.network.tls_listener import tls_broker
from tests.fakes.scripted_broker import ScriptedBroker
from tests.settings.stores.store_files import DIRECTORY, KEY_PASSWORD, PASSWORD

pytestmark = pytest.mark.timeout(20)

CLIENTS = pytest.mark.parametrize(
    ("client", "trusted"),
    [
        ("client-17.jks", "trust-17.jks"),
        ("client-25.jks", "trust-25.jks"),
        ("client-17.p12", "trust-17.p12"),
        ("client-25.p12", "trust-25.p12"),
        ("legacy.p12", "no-password.p12"),
    ],
)


def properties(broker: object, *, client: str | None = None, trusted: str = "trust-17.p12") -> dict[str, str]:
    pairs = {
        "bootstrap.servers": str(broker),
        "security.protocol": "SSL",
        "ssl.truststore.location": str(DIRECTORY / trusted),
        "ssl.truststore.password": PASSWORD,
    }
    if client is not None:
        pairs |= {"ssl.keystore.location": str(DIRECTORY / client), "ssl.keystore.password": PASSWORD}
        pairs |= {"ssl.key.password": KEY_PASSWORD} if client.endswith("jks") else {}
    return pairs


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return the PEM files of a broker, with its chain and its key, and of the root, which signs clients, too."""
    settings = settings_from(properties("b:1", client="broker.p12"))
    assert settings.tls is not None
    broker, root = tmp_path / "broker.pem", tmp_path / "root.pem"
    broker.write_text(f"{settings.tls.certificate_pem}{settings.tls.key_pem}")
    root.write_text(str(settings.tls.ca_pem))
    return broker, root


def error_of(settings: ConnectionSettings) -> str:
    with GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
        admin.list_groups(timeout=5)
    return str(caught.value)


@CLIENTS
def test_a_client_with_stores_lists_groups(client: str, trusted: str, files: tuple[Path, Path]) -> None:
    with tls_broker(files[0], client_ca=files[1]) as broker:
        settings = settings_from(properties(broker.endpoint, client=client, trusted=trusted))
        with GroupAdmin(settings) as admin:
            assert list(admin.list_groups().all()) == ["orders"]


@contextmanager
def accepted_names(files: tuple[Path, Path]) -> Iterator[tuple[int, list[Any]]]:
    """Listen for one TLS client, and yield the port and the subjects of the client certificates that are verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[0])
    context.load_verify_locations(files[1])
    context.verify_mode = ssl.CERT_REQUIRED
    names: list[Any] = []

    def accept() -> None:
        connection, _ = listener.accept()
        try:
            with context.wrap_socket(connection, server_side=True) as tls:
                names.append((tls.getpeercert() or {}).get("subject"))
        except OSError as error:
            names.append(str(error))

    with create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1], names
        thread.join(10)


@pytest.mark.slow
@CLIENTS
def test_librdkafka_has_the_key_and_the_chain_of_a_store(client: str, trusted: str, files: tuple[Path, Path]) -> None:
    with accepted_names(files) as (port, names):
        settings = settings_from(properties(f"127.0.0.1:{port}", client=client, trusted=trusted))
        consumer = Consumer({**client_properties(settings), "group.id": "g", "log_level": 0})
        consumer.poll(2.0)
        consumer.close()
    assert names == [((("commonName", "client"),),)]


def test_an_expired_client_certificate_that_the_broker_refuses_has_a_next_step(files: tuple[Path, Path]) -> None:
    with tls_broker(files[0], client_ca=files[1]) as broker:
        assert broker._tls is not None
        broker._tls.maximum_version = ssl.TLSVersion.TLSv1_2
        text = error_of(settings_from(properties(broker.endpoint, client="expired.p12")))
    assert "the broker refused the client certificate because it has expired; renew it (ssl.keystore.location" in text


def test_a_client_certificate_of_another_ca_has_a_next_step(files: tuple[Path, Path]) -> None:
    with tls_broker(files[0], client_ca=files[1]) as broker:
        assert broker._tls is not None
        broker._tls.maximum_version = ssl.TLSVersion.TLSv1_2
        text = error_of(settings_from(properties(broker.endpoint, client="several.p12")))
    assert "the broker requires a client certificate that it trusts and that has not expired" in text


def test_a_chain_without_its_intermediate_certificate_has_a_next_step(files: tuple[Path, Path]) -> None:
    blocks = files[0].read_text().split("-----END CERTIFICATE-----\n")
    files[0].write_text(f"{blocks[0]}-----END CERTIFICATE-----\n{blocks[-1]}")
    with tls_broker(files[0]) as broker:
        text = error_of(settings_from(properties(broker.endpoint)))
    assert "is not trusted: unable to get local issuer certificate; " in text
    assert "the brokers must send the intermediate certificates" in text


def test_a_key_of_a_store_reaches_openssl_without_a_file(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was created")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with (
        tls_broker(files[0], client_ca=files[1]) as broker,
        GroupAdmin(settings_from(properties(broker.endpoint, client="client-25.p12"))) as admin,
    ):
        assert list(admin.list_groups().all()) == ["orders"]


VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])


@VERSIONS
def test_a_version_that_the_client_does_not_enable_is_not_used(
    version: ssl.TLSVersion, files: tuple[Path, Path]
) -> None:
    other = "TLSv1.3" if version == ssl.TLSVersion.TLSv1_2 else "TLSv1.2"
    with tls_broker(files[0]) as broker:
        assert broker._tls is not None
        broker._tls.minimum_version = broker._tls.maximum_version = version
        text = error_of(settings_from({**properties(broker.endpoint), "ssl.enabled.protocols": other}))
    assert "the broker and this client have no common TLS version" in text


@pytest.mark.parametrize(
    "suites", ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE+AESGCM:!AES128"]
)
def test_the_suite_of_the_client_is_negotiated(suites: str, files: tuple[Path, Path]) -> None:
    with _suite_broker(files[0]) as (broker, negotiated):
        settings = settings_from(
            {**properties(broker.endpoint), "ssl.cipher.suites": suites, "ssl.protocol": "TLSv1.2"}
        )
        with GroupAdmin(settings) as admin:
            assert list(admin.list_groups().all()) == ["orders"]
    assert set(negotiated()) == {"ECDHE-ECDSA-AES256-GCM-SHA384"}


@contextmanager
def _suite_broker(file: Path) -> Iterator[tuple[ScriptedBroker, Callable[[], list[str]]]]:
    names: list[str] = []
    with tls_broker(file) as broker:
        assert broker._tls is not None

        class Recorder(ssl.SSLSocket):
            def do_handshake(self, block: bool = False) -> None:
                super().do_handshake(block)
                names.append((self.cipher() or ("",))[0])

        broker._tls.sslsocket_class = Recorder
        yield broker, lambda: names


def test_no_common_suite_has_a_next_step(files: tuple[Path, Path]) -> None:
    suites = {"ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}
    with tls_broker(files[0], ciphers="ECDHE-ECDSA-AES128-GCM-SHA256") as broker:
        text = error_of(settings_from({**properties(broker.endpoint), **suites}))
    assert text.endswith(", or no cipher suite is common (ssl.cipher.suites)")
