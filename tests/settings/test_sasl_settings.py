"""Who logs in, and how: from properties as both of Kafka's clients spell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import ConnectionSettings, SaslCredentials, resolve_settings

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER = ("sasl.username=me", "sasl.password=hidden-thing")
JAAS = f'sasl.jaas.config={PLAIN} required username="me" password="hidden-thing";'


def resolve(*properties: str, protocol: str = "SASL_SSL", bootstrap: str = "b:1") -> ConnectionSettings:
    typed = [f"security.protocol={protocol}", *properties]
    return resolve_settings(bootstrap=bootstrap, properties=typed, environment={})


def refusal(*properties: str, protocol: str = "SASL_SSL") -> str:
    with pytest.raises(SettingsError) as caught:
        resolve(*properties, protocol=protocol)
    assert "hidden-thing" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("told", "mechanism"),
    [
        ("sasl.mechanism=PLAIN", "PLAIN"),
        ("sasl.mechanisms=scram-sha-256", "SCRAM-SHA-256"),
        ("sasl.mechanism=SCRAM-SHA-512", "SCRAM-SHA-512"),
    ],
)
@pytest.mark.parametrize("login", [USER, (JAAS,)], ids=["librdkafka's", "Java's"])
def test_a_login_is_a_mechanism_a_user_and_a_password(told: str, mechanism: str, login: tuple[str, ...]) -> None:
    assert resolve(told, *login).login == SaslCredentials(mechanism=mechanism, username="me", password="hidden-thing")


@pytest.mark.parametrize(
    ("protocol", "is_encrypted"), [("SASL_SSL", True), ("sasl_ssl", True), ("SASL_PLAINTEXT", False)]
)
def test_a_login_goes_with_tls_or_without(protocol: str, is_encrypted: bool) -> None:
    found = resolve("sasl.mechanism=PLAIN", *USER, protocol=protocol, bootstrap=f"{protocol}://b:1")
    assert (found.login is not None, found.tls is not None) == (True, is_encrypted)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_without_its_protocol_a_login_of_a_file_is_let_be(protocol: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("\n".join(["bootstrap.servers=b:1", "sasl.mechanism=GSSAPI", f"security.protocol={protocol}"]))
    assert resolve_settings(config=str(file), environment={}).login is None


def test_the_password_is_not_shown() -> None:
    assert "hidden-thing" not in repr(resolve("sasl.mechanism=PLAIN", *USER))


def test_own_words_come_before_javas() -> None:
    login = resolve("sasl.mechanism=PLAIN", JAAS, "sasl.username=you").login
    assert login == SaslCredentials(mechanism="PLAIN", username="you", password="hidden-thing")


def test_a_later_source_beats_an_earlier_one_however_it_spells_a_login(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    old = '"sasl.username" = "old"\n"sasl.password" = "older"'
    profiles.write_text(f'[p]\n"security.protocol" = "SASL_SSL"\n"sasl.mechanism" = "PLAIN"\n{old}\n')
    found = resolve_settings(bootstrap="b:1", profile="p", profiles=profiles, properties=[JAAS], environment={})
    assert found.login == SaslCredentials(mechanism="PLAIN", username="me", password="hidden-thing")


def test_a_files_other_login_module_takes_nothing_from_what_is_typed(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sasl.jaas.config=org.apache.kafka.OAuthBearerLoginModule required;\n")
    typed = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *USER]
    found = resolve_settings(bootstrap="b:1", config=str(file), properties=typed, environment={})
    assert found.login is not None


def test_what_is_typed_wrongly_is_not_repeated_beyond_its_key() -> None:
    assert refusal("sasl.password: hidden-thing") == "-X sasl.password…: write KEY=VALUE"


def test_what_is_missing_or_not_spoken_is_named() -> None:
    spoken = "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    where = "-X security.protocol=SASL_SSL needs"
    assert refusal(*USER) == f"{where} sasl.mechanism: {spoken}; it is not set"
    assert refusal("sasl.mechanism=GSSAPI", *USER) == (
        f"-X sasl.mechanism=GSSAPI is not spoken here; write {spoken} "
        "(pipeline ingest and doctor take what librdkafka takes)"
    )
    for name, given in zip(("password", "username"), USER, strict=True):
        told = refusal("sasl.mechanism=PLAIN", given)
        assert told == f"{where} sasl.{name} (or sasl.jaas.config); it is not set"
    assert refusal("sasl.mechanism=PLAIN", "sasl.username=", USER[1]).endswith("it is not set")
    assert refusal("sasl.mechanism=PLAIN", USER[0], "sasl.password=\udcff") == "-X sasl.password is no text in UTF-8"
