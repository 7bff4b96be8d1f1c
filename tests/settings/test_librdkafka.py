"""Settings of librdkafka: Java's names, SASL, and no properties of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_groups.errors import SettingsError
from kafka_groups.settings.librdkafka import ClientSettings, resolve_client

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SASL = ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN")
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def resolve(**given: Any) -> ClientSettings:
    """Return the settings of the given sources, without this machine's environment."""
    return resolve_client(**{"environment": {}, "bootstrap": "b:1", **given})


def properties_of_file(tmp_path: Path, text: str, **given: Any) -> dict[str, str]:
    """Return the properties of a file, without those that every client has."""
    path = tmp_path / "client.properties"
    path.write_text(text)
    properties = dict(resolve(config=str(path), **given).properties)
    assert properties.pop("client.id") == "kafka-groups"
    del properties["bootstrap.servers"]
    return properties


def error_text(**given: Any) -> str:
    """Return the text of the error that the sources give."""
    with pytest.raises(SettingsError) as caught:
        resolve(**given)
    return str(caught.value)


def test_bootstrap_servers_are_spelled_as_librdkafka_parses_them() -> None:
    settings = resolve(bootstrap="a, [::1]:7,PLAINTEXT://c:9")
    assert settings.properties["bootstrap.servers"] == "a:9092,[::1]:7,c:9"


def test_a_flag_takes_precedence_over_the_environment_and_that_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("bootstrap.servers=f:1")
    environment = {"KAFKA_GROUPS_CONFIG": str(tmp_path / "f")}
    sources: dict[str, Any] = {"environment": environment, "bootstrap": None}
    assert resolve(**sources).properties["bootstrap.servers"] == "f:1"
    environment |= {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "e:1", "KAFKA_GROUPS_TIMEOUT": "9s"}
    settings = resolve(**sources)
    assert (settings.properties["bootstrap.servers"], settings.timeout_s) == ("e:1", 9.0)
    assert resolve(**{**sources, "bootstrap": "b:1"}).properties["bootstrap.servers"] == "b:1"


