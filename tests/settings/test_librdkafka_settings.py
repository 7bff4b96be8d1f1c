"""The settings of the wire, as librdkafka spells them: Java's names, SASL, and nothing of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_groups.errors import SettingsError
from kafka_groups.settings.librdkafka import ClientSettings, resolve_client

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def resolve(**given: Any) -> ClientSettings:
    """What the sources come to, without this machine's environment."""
    return resolve_client(**{"environment": {}, "bootstrap": "b:1", **given})


def of_file(tmp_path: Path, text: str, **given: Any) -> dict[str, str]:
    """The properties that a file comes to, but for those that are always there."""
    path = tmp_path / "client.properties"
    path.write_text(text)
    found = dict(resolve(config=str(path), **given).properties)
    assert found.pop("client.id") == "kafka-groups"
    del found["bootstrap.servers"]
    return found


def refusal(**given: Any) -> str:
    """Why nothing comes of it."""
    with pytest.raises(SettingsError) as caught:
        resolve(**given)
    return str(caught.value)


def test_brokers_are_told_as_librdkafka_reads_them() -> None:
    found = resolve(bootstrap="a, [::1]:7,PLAINTEXT://c:9")
    assert found.properties["bootstrap.servers"] == "a:9092,[::1]:7,c:9"


def test_a_flag_beats_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("bootstrap.servers=f:1")
    named: dict[str, Any] = {"config": str(tmp_path / "f"), "bootstrap": None}
    assert resolve(**named).properties["bootstrap.servers"] == "f:1"
    named["environment"] = {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "e:1", "KAFKA_GROUPS_TIMEOUT": "9s"}
    found = resolve(**named)
    assert (found.properties["bootstrap.servers"], found.timeout_s) == ("e:1", 9.0)
    assert resolve(**{**named, "bootstrap": "b:1"}).properties["bootstrap.servers"] == "b:1"


