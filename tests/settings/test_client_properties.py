"""The properties of librdkafka for the settings of the network layer."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_groups.errors import SettingsError
from kafka_groups.settings import ConnectionSettings, Endpoint, PasswordCredentials, Tls, settings_from
from kafka_groups.settings.librdkafka import client_properties

SERVERS = (Endpoint(host="b1", port=9092), Endpoint(host="::1", port=9093))


def properties(**settings: Any) -> dict[str, str]:
    """Return the properties of a cluster with these settings."""
    return client_properties(ConnectionSettings(bootstrap=SERVERS, **settings))


def test_a_plain_cluster_has_addresses_a_client_id_and_a_timeout() -> None:
    assert properties(client_id="me", connect_timeout_s=0.2) == {
        "bootstrap.servers": "b1:9092,[::1]:9093",
        "client.id": "me",
        "security.protocol": "plaintext",
        "socket.connection.setup.timeout.ms": "1000",
    }


def test_tls_has_its_files_and_the_key_of_the_certificate() -> None:
    found = properties(tls=Tls(ca_file="ca", certificate_file="cert", key_password="p", crl_file="crl"))
    assert {key: value for key, value in found.items() if key.startswith(("ssl.", "security."))} == {
        "security.protocol": "ssl",
        "ssl.ca.location": "ca",
        "ssl.certificate.location": "cert",
        "ssl.key.location": "cert",
        "ssl.key.password": "p",
        "ssl.crl.location": "crl",
        "ssl.endpoint.identification.algorithm": "https",
    }


def test_tls_may_be_texts_and_have_a_key_of_another_form() -> None:
    found = properties(tls=Tls(ca_pem="CA", certificate_pem="CERT", key_file="key", check_host_name=False))
    assert (found["ssl.ca.pem"], found["ssl.certificate.pem"], found["ssl.key.location"]) == ("CA", "CERT", "key")
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert "ssl.key.pem" not in found


@pytest.mark.parametrize("tls", [None, Tls()])
def test_credentials_are_passed_on(tls: Tls | None) -> None:
    found = properties(tls=tls, credentials=PasswordCredentials(mechanism="PLAIN", username="u", password="p"))
    assert found["security.protocol"] == ("sasl_plaintext" if tls is None else "sasl_ssl")
    assert (found["sasl.mechanism"], found["sasl.username"], found["sasl.password"]) == ("PLAIN", "u", "p")


@pytest.mark.parametrize(
    ("username", "password", "is_delegation_token"), [("u", "p", True), (" u", "p", False), ("u", " p", False)]
)
def test_credentials_that_librdkafka_does_not_support_are_refused(
    username: str, password: str, is_delegation_token: bool
) -> None:
    credentials = PasswordCredentials(
        mechanism="SCRAM-SHA-256", username=username, password=password, is_delegation_token=is_delegation_token
    )
    with pytest.raises(SettingsError, match="librdkafka") as refused:
        properties(credentials=credentials)
    assert "tokenauth" in str(refused.value) or "blanks" in str(refused.value)


def test_librdkafka_accepts_the_properties() -> None:
    sasl = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}
    given = {"bootstrap.servers": "[::1]:1", "security.protocol": "SASL_SSL", **sasl}
    consumer = Consumer({**client_properties(settings_from(given)), "group.id": "g", "log_level": 0})
    consumer.close()
