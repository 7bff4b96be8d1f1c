"""Kerberos credentials: properties, the options of Java's Krb5LoginModule, and what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import KerberosCredentials, kerberos
from kafka_groups.settings.librdkafka import client_properties, resolve_client
from tests.settings.resolution import resolve, write_file

GSSAPI = ("security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI")
KEYTAB = "sasl.kerberos.keytab=/k/alice.keytab"
MODULE = "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required"
AS_IT_IS = {"sasl.kerberos.min.time.before.relogin": "0"}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the settings find the library, which development does not install."""
    monkeypatch.setattr(kerberos, "has_library", lambda: True)


def credentials(*pairs: str) -> KerberosCredentials:
    found = resolve(bootstrap="b:1", properties=[*GSSAPI, *pairs]).credentials
    assert isinstance(found, KerberosCredentials)
    return found


def error_text(*pairs: str) -> str:
    with pytest.raises(SettingsError) as caught:
        credentials(*pairs)
    return str(caught.value)


def test_without_other_properties_the_ticket_cache_logs_in_at_kafka() -> None:
    found = credentials()
    assert found == KerberosCredentials(service="kafka", principal=None, keytab=None)
    assert found.identity == "the Kerberos ticket cache"


def test_service_principal_and_keytab_are_properties() -> None:
    pairs = ("sasl.kerberos.service.name=events", "sasl.kerberos.principal=alice@A.TEST", KEYTAB)
    found = credentials(*pairs)
    assert found == KerberosCredentials(service="events", principal="alice@A.TEST", keytab="/k/alice.keytab")
    assert found.identity == "the Kerberos principal alice@A.TEST"
    assert credentials(KEYTAB).identity == "the keytab /k/alice.keytab"
    assert credentials("sasl.kerberos.service.name=", "sasl.kerberos.principal=") == KerberosCredentials()


def test_the_options_of_javas_module_are_the_same_properties() -> None:
    options = 'useKeyTab=true storeKey=true keyTab="/k/alice.keytab" principal="alice@A.TEST" serviceName="events"'
    expected = KerberosCredentials(service="events", principal="alice@A.TEST", keytab="/k/alice.keytab")
    assert credentials(f"{MODULE} {options};") == expected
    assert credentials(f"{MODULE} useTicketCache=true;") == KerberosCredentials()


def test_a_jaas_text_replaces_the_user_of_a_lower_source(tmp_path: Path) -> None:
    config = write_file(tmp_path, f"bootstrap.servers=b:1\n{KEYTAB}\nsasl.kerberos.service.name=events\n")
    found = resolve(config=config, properties=[*GSSAPI, f"{MODULE} useTicketCache=true;"]).credentials
    assert found == KerberosCredentials(service="events")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("useKeyTab=true", "it has the option useKeyTab without keyTab="),
        ("keyTab=/k", "it has the option keyTab without useKeyTab=true; add the other one, or remove keyTab"),
        ("useTicketCache=true ticketCache=/c", "ticketCache is not supported; remove the option, and set the variable"),
        ('a="b', "the options of Krb5LoginModule cannot be parsed; write them as useKeyTab=true keyTab="),
    ],
)
def test_options_that_this_tool_does_not_follow_are_refused(options: str, problem: str) -> None:
    assert error_text(f"{MODULE} {options};").startswith(f"-X sasl.jaas.config: {problem}")


def test_a_keytab_of_a_property_is_enough_for_javas_option() -> None:
    assert credentials(KEYTAB, f"{MODULE} useKeyTab=true;").keytab == "/k/alice.keytab"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "org.apache.kafka.common.security.plain.PlainLoginModule required;",
            "it has the login module PlainLoginModule",
        ),
        ("hunter2", "it names no login module"),
    ],
)
def test_another_login_module_is_refused(text: str, problem: str) -> None:
    found = error_text(f"sasl.jaas.config={text}")
    assert found.startswith(
        f"-X sasl.jaas.config: {problem}; GSSAPI needs com.sun.security.auth.module.Krb5LoginModule"
    )
    assert "hunter2" not in found


@pytest.mark.parametrize("value", ["a\0b", "\udcff"])
def test_a_principal_is_valid_text(value: str) -> None:
    text = error_text(f"sasl.kerberos.principal={value}")
    assert text == "-X sasl.kerberos.principal has a NUL character, or is not valid UTF-8; write it in UTF-8"


def test_without_the_library_the_error_has_the_lines_that_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "has_library", lambda: False)
    text = error_text()
    for line in (
        "pip install 'kafka-groups[kerberos]'",
        "apt-get install gcc python3-dev libkrb5-dev",
        "python3-gssapi",
    ):
        assert line in text


def test_librdkafka_gets_the_same_user() -> None:
    pairs = [*GSSAPI, KEYTAB, "sasl.kerberos.principal=alice"]
    expected = {
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.keytab": "/k/alice.keytab",
        "sasl.kerberos.principal": "alice",
    }
    settings = resolve(bootstrap="b:1", properties=pairs)
    for properties in (
        client_properties(settings),
        resolve_client(bootstrap="b:1", properties=pairs, environment={}).properties,
    ):
        assert properties.items() >= expected.items()
        assert AS_IT_IS.keys().isdisjoint(properties)


def test_librdkafka_runs_no_kinit_for_a_ticket_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    # The pipeline needs no library of Python's.
    monkeypatch.setattr(kerberos, "has_library", lambda: False)
    properties = resolve_client(bootstrap="b:1", properties=GSSAPI, environment={}).properties
    assert properties.items() >= AS_IT_IS.items()
    own = [*GSSAPI, "sasl.kerberos.kinit.cmd=kinit me"]
    assert AS_IT_IS.keys().isdisjoint(resolve_client(bootstrap="b:1", properties=own, environment={}).properties)