def test_a_profile_serves_librdkafka_too(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('[p]\nbootstrap.servers = "p:1"\nsasl.mechanism = "PLAIN"\ntimeout = "5s"\n')
    found = resolve(bootstrap=None, profile="p", profiles=profiles)
    assert found.properties["sasl.mechanism"] == "PLAIN"
    assert (found.properties["bootstrap.servers"], found.timeout_s) == ("p:1", 5.0)


def test_javas_names_of_pem_files_become_librdkafkas(tmp_path: Path) -> None:
    text = """
        security.protocol=SSL
        ssl.truststore.type=PEM
        ssl.truststore.location=/ca.pem
        ssl.keystore.location=/both.pem
        ssl.key.password=secret
        ssl.endpoint.identification.algorithm=
        """
    assert of_file(tmp_path, text) == {
        "security.protocol": "ssl",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/both.pem",
        "ssl.key.location": "/both.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_pkcs12_key_store_stays_one(tmp_path: Path) -> None:
    text = "ssl.keystore.type=PKCS12\nssl.keystore.location=/k.p12\nssl.keystore.password=p"
    assert of_file(tmp_path, text) == {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "p"}


@pytest.mark.parametrize("key", ["ssl.keystore.type", "ssl.truststore.type"])
def test_javas_own_stores_are_refused_with_what_would_do(key: str) -> None:
    told = f"-X {key}=JKS is not supported; give PEM files (ssl.ca.location, ssl.certificate.location)"
    assert refusal(properties=[f"{key}=JKS"]) == told


@pytest.mark.parametrize("module", [PLAIN, SCRAM])
def test_a_java_login_becomes_user_and_password(tmp_path: Path, module: str) -> None:
    text = f'sasl.jaas.config={module} required \\\n  username="me" \\\n  password=\'a "b"; c=d\';'
    assert of_file(tmp_path, text) == {"sasl.username": "me", "sasl.password": 'a "b"; c=d'}


def test_what_a_login_escapes_is_meant_as_it_is(tmp_path: Path) -> None:
    text = f'sasl.jaas.config={PLAIN} required username="a\\\\"b" password="\\\\\\\\";'
    assert of_file(tmp_path, text) == {"sasl.username": 'a"b', "sasl.password": "\\"}


@pytest.mark.parametrize(
    ("login", "told"),
    [
        ("com.sun.security.auth.module.Krb5LoginModule required keyTab=secret;", "Krb5LoginModule is not understood"),
        ("secret", "it names no login module"),
    ],
)
def test_another_login_is_refused_without_repeating_it(login: str, told: str) -> None:
    said = refusal(properties=[f"sasl.jaas.config={login}"])
    assert said.startswith(f"-X sasl.jaas.config: {told}; set librdkafka's own keys")
    assert "secret" not in said


@pytest.mark.parametrize("part", ["username", "password"])
def test_a_login_without_a_half_of_it_is_refused(part: str) -> None:
    other = "password" if part == "username" else "username"
    assert (
        refusal(properties=[f"sasl.jaas.config={PLAIN} required {other}=x;"])
        == f"-X sasl.jaas.config: it has no {part}"
    )


def test_what_a_file_says_to_other_programs_is_left_out(tmp_path: Path) -> None:
    text = "group.id=g\nauto.offset.reset=latest\nacks=all\nssl.cipher.suites=TLS_AES\nsocket.timeout.ms=5"
    assert of_file(tmp_path, text) == {"socket.timeout.ms": "5"}


def test_what_was_typed_passes_whatever_it_is() -> None:
    found = resolve(properties=["debug=broker", "no.such.thing=1", "client.id=me"]).properties
    assert (found["debug"], found["no.such.thing"], found["client.id"]) == ("broker", "1", "me")


@pytest.mark.parametrize("pair", ["group.id=g", "enable.auto.commit=true", "isolation.level=read_uncommitted"])
def test_what_would_make_the_pipeline_seen_cannot_be_typed(pair: str) -> None:
    told = "the pipeline reads without a group and commits nothing, so this cannot be set"
    assert refusal(properties=[pair]) == f"-X {pair.partition('=')[0]}: {told}"


def test_checking_certificates_cannot_be_switched_off() -> None:
    assert "is not offered" in refusal(properties=["enable.ssl.certificate.verification=false"])


def test_without_a_cluster_the_ways_to_name_one_are_told() -> None:
    assert refusal(bootstrap=None).startswith("no cluster is named; give -b HOST:PORT")


def test_no_secret_is_shown_of_settings() -> None:
    found = resolve(properties=["security.protocol=SASL_SSL", "sasl.password=hidden-thing", "sasl.username=me"])
    assert "hidden-thing" not in repr(found)
    assert "me" not in repr(found).replace("timeout", "")


def test_librdkafka_takes_what_comes_out(tmp_path: Path) -> None:
    login = f"sasl.jaas.config={SCRAM} required username=u password=p;"
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n{login}"
    found = {**of_file(tmp_path, text), "bootstrap.servers": "127.0.0.1:9", "group.id": "g", "log_level": 0}
    Consumer(found).close()


@pytest.mark.parametrize("told", ["plain", "Scram-Sha-256"])
def test_a_mechanism_is_spelt_as_librdkafka_wants_it(told: str) -> None:
    found = resolve(properties=["security.protocol=sasl_ssl", f"sasl.mechanism={told}"]).properties
    assert found["sasl.mechanism"] == told.upper()


def test_a_scheme_that_contradicts_the_protocol_is_refused_before_a_password_goes_in_clear() -> None:
    told = refusal(bootstrap="SASL_SSL://b:1", properties=["security.protocol=SASL_PLAINTEXT"])
    assert told.startswith("-b: 'SASL_SSL://b:1' contradicts security.protocol=SASL_PLAINTEXT; make it SASL_SSL")
    assert "contradicts security.protocol=PLAINTEXT" in refusal(bootstrap="SSL://b:1")


def test_a_login_that_nobody_uses_is_refused_when_typed() -> None:
    told = refusal(properties=["sasl.username=me"])
    assert told == "-X sasl.username: nobody logs in by security.protocol=PLAINTEXT; write SASL_SSL or SASL_PLAINTEXT"
