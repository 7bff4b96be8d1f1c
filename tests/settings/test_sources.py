"""What cannot be used is named with its source; what is written in a source is taken as it stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import ConnectionSettings, resolve_settings

PROFILES = """
[odd]
"bootstrap.servers" = "a b"
timeout = "soon"
[alias]
"metadata.broker.list" = "a b"
[empty]
[tls]
"bootstrap.servers" = "PLAINTEXT://b:1"
"security.protocol" = "SSL"
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def _resolve(**given: Any) -> ConnectionSettings:
    return resolve_settings(**{"environment": {}, **given})


def _refusal(**given: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        _resolve(**given)
    return str(caught.value)


def test_a_timeout_that_cannot_be_used_names_where_it_stands(profiles: Path) -> None:
    told = "'soon' is not a duration; write for example 30s or 500ms"
    variables = {"KAFKA_GROUPS_TIMEOUT": "soon"}
    assert _refusal(bootstrap="b", timeout="soon") == f"--timeout: {told}"
    assert _refusal(bootstrap="b", environment=variables) == f"KAFKA_GROUPS_TIMEOUT: {told}"
    assert _refusal(bootstrap="b", profile="odd", profiles=profiles) == f"profile 'odd': timeout: {told}"
    variables = {"KAFKA_GROUPS_TIMEOUT": "0s"}
    assert _refusal(bootstrap="b", environment=variables).startswith("KAFKA_GROUPS_TIMEOUT must be more than nothing")


def test_a_bootstrap_server_that_cannot_be_used_names_where_it_stands(profiles: Path, file: Path) -> None:
    file.write_text("bootstrap.servers=a b")
    told = "'a b' is not a bootstrap server; write host:port, for example localhost:9092 or [::1]:9092"
    variables = {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "a b"}
    assert _refusal(bootstrap="a b") == f"-b: {told}"
    assert _refusal(environment=variables) == f"KAFKA_GROUPS_BOOTSTRAP_SERVER: {told}"
    assert _refusal(profile="odd", profiles=profiles) == f"profile 'odd': bootstrap.servers: {told}"
    assert _refusal(profile="alias", profiles=profiles) == f"profile 'alias': metadata.broker.list: {told}"
    assert _refusal(config=str(file)) == f"{file}: bootstrap.servers: {told}"
    assert _refusal(properties=["bootstrap.servers=a b"]) == f"-X bootstrap.servers: {told}"


def test_sources_that_were_given_and_name_no_cluster_are_named(profiles: Path, file: Path) -> None:
    file.write_text("client.id=me")
    ways = "give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
    given: dict[str, Any] = {"profile": "empty", "profiles": profiles}
    lead = "no cluster is named in"
    assert _refusal(**given) == f"{lead} profile 'empty' (bootstrap.servers); {ways}"
    assert _refusal(config=str(file)) == f"{lead} the config file {file} (bootstrap.servers); {ways}"
    assert _refusal(**given, config=str(file)) == (
        f"{lead} profile 'empty' and the config file {file} (bootstrap.servers); {ways}"
    )


def test_an_empty_profile_variable_is_no_profile() -> None:
    environment = {"KAFKA_GROUPS_PROFILE": ""}
    assert _resolve(bootstrap="b", environment=environment, profiles=Path("/no/such")).timeout_s == 30.0


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_login_without_its_protocol_is_refused_when_typed_and_let_be_in_a_file(file: Path, protocol: str) -> None:
    assert _refusal(bootstrap="b", properties=[f"security.protocol={protocol}", "sasl.mechanism=PLAIN"]) == (
        f"-X sasl.mechanism: nobody logs in by security.protocol={protocol}; write SASL_SSL or SASL_PLAINTEXT"
    )
    file.write_text(f"bootstrap.servers=b:1\nsasl.mechanism=PLAIN\nsecurity.protocol={protocol}\n")
    assert [str(endpoint) for endpoint in _resolve(config=str(file)).bootstrap] == ["b:1"]


def test_a_scheme_must_be_the_security_protocol(profiles: Path) -> None:
    assert _refusal(bootstrap="SSL://b:1") == (
        "-b: 'SSL://b:1' contradicts security.protocol=PLAINTEXT; make it SSL, or leave out SSL://"
    )
    assert _refusal(profile="tls", profiles=profiles).startswith(
        "profile 'tls': bootstrap.servers: 'PLAINTEXT://b:1' contradicts security.protocol=SSL"
    )
    assert _resolve(bootstrap="ssl://b:1", properties=["security.protocol=ssl"]).tls is not None


def test_a_byte_order_mark_is_no_part_of_the_first_key(file: Path, profiles: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfbootstrap.servers=b:1\n")
    assert str(_resolve(config=str(file)).bootstrap[0]) == "b:1"
    profiles.write_bytes(b"\xef\xbb\xbf[marked]\ntimeout = '7s'\n")
    assert _resolve(bootstrap="b", profile="marked", profiles=profiles).timeout_s == 7.0


def test_a_properties_file_has_no_timeout_of_ours(file: Path) -> None:
    file.write_text("bootstrap.servers=b:1\ntimeout=soon\nconfig=/no/such\n")
    assert _resolve(config=str(file)).timeout_s == 30.0


@pytest.mark.parametrize(("client_id", "size"), [("", 0), ("x" * 32_768, 32_768), ("é" * 16_384, 32_768)])
def test_a_client_id_that_no_request_can_carry_is_refused(client_id: str, size: int) -> None:
    assert _refusal(bootstrap="b", properties=[f"client.id={client_id}"]) == (
        f"-X client.id: a client id has 1 to 32767 bytes, and this one has {size}"
    )


def test_a_client_id_of_broken_text_is_refused() -> None:
    assert _refusal(bootstrap="b", properties=["client.id=\udcff"]) == "-X client.id: a client id is text in UTF-8"


def test_a_client_id_may_be_as_long_as_a_request_can_carry() -> None:
    assert len(_resolve(bootstrap="b", properties=["client.id=" + "x" * 32_767]).client_id) == 32_767


@pytest.mark.parametrize("digits", ["31536000001", "9" * 22, "9" * 5000])
def test_a_connect_timeout_of_more_than_a_year_is_refused(digits: str) -> None:
    assert _refusal(bootstrap="b", properties=[f"socket.connection.setup.timeout.ms={digits}"]) == (
        "-X socket.connection.setup.timeout.ms: that is too long; 365 days (31536000000) is the longest"
    )