def test_a_profile_has_settings_of_librdkafka_too(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('[p]\nbootstrap.servers = "p:1"\nsasl.mechanism = "PLAIN"\ntimeout = "5s"\n')
    settings = resolve(bootstrap=None, profile="p", profiles=profiles)
    assert settings.properties["sasl.mechanism"] == "PLAIN"
    assert (settings.properties["bootstrap.servers"], settings.timeout_s) == ("p:1", 5.0)


def test_javas_names_of_pem_files_become_librdkafkas_names(tmp_path: Path) -> None:
    text = """
        security.protocol=SSL
        ssl.truststore.type=PEM
        ssl.truststore.location=/ca.pem
        ssl.keystore.location=/both.pem
        ssl.key.password=secret
        ssl.endpoint.identification.algorithm=
        """
    assert properties_of_file(tmp_path, text) == {
        "security.protocol": "ssl",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/both.pem",
        "ssl.key.location": "/both.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_java_key_stores_of_a_file_are_ignored_if_the_protocol_has_no_tls(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    text = f"ssl.truststore.type=JKS\nssl.truststore.location={store}\nssl.keystore.key=odd\n"
    assert "ssl.key.pem" not in properties_of_file(tmp_path, text)


@pytest.mark.parametrize("module", [PLAIN, SCRAM])
def test_a_jaas_text_becomes_a_user_and_a_password(tmp_path: Path, module: str) -> None:
    text = f'sasl.jaas.config={module} required \\\n  username="me" \\\n  password=\'a "b"; c=d\';'
    assert properties_of_file(tmp_path, text) == {"sasl.username": "me", "sasl.password": 'a "b"; c=d'}


def test_escapes_in_a_jaas_text_are_removed(tmp_path: Path) -> None:
    text = f'sasl.jaas.config={PLAIN} required username="a\\\\"b" password="\\\\\\\\";'
    assert properties_of_file(tmp_path, text) == {"sasl.username": 'a"b', "sasl.password": "\\"}


@pytest.mark.parametrize(
    ("jaas", "problem"),
    [
        (
            f"{KERBEROS} required keyTab=secret;",
            "the login module Krb5LoginModule is not supported",
        ),
        ("secret", "it names no login module"),
    ],
)
def test_an_unsupported_jaas_text_is_rejected_without_repeating_it(jaas: str, problem: str) -> None:
    text = error_text(properties=[*SASL, f"sasl.jaas.config={jaas}"])
    ways = "set librdkafka's properties instead (sasl.mechanism, sasl.username, sasl.password, …)"
    assert text == f"-X sasl.jaas.config: {problem}; {ways}"
    assert "secret" not in text


@pytest.mark.parametrize("part", ["username", "password"])
def test_a_jaas_text_without_a_user_or_a_password_is_rejected(part: str) -> None:
    other = "password" if part == "username" else "username"
    assert error_text(properties=[*SASL, f"sasl.jaas.config={PLAIN} required {other}=x;"]) == (
        f"-X sasl.jaas.config: it has no option {part}; add the option, or set sasl.{part}"
    )


def test_a_delegation_token_is_rejected_because_librdkafka_does_not_support_it() -> None:
    text = f"sasl.jaas.config={SCRAM} required username=id password=hidden-thing tokenauth=true;"
    assert error_text(properties=["security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-256", text]) == (
        "-X sasl.jaas.config: librdkafka, which reads topics for the pipeline, does not support delegation tokens "
        "(tokenauth); set the user name and the password of a SCRAM user"
    )


def test_properties_of_other_programs_in_a_file_are_skipped(tmp_path: Path) -> None:
    text = "group.id=g\nauto.offset.reset=latest\nacks=all\nssl.cipher.suites=TLS_AES\nsocket.timeout.ms=5"
    assert properties_of_file(tmp_path, text) == {"socket.timeout.ms": "5"}


def test_a_property_of_a_flag_is_passed_even_if_it_is_unknown() -> None:
    properties = resolve(properties=["debug=broker", "no.such.thing=1", "client.id=me"]).properties
    assert (properties["debug"], properties["no.such.thing"], properties["client.id"]) == ("broker", "1", "me")


@pytest.mark.parametrize("pair", ["group.id=g", "enable.auto.commit=true", "isolation.level=read_uncommitted"])
def test_properties_that_the_pipeline_sets_itself_are_rejected_as_flags(pair: str) -> None:
    reason = "the pipeline reads without a group and commits nothing"
    assert error_text(properties=[pair]) == f"-X {pair.partition('=')[0]} cannot be set: {reason}; remove it"


def test_certificate_verification_cannot_be_disabled() -> None:
    assert "is not supported; set ssl.ca.location" in error_text(
        properties=["enable.ssl.certificate.verification=false"]
    )


def test_without_a_cluster_the_error_names_the_ways_to_name_one() -> None:
    assert error_text(bootstrap=None).startswith("no cluster is named; give -b HOST:PORT")


def test_the_repr_of_the_settings_shows_no_user_and_no_password() -> None:
    settings = resolve(properties=[*SASL, "sasl.password=hidden-thing", "sasl.username=me"])
    assert "hidden-thing" not in repr(settings)
    assert "me" not in repr(settings).replace("timeout", "")


def test_librdkafka_accepts_the_properties(tmp_path: Path) -> None:
    jaas = f"sasl.jaas.config={SCRAM} required username=u password=p;"
    text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n{jaas}"
    own = {"bootstrap.servers": "127.0.0.1:9", "group.id": "g", "log_level": 0}
    Consumer({**properties_of_file(tmp_path, text), **own}).close()


@pytest.mark.parametrize("mechanism", ["plain", "Scram-Sha-256"])
def test_a_mechanism_is_spelled_as_librdkafka_accepts_it(mechanism: str) -> None:
    properties = resolve(properties=["security.protocol=sasl_ssl", f"sasl.mechanism={mechanism}"]).properties
    assert properties["sasl.mechanism"] == mechanism.upper()


def test_a_scheme_that_contradicts_the_protocol_is_rejected_before_a_password_is_sent_unencrypted() -> None:
    text = error_text(bootstrap="SASL_SSL://b:1", properties=["security.protocol=SASL_PLAINTEXT"])
    assert text.startswith("-b: 'SASL_SSL://b:1' contradicts security.protocol=SASL_PLAINTEXT; set it to SASL_SSL")
    assert "contradicts security.protocol=PLAINTEXT" in error_text(bootstrap="SSL://b:1")


def test_a_sasl_property_of_a_flag_is_rejected_if_the_protocol_has_no_sasl() -> None:
    assert error_text(properties=["sasl.username=me"]) == (
        "-X sasl.username has no effect with security.protocol=PLAINTEXT; "
        "set security.protocol to SASL_SSL or SASL_PLAINTEXT"
    )


@pytest.mark.parametrize("module", [KERBEROS, OAUTH, PLAIN])
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_jaas_text_of_a_file_is_ignored_if_the_protocol_has_no_sasl(
    module: str, protocol: str, tmp_path: Path
) -> None:
    text = f"security.protocol={protocol}\nsasl.jaas.config={module} required useKeyTab=true;\n"
    assert properties_of_file(tmp_path, text) == {"security.protocol": protocol.lower()}


@pytest.mark.parametrize(
    ("mechanism", "module", "own"),
    [
        ("GSSAPI", KERBEROS, {"sasl.kerberos.principal": "me"}),
        ("OAUTHBEARER", OAUTH, {"sasl.oauthbearer.token.endpoint.url": "file:///run/token"}),
    ],
)
def test_a_jaas_text_of_java_may_stand_beside_librdkafkas_own_properties(
    mechanism: str, module: str, own: dict[str, str], tmp_path: Path
) -> None:
    pairs = {"security.protocol": "sasl_ssl", "sasl.mechanism": mechanism, **own}
    text = "".join(f"{key}={value}\n" for key, value in pairs.items())
    properties = properties_of_file(tmp_path, f"{text}sasl.jaas.config={module} required x=y;")
    assert properties.items() >= pairs.items()


@pytest.mark.parametrize("key", ["ssl.key.location", "ssl.keystore.key", "ssl.key.pem"])
def test_an_empty_key_does_not_hide_the_key_in_the_file_of_the_certificate(key: str, tmp_path: Path) -> None:
    text = f"security.protocol=SSL\nssl.keystore.location=/both.pem\n{key}=\n"
    properties = properties_of_file(tmp_path, text)
    assert (properties["ssl.certificate.location"], properties["ssl.key.location"]) == ("/both.pem", "/both.pem")


@pytest.mark.parametrize("mechanism", [[], ["sasl.mechanism="]], ids=["absent", "empty"])
def test_sasl_without_a_mechanism_is_rejected_because_librdkafka_would_use_kerberos(mechanism: list[str]) -> None:
    user = ["sasl.username=me", "sasl.password=hidden"]
    text = error_text(properties=["security.protocol=SASL_SSL", *user, *mechanism])
    lead = "-X security.protocol=SASL_SSL needs sasl.mechanism, which is not set; set it to PLAIN, SCRAM-SHA-256, "
    assert text.startswith(lead)
    assert "GSSAPI needs a confluent-kafka whose librdkafka is built with it" in text


@pytest.mark.parametrize(
    ("pair", "converted"),
    [
        ("connections.max.idle.ms=-1", "0"),
        ("connections.max.idle.ms=99999999999", "2147483647"),
        ("socket.connection.setup.timeout.ms=500", "1000"),
        ("socket.connection.setup.timeout.ms=31536000000", "2147483647"),
        ("reconnect.backoff.max.ms=10000000", "3600000"),
        ("reconnect.backoff.max.ms=soon", "soon"),
        ("reconnect.backoff.ms=50", "50"),
        ("client.dns.lookup=default", None),
        ("client.dns.lookup=use_all_dns_ips", "use_all_dns_ips"),
        ("client.dns.lookup=Use_All_DNS_IPs", "use_all_dns_ips"),
    ],
)
def test_a_value_of_a_file_that_java_accepts_is_converted_to_one_that_librdkafka_accepts(
    pair: str, converted: str | None, tmp_path: Path
) -> None:
    properties = properties_of_file(tmp_path, pair)
    assert properties.get(pair.partition("=")[0]) == converted
    if converted != "soon":
        Consumer({**properties, "bootstrap.servers": "127.0.0.1:9", "group.id": "g", "log_level": 0}).close()


def test_a_backoff_without_a_maximum_is_its_own_maximum_as_in_java(tmp_path: Path) -> None:
    properties = properties_of_file(tmp_path, "reconnect.backoff.ms=20000")
    assert properties == {"reconnect.backoff.ms": "20000", "reconnect.backoff.max.ms": "20000"}
    assert "reconnect.backoff.max.ms" not in properties_of_file(tmp_path, "reconnect.backoff.ms=50")


def test_a_value_of_a_flag_is_passed_as_it_is() -> None:
    properties = resolve(properties=["connections.max.idle.ms=-1", "client.dns.lookup=default"]).properties
    assert (properties["connections.max.idle.ms"], properties["client.dns.lookup"]) == ("-1", "default")


@pytest.mark.parametrize(("user", "password"), [(" me", "p"), ("me", " hidden-thing")])
def test_a_user_or_a_password_with_a_leading_blank_is_rejected_because_librdkafka_drops_it(
    user: str, password: str
) -> None:
    key = "sasl.username" if user.startswith(" ") else "sasl.password"
    text = error_text(properties=[*SASL, f'sasl.jaas.config={PLAIN} required username="{user}" password="{password}";'])
    assert text == (
        "-X sasl.jaas.config: librdkafka, which reads topics for the pipeline, drops blanks at the start "
        f"of {key}; use a user without them"
    )


@pytest.mark.parametrize("key", ["ssl.ca.location", "ssl.keystore.location", "ssl.key.password"])
@pytest.mark.parametrize("value", ["a\0b", "a\ud800b"], ids=["NUL", "surrogate"])
def test_a_value_that_librdkafka_cannot_take_is_rejected(key: str, value: str) -> None:
    text = error_text(properties=["security.protocol=SSL", f"{key}={value}"])
    assert text == f"-X {key} has a NUL character, or is not valid UTF-8; write it in UTF-8"
