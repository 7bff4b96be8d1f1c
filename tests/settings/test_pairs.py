"""Key-value pairs: properties files, and -X KEY=VALUE."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.settings import PasswordCredentials, Tls
from tests.settings.resolution import error_text, hosts, resolve, write_file


def test_a_properties_file_has_comments_escapes_and_continued_lines(tmp_path: Path) -> None:
    text = "# comment\n! another\nbootstrap.servers = a:1,\\\n    b:2\nclient.id: caf\\u00e9\\=1\nunknown.key=ignored\n"
    settings = resolve(config=write_file(tmp_path, text))
    assert hosts(settings) == ["a:1", "b:2"]
    assert settings.client_id == "café=1"


def test_values_are_trimmed_as_kafkas_own_clients_do(tmp_path: Path) -> None:
    text = (
        "bootstrap.servers=b:1 \n"
        "security.protocol=SASL_SSL \t\n"
        "sasl.mechanism=\\u0020PLAIN\\u0000\r\n"
        "sasl.username=me \n"
        "sasl.password=\\ pass word \n"
        "ssl.truststore.type=PEM \n"
        "ssl.endpoint.identification.algorithm= \n"
        "socket.connection.setup.timeout.ms=2500 \n"
    )
    settings = resolve(config=write_file(tmp_path, text))
    assert settings.credentials == PasswordCredentials(mechanism="PLAIN", username="me", password="pass word")
    assert settings.tls == Tls(check_host_name=False)
    assert settings.connect_timeout_s == 2.5


def test_a_blank_in_the_quotes_of_a_jaas_text_belongs_to_the_password(tmp_path: Path) -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password=" a ";'
    text = f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas} \n"
    credentials = resolve(bootstrap="b", config=write_file(tmp_path, text)).credentials
    assert credentials == PasswordCredentials(mechanism="PLAIN", username="me", password=" a ")


def test_a_no_break_space_is_not_trimmed_because_kafkas_own_clients_keep_it() -> None:
    properties = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=me", "sasl.password=a\u00a0"]
    assert resolve(bootstrap="b", properties=properties).credentials == PasswordCredentials(
        mechanism="PLAIN", username="me", password="a\u00a0"
    )


def test_a_config_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "missing.properties"
    assert error_text(config=str(missing)) == f"the config file {missing} cannot be read: No such file or directory"
    binary = tmp_path / "binary.properties"
    for data in ("bootstrap.servers=b:1".encode("utf-16"), b"\xfe\xed\xfe\xed\0\0\0\2"):
        binary.write_bytes(data)
        assert error_text(config=str(binary)) == (
            f"the config file {binary} cannot be read: it is not a text file, or is UTF-16; save it in UTF-8"
        )
    assert "Is a directory" in error_text(config=str(tmp_path))


def test_an_invalid_escape_is_reported_without_the_text_around_it(tmp_path: Path) -> None:
    config = write_file(tmp_path, "sasl.password=\\upwd1-rest")
    assert error_text(config=config) == (
        f"the config file {config} cannot be read: a \\u is not followed by four hexadecimal digits; "
        "write a backslash as \\\\"
    )


def test_a_properties_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(b"\xef\xbb\xbfbootstrap.servers=b:1\n")
    assert hosts(resolve(config=str(path))) == ["b:1"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1"])
def test_a_properties_file_is_utf_8_or_iso_8859_1_as_in_java(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes("# Schlüssel\r\nbootstrap.servers=a:1,\\\r\n  b:2\r\nclient.id=café\r\n".encode(encoding))
    settings = resolve(config=str(path))
    assert (hosts(settings), settings.client_id) == (["a:1", "b:2"], "café")


@pytest.mark.parametrize("value", ["false", "False", "f", "0"])
def test_certificate_verification_cannot_be_disabled(value: str, tmp_path: Path) -> None:
    """Librdkafka accepts all of these values."""
    config = write_file(tmp_path, f"enable.ssl.certificate.verification={value}")
    assert error_text(bootstrap="b", config=config) == (
        f"{config}: enable.ssl.certificate.verification={value} is not supported; "
        "set ssl.ca.location to the CA of the brokers instead"
    )


def test_a_property_of_a_flag_must_be_one_that_the_network_layer_uses() -> None:
    text = error_text(bootstrap="b", properties=["fetch.max.bytes=1"])
    lead = "-X fetch.max.bytes: this property is not supported; supported properties are bootstrap.servers, client.id, "
    assert text.startswith(lead)


@pytest.mark.parametrize("pair", ["=hidden", " =hidden", "", "hiddenthing", "hidden thing=x", "sasl.hidden", "-X"])
def test_a_flag_that_is_no_pair_is_reported_without_text_that_may_be_a_password(pair: str) -> None:
    assert error_text(bootstrap="b", properties=[pair]) == "-X: write KEY=VALUE"


@pytest.mark.parametrize(
    ("pair", "shown"),
    [
        ("sasl.password: hidden-thing", "sasl.password"),
        ("sasl.password: hidden=thing", "sasl.password"),
        ("sasl.password hidden=thing", "sasl.password"),
        (" sasl.password:hidden", "sasl.password"),
        ("sasl.mechanisms", "sasl.mechanisms"),
    ],
)
def test_a_flag_that_is_no_pair_is_reported_by_a_known_key_alone(pair: str, shown: str) -> None:
    assert error_text(bootstrap="b", properties=[pair]) == f"-X {shown}…: write KEY=VALUE"


def test_the_value_of_a_flag_may_have_equals_signs_and_is_stripped_of_blanks() -> None:
    assert resolve(bootstrap="b", properties=[" client.id = a=b "]).client_id == "a=b"


def test_the_last_value_of_a_property_wins_whatever_its_spelling(tmp_path: Path) -> None:
    pairs = ["bootstrap.servers=a:1", "metadata.broker.list=b:1", "bootstrap.servers=c:1"]
    assert hosts(resolve(properties=pairs)) == ["c:1"]
    assert hosts(resolve(config=write_file(tmp_path, "\n".join(pairs)))) == ["c:1"]


def test_a_config_file_whose_path_has_a_nul_character_is_an_error_with_the_reason() -> None:
    assert error_text(config="a\0b").endswith("cannot be read: its path has a NUL character; remove it")
