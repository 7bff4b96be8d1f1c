"""Errors of connections name the properties of files that decide the step that failed, or have no effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError
from kafka_groups.settings import resolve_settings
from tests.admin.network.tls_listener import tls_broker
from tests.fakes.raw_port import accepting_only, refusing, responding
from tests.fakes.reactions import changed
from tests.fakes.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.timeout(20)

JAAS = "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture
def error_of(tmp_path: Path) -> Callable[..., str]:
    """Return a function that returns the error of a client with a config file, which it calls FILE."""

    def connect(text: str, **sources: Any) -> str:
        file = tmp_path / "client.properties"
        file.write_text(text)
        settings = resolve_settings(**{"environment": {}, "config": str(file), "timeout": "5s", **sources})
        with GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
            admin.list_groups()
        return str(caught.value).replace(str(file), "FILE")

    return connect


def test_a_host_name_that_the_certificate_lacks_names_what_decides_the_check(
    error_of: Callable[..., str], certificate: Callable[[str], Path]
) -> None:
    file = certificate("DNS:elsewhere.example")
    with tls_broker(file) as broker:
        text = error_of(
            f"bootstrap.servers={broker.endpoint}\nsecurity.protocol=SSL\nssl.truststore.location={file}\n"
            "ssl.endpoint.identification.algorithm=https\nclient.dns.lookup=use_all_dns_ips\n"
            "ssl.keymanager.algorithm=A\nssl.engine.factory.class=B\nssl.truststore.password=hidden-thing\nacks=all\n"
        )
    assert text.endswith(
        "ssl.endpoint.identification.algorithm=none"
        "; see client.dns.lookup and ssl.endpoint.identification.algorithm of FILE"
        "; this tool does not use ssl.engine.factory.class and ssl.keymanager.algorithm of FILE"
    )


def test_a_certificate_that_is_not_trusted_names_the_file_of_cas_that_was_used(
    error_of: Callable[..., str], certificate: Callable[[str], Path], tmp_path: Path
) -> None:
    file = certificate("IP:127.0.0.1")
    other = tmp_path / "other.pem"
    other.write_text(certificate("DNS:other.example").read_text())
    with tls_broker(file) as broker:
        for key in ("ssl.truststore.location", "ssl.ca.location"):
            text = error_of(f"bootstrap.servers={broker.endpoint}\nsecurity.protocol=SSL\n{key}={other}\n")
            assert text.endswith(f"to the CA of the brokers; see {key} of FILE")


def test_a_profile_is_named_as_the_place_of_a_property(
    error_of: Callable[..., str], certificate: Callable[[str], Path], tmp_path: Path
) -> None:
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('[p]\n"security.protocol" = "SSL"\n"ssl.provider" = "A"\n')
    with tls_broker(certificate("IP:127.0.0.1")) as broker:
        text = error_of("", profile="p", profiles=profiles, bootstrap=str(broker.endpoint))
    assert text.endswith("; this tool does not use ssl.provider of profile 'p'")


def test_a_flag_is_not_named_because_it_is_in_the_command(
    error_of: Callable[..., str], certificate: Callable[[str], Path]
) -> None:
    with tls_broker(certificate("IP:127.0.0.1")) as broker:
        text = error_of("", bootstrap=str(broker.endpoint), properties=["security.protocol=SSL"])
    assert text.endswith("to the CA of the brokers")


@pytest.mark.parametrize(
    ("user", "named"),
    [
        ('sasl.jaas.config=a.PlainLoginModule required username="me" password="p";', "sasl.jaas.config"),
        ("sasl.username=me\nsasl.password=p", "sasl.mechanism and sasl.password and sasl.username"),
    ],
)
def test_refused_credentials_name_their_properties_and_unused_callbacks(
    error_of: Callable[..., str], user: str, named: str
) -> None:
    with ScriptedBroker(
        lambda _request: {"mechanisms": ["PLAIN"]}, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}
    ) as broker:
        broker.script("SaslAuthenticate", changed(error_code=58, error_message="wrong"))
        text = error_of(
            f"bootstrap.servers={broker.endpoint}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{user}\n"
            "sasl.client.callback.handler.class=a.B\nsasl.kerberos.service.name=kafka\nsasl.login.class=a.C\n"
        )
    named = named.replace("sasl.mechanism and ", "")
    assert text.endswith(
        f"wrong; check sasl.username and sasl.password; see {named} of FILE"
        "; this tool does not use sasl.client.callback.handler.class and sasl.login.class of FILE"
    )


def test_a_refused_password_of_the_environment_names_its_variable(error_of: Callable[..., str]) -> None:
    with ScriptedBroker(
        lambda _request: {"mechanisms": ["PLAIN"]}, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}
    ) as broker:
        broker.script("SaslAuthenticate", changed(error_code=58, error_message="wrong"))
        environment = {"KAFKA_GROUPS_SASL_PASSWORD": "hidden-thing"}
        flags = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=me"]
        text = error_of("", bootstrap=str(broker.endpoint), config=None, properties=flags, environment=environment)
    assert text.endswith("wrong; check sasl.username and sasl.password; see KAFKA_GROUPS_SASL_PASSWORD")


@pytest.mark.parametrize(
    ("password", "key"),
    [("sasl.username=me\nsasl.password=", "sasl.password"), (f'{JAAS} username="me" password=', "sasl.jaas.config")],
)
def test_refused_credentials_with_a_variable_that_was_not_replaced_say_so(
    error_of: Callable[..., str], tmp_path: Path, password: str, key: str
) -> None:
    with ScriptedBroker(
        lambda _request: {"mechanisms": ["PLAIN"]}, versions={"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}
    ) as broker:
        broker.script("SaslAuthenticate", changed(error_code=58, error_message="wrong"))
        text = error_of(
            f"bootstrap.servers={broker.endpoint}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f"{password}${{file:{tmp_path}/secrets:hidden-thing}};\n"
        )
    assert f"; {key} of FILE has a variable ${{…}} that no config provider replaced" in text
    assert "hidden-thing" not in text


def test_a_name_that_is_not_resolved_names_the_file_that_has_it(error_of: Callable[..., str]) -> None:
    text = error_of("bootstrap.servers=absent.invalid:9092\nbroker.address.family=v6\nrequest.timeout.ms=1\n")
    assert text.startswith("cannot connect to absent.invalid:9092: cannot resolve the host name 'absent.invalid': ")
    assert text.endswith("; see bootstrap.servers of FILE; this tool does not use broker.address.family of FILE")


def test_a_refused_connection_names_the_file_that_has_the_server(error_of: Callable[..., str]) -> None:
    with refusing() as endpoint:
        text = error_of(f"bootstrap.servers={endpoint}\nsocket.timeout.ms=1\n")
    assert text == f"cannot connect to {endpoint}: connection refused; see bootstrap.servers of FILE"


def test_a_timeout_names_its_property_and_those_that_are_not_used(error_of: Callable[..., str]) -> None:
    with accepting_only() as endpoint:
        text = error_of(
            f"bootstrap.servers={endpoint}\nsocket.connection.setup.timeout.ms=300\nrequest.timeout.ms=60000\n"
        )
    assert text == (
        f"cannot connect to {endpoint}: accepted the connection but did not respond within 0.3 s"
        "; see socket.connection.setup.timeout.ms of FILE; this tool does not use request.timeout.ms of FILE"
    )


def test_a_closed_connection_names_the_security_protocol_of_the_file(error_of: Callable[..., str]) -> None:
    with responding() as endpoint:
        text = error_of(f"bootstrap.servers={endpoint}\nsecurity.protocol=PLAINTEXT\nbroker.version.fallback=0.9\n")
    assert text.endswith(
        "may not be Kafka's; see security.protocol of FILE; this tool does not use broker.version.fallback of FILE"
    )


def test_an_error_after_the_handshake_names_no_property(error_of: Callable[..., str], tmp_path: Path) -> None:
    del error_of
    with ScriptedBroker(lambda _request: {"brokers": []}) as broker:
        (tmp_path / "f").write_text(f"bootstrap.servers={broker.endpoint}\nsocket.timeout.ms=1\n")
        settings = resolve_settings(environment={}, config=str(tmp_path / "f"), timeout="1s")
        assert json.dumps(dict(settings.sources))
        with GroupAdmin(settings) as admin, pytest.raises(AdminError) as caught:
            admin.list_groups()
    assert "socket.timeout.ms" not in str(caught.value)
