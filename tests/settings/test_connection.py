"""Connection settings: defaults, both spellings of properties, TLS, client IDs and timeouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import ConnectionSettings, Endpoint, Tls
from kafka_groups.settings.librdkafka import client_properties, resolve_client
from tests.settings.resolution import error_text, hosts, resolve, write_file


def test_settings_that_no_source_has_are_defaults() -> None:
    assert resolve(bootstrap="b") == ConnectionSettings(
        bootstrap=(Endpoint(host="b", port=9092),),
        timeout_s=30.0,
        client_id="kafka-groups",
        connect_timeout_s=10.0,
        tls=None,
        credentials=None,
    )


def test_connection_settings_without_bootstrap_servers_are_rejected() -> None:
    with pytest.raises(SettingsError, match="the settings have no bootstrap servers; pass at least one Endpoint"):
        ConnectionSettings(bootstrap=())


def test_javas_names_are_supported(tmp_path: Path) -> None:
    text = """
        bootstrap.servers=b:1
        client.id=me
        security.protocol=ssl
        socket.connection.setup.timeout.ms=2500
        ssl.truststore.location=/ca.pem
        ssl.truststore.type=PEM
        ssl.keystore.location=/me.pem
        ssl.key.password=secret
        ssl.endpoint.identification.algorithm=
    """
    settings = resolve(config=write_file(tmp_path, text))
    assert settings == ConnectionSettings(
        bootstrap=(Endpoint(host="b", port=1),),
        client_id="me",
        connect_timeout_s=2.5,
        tls=Tls(ca_file="/ca.pem", certificate_file="/me.pem", key_password="secret", check_host_name=False),
    )
    assert "secret" not in repr(settings)


def test_librdkafkas_names_are_supported(tmp_path: Path) -> None:
    text = """
        metadata.broker.list=b:1
        security.protocol=SSL
        ssl.ca.location=/ca.pem
        ssl.certificate.location=/me.pem
        ssl.key.location=/me.key
        ssl.endpoint.identification.algorithm=none
    """
    settings = resolve(config=write_file(tmp_path, text))
    assert hosts(settings) == ["b:1"]
    assert settings.tls == Tls(ca_file="/ca.pem", certificate_file="/me.pem", key_file="/me.key", check_host_name=False)


@pytest.mark.parametrize("value", ["", "probe"])
def test_the_systems_cas_are_trusted_if_librdkafka_would_search_for_them(value: str, tmp_path: Path) -> None:
    config = write_file(tmp_path, f"security.protocol=SSL\nssl.ca.location={value}\n")
    assert resolve(bootstrap="b", config=config).tls == Tls(ca_file=None)


def test_host_names_are_checked_by_default() -> None:
    assert resolve(bootstrap="b", properties=["security.protocol=SSL"]).tls == Tls(check_host_name=True)


def test_plaintext_has_no_tls() -> None:
    assert resolve(bootstrap="b", properties=["security.protocol=plaintext"]).tls is None


def test_an_unknown_security_protocol_is_rejected() -> None:
    text = error_text(bootstrap="b", properties=["security.protocol=TLS"])
    assert text == "-X security.protocol=TLS is unknown; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"


def test_the_scheme_of_a_bootstrap_server_must_equal_the_security_protocol(tmp_path: Path) -> None:
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('[tls]\n"bootstrap.servers" = "PLAINTEXT://b:1"\n"security.protocol" = "SSL"\n')
    assert error_text(bootstrap="SSL://b:1") == (
        "-b: 'SSL://b:1' contradicts security.protocol=PLAINTEXT; set it to SSL, or remove SSL://"
    )
    assert error_text(profile="tls", profiles=profiles).startswith(
        "profile 'tls': bootstrap.servers: 'PLAINTEXT://b:1' contradicts security.protocol=SSL"
    )
    assert resolve(bootstrap="ssl://b:1", properties=["security.protocol=ssl"]).tls is not None


@pytest.mark.parametrize(("protocol", "ways"), [("PLAINTEXT", "SSL or SASL_SSL"), ("SASL_PLAINTEXT", "SASL_SSL")])
@pytest.mark.parametrize("key", ["ssl.ca.location", "ssl.key.password", "ssl.endpoint.identification.algorithm"])
def test_a_tls_property_of_a_flag_is_rejected_if_the_protocol_has_no_tls(key: str, protocol: str, ways: str) -> None:
    properties = [f"security.protocol={protocol}", f"{key}=value"]
    text = f"-X {key} has no effect with security.protocol={protocol}; set security.protocol to {ways}"
    assert error_text(bootstrap="b", properties=properties) == text
    with pytest.raises(SettingsError) as caught:
        resolve_client(bootstrap="b", properties=properties, environment={})
    assert str(caught.value) == text


def test_a_tls_property_of_a_file_is_ignored_if_the_protocol_has_no_tls(tmp_path: Path) -> None:
    assert resolve(bootstrap="b", config=write_file(tmp_path, "ssl.ca.location=/no/such.pem")).tls is None


def test_a_key_without_its_certificate_is_rejected() -> None:
    assert error_text(bootstrap="b", properties=("security.protocol=SSL", "ssl.key.location=/me.key")) == (
        "-X ssl.key.location needs the certificate that belongs to the key; set ssl.certificate.location"
    )


@pytest.mark.parametrize("text", ["0", "-1", "10s", "", "²"])
def test_a_connect_timeout_is_a_number_of_milliseconds(text: str) -> None:
    assert error_text(bootstrap="b", properties=[f"socket.connection.setup.timeout.ms={text}"]) == (
        f"-X socket.connection.setup.timeout.ms={text} is not a number of milliseconds greater than 0; "
        "write for example 10000"
    )


@pytest.mark.parametrize("digits", ["31536000001", "9" * 22, "9" * 5000])
def test_a_connect_timeout_of_more_than_a_year_is_rejected(digits: str) -> None:
    assert error_text(bootstrap="b", properties=[f"socket.connection.setup.timeout.ms={digits}"]) == (
        "-X socket.connection.setup.timeout.ms is too long; 365 days (31536000000) is the longest"
    )


@pytest.mark.parametrize("source", ["-X", "file"])
def test_an_empty_value_is_the_default_for_both_clients(source: str, tmp_path: Path) -> None:
    keys = ("client.id", "security.protocol", "sasl.mechanism", "ssl.truststore.type", "ssl.keystore.type")
    pairs = [f"{key}=" for key in keys if source == "file" or key in {"client.id", "security.protocol"}]
    given: dict[str, Any] = {"properties": pairs}
    if source == "file":
        given = {"config": write_file(tmp_path, "\n".join(pairs))}
    settings = resolve(bootstrap="b", **given)
    assert (settings.client_id, settings.tls, settings.credentials) == ("kafka-groups", None, None)
    client = resolve_client(bootstrap="b", environment={}, **given)
    assert client.properties == {"bootstrap.servers": "b:9092", "client.id": "kafka-groups"}


def test_an_empty_type_of_a_store_is_pem_for_both_clients(tmp_path: Path) -> None:
    config = write_file(tmp_path, "security.protocol=SSL\nssl.truststore.type=\nssl.keystore.type=\n")
    assert resolve(bootstrap="b", config=config).tls == Tls()
    assert resolve_client(bootstrap="b", config=config, environment={}).properties["security.protocol"] == "ssl"


def test_an_empty_value_of_a_flag_overrides_the_file(tmp_path: Path) -> None:
    config = write_file(tmp_path, "client.id=from-file")
    assert resolve(bootstrap="b", config=config, properties=["client.id="]).client_id == "kafka-groups"


@pytest.mark.parametrize(("client_id", "size"), [("x" * 32_768, 32_768), ("é" * 16_384, 32_768)])
def test_a_client_id_of_a_length_that_no_request_can_have_is_rejected(client_id: str, size: int) -> None:
    assert error_text(bootstrap="b", properties=[f"client.id={client_id}"]) == (
        f"-X client.id: the client ID has {size} bytes; write at most 32767 bytes"
    )


def test_a_client_id_may_have_the_longest_length_that_a_request_can_have() -> None:
    assert len(resolve(bootstrap="b", properties=["client.id=" + "x" * 32_767]).client_id) == 32_767


def test_a_client_id_must_be_utf_8() -> None:
    text = error_text(bootstrap="b", properties=["client.id=\udcff"])
    assert text == "-X client.id is not valid UTF-8; write it in UTF-8"


def test_revocation_lists_of_librdkafkas_property_are_used(tmp_path: Path) -> None:
    config = write_file(tmp_path, "security.protocol=SSL\nssl.crl.location=/crl.pem\n")
    assert resolve(bootstrap="b", config=config).tls == Tls(crl_file="/crl.pem")


def test_the_name_of_a_cluster_stands_for_the_id_that_its_brokers_do_not_return() -> None:
    settings = resolve(bootstrap="b", properties=["cluster.name=Hub East"])
    assert (settings.cluster_name, settings.substitute_cluster_id()) == ("Hub East", "cluster.name=Hub East")


@pytest.mark.parametrize("properties", [[], ["cluster.name="]])
def test_the_servers_of_a_cluster_without_a_name_stand_for_its_id_in_any_order(properties: list[str]) -> None:
    settings = [resolve(bootstrap=servers, properties=properties) for servers in ("B:2,a:1", "A:1,b:2")]
    assert {each.substitute_cluster_id() for each in settings} == {"bootstrap.servers=a:1,b:2"}


def test_librdkafka_does_not_get_the_name_of_a_cluster() -> None:
    settings = resolve_client(bootstrap="b", properties=["cluster.name=hub"], environment={})
    assert "cluster.name" not in settings.properties


@pytest.mark.parametrize(
    ("value", "is_wanted"),
    [
        ("resolve_canonical_bootstrap_servers_only", True),
        ("RESOLVE_CANONICAL_BOOTSTRAP_SERVERS_ONLY", True),
        ("use_all_dns_ips", False),
        ("default", False),
        ("", False),
    ],
)
def test_canonical_names_are_resolved_if_a_source_wants_it(value: str, is_wanted: bool, tmp_path: Path) -> None:
    config = write_file(tmp_path, f"bootstrap.servers=b:1\nclient.dns.lookup={value}\n")
    for settings in (resolve(config=config), resolve(bootstrap="b", properties=[f"client.dns.lookup={value}"])):
        assert settings.resolve_canonical_names is is_wanted
        assert ("client.dns.lookup" in client_properties(settings)) is is_wanted


def test_an_unknown_way_to_resolve_names_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    config = write_file(tmp_path, "bootstrap.servers=b:1\nclient.dns.lookup=all\n")
    assert error_text(config=config) == (
        f"{config}: client.dns.lookup=all is unknown; write use_all_dns_ips or resolve_canonical_bootstrap_servers_only"
    )


def test_the_places_of_properties_are_known_without_their_values(tmp_path: Path) -> None:
    config = write_file(tmp_path, "bootstrap.servers=b:1\nssl.cipher.suites=hidden-thing\nacks=all\n")
    settings = resolve(config=config, properties=["client.id=me"])
    assert settings.sources == {
        "acks": f"{config}: acks",
        "bootstrap.servers": f"{config}: bootstrap.servers",
        "client.id": "-X client.id",
        "ssl.cipher.suites": f"{config}: ssl.cipher.suites",
    }
