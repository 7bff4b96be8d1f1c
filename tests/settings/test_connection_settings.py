"""Connection settings: which source wins, and what is said of what cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import (
    ConnectionSettings,
    Endpoint,
    Tls,
    profiles_file,
    resolve_settings,
)

PROFILES = """
[prod]
"bootstrap.servers" = ["p1:9092", "p2:9093"]
"client.id" = "from-profile"
timeout = "40s"

[nested.ssl.truststore]
location = "/profile/ca.pem"
[nested.security]
protocol = "SSL"
[nested.bootstrap]
servers = "n:1"
[nested.socket.connection.setup.timeout]
ms = 3000

[with-file]
config = "FILE"

[empty]
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES.replace("FILE", str(tmp_path / "profile.properties")))
    return path


def _file(tmp_path: Path, text: str, name: str = "client.properties") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def _resolve(**given: Any) -> ConnectionSettings:
    return resolve_settings(**{"environment": {}, **given})


def _refusal(**given: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        _resolve(**given)
    assert caught.value.exit_code == 2
    return str(caught.value)


def _hosts(settings: ConnectionSettings) -> list[str]:
    return [str(endpoint) for endpoint in settings.bootstrap]


def test_defaults_stand_where_nothing_is_said() -> None:
    assert _resolve(bootstrap="b") == ConnectionSettings(
        bootstrap=(Endpoint(host="b", port=9092),),
        timeout_s=30.0,
        client_id="kafka-groups",
        connect_timeout_s=10.0,
        tls=None,
    )


def test_the_bootstrap_server_is_taken_from_the_strongest_source(tmp_path: Path, profiles: Path) -> None:
    given: dict[str, Any] = {"config": _file(tmp_path, "bootstrap.servers=file:1"), "profiles": profiles}
    assert _hosts(_resolve(**given)) == ["file:1"]
    given["profile"] = "prod"
    assert _hosts(_resolve(**given)) == ["p1:9092", "p2:9093"]
    given["environment"] = {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "env:3"}
    assert _hosts(_resolve(**given)) == ["env:3"]
    given["properties"] = ["bootstrap.servers=x:4"]
    assert _hosts(_resolve(**given)) == ["x:4"]
    given["bootstrap"] = "flag:5"
    assert _hosts(_resolve(**given)) == ["flag:5"]


def test_the_timeout_is_taken_from_the_strongest_source(profiles: Path) -> None:
    given: dict[str, Any] = {"bootstrap": "b", "profiles": profiles, "profile": "prod"}
    assert _resolve(**given).timeout_s == 40.0
    given["environment"] = {"KAFKA_GROUPS_TIMEOUT": "50s"}
    assert _resolve(**given).timeout_s == 50.0
    given["timeout"] = "60s"
    assert _resolve(**given).timeout_s == 60.0


def test_a_property_is_taken_from_the_strongest_source(tmp_path: Path, profiles: Path) -> None:
    given: dict[str, Any] = {"bootstrap": "b", "config": _file(tmp_path, "client.id=from-file"), "profiles": profiles}
    assert _resolve(**given).client_id == "from-file"
    given["profile"] = "prod"
    assert _resolve(**given).client_id == "from-profile"
    given["properties"] = ["client.id=first", "client.id=last"]
    assert _resolve(**given).client_id == "last"


def test_the_profile_of_the_flag_wins_over_that_of_the_environment(profiles: Path) -> None:
    environment = {"KAFKA_GROUPS_PROFILE": "prod"}
    assert _hosts(_resolve(environment=environment, profiles=profiles)) == ["p1:9092", "p2:9093"]
    assert _hosts(_resolve(environment=environment, profiles=profiles, profile="nested")) == ["n:1"]


def test_a_config_file_of_flag_or_environment_replaces_that_of_the_profile(tmp_path: Path, profiles: Path) -> None:
    _file(tmp_path, "bootstrap.servers=profile-file:1", "profile.properties")
    environment = {"KAFKA_GROUPS_CONFIG": _file(tmp_path, "bootstrap.servers=env-file:2", "env.properties")}
    flag = _file(tmp_path, "bootstrap.servers=flag-file:3", "flag.properties")
    given: dict[str, Any] = {"profiles": profiles, "profile": "with-file"}
    assert _hosts(_resolve(**given)) == ["profile-file:1"]
    assert _hosts(_resolve(**given, environment=environment)) == ["env-file:2"]
    assert _hosts(_resolve(**given, environment=environment, config=flag)) == ["flag-file:3"]


def test_empty_variables_and_flags_count_as_not_given(profiles: Path) -> None:
    environment = dict.fromkeys(
        ["KAFKA_GROUPS_BOOTSTRAP_SERVER", "KAFKA_GROUPS_TIMEOUT", "KAFKA_GROUPS_CONFIG", "KAFKA_GROUPS_PROFILE"], ""
    )
    settings = _resolve(environment=environment, profiles=profiles, profile="prod", timeout="", config="")
    assert _hosts(settings) == ["p1:9092", "p2:9093"]
    assert settings.timeout_s == 40.0


def test_an_empty_bootstrap_server_never_leads_to_another_cluster(profiles: Path) -> None:
    told = _refusal(bootstrap="", profiles=profiles, profile="prod")
    assert told.startswith("no cluster is named; give -b HOST:PORT")


def test_without_a_cluster_the_three_ways_to_name_one_are_told() -> None:
    assert _refusal() == (
        "no cluster is named; give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
    )


def test_a_timeout_that_cannot_be_used_names_its_flag() -> None:
    assert _refusal(bootstrap="b", timeout="30") == (
        "--timeout: '30' is not a duration (a number needs a unit); write for example 30s or 500ms"
    )
    assert _refusal(bootstrap="b", timeout="0s") == "--timeout must be more than nothing; write for example 30s"


def test_javas_names_are_understood(tmp_path: Path) -> None:
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
    settings = _resolve(config=_file(tmp_path, text))
    assert settings == ConnectionSettings(
        bootstrap=(Endpoint(host="b", port=1),),
        client_id="me",
        connect_timeout_s=2.5,
        tls=Tls(ca_file="/ca.pem", certificate_file="/me.pem", key_password="secret", check_host_name=False),
    )
    assert "secret" not in repr(settings)


def test_librdkafkas_names_are_understood(tmp_path: Path) -> None:
    text = """
        metadata.broker.list=b:1
        security.protocol=SSL
        ssl.ca.location=/ca.pem
        ssl.certificate.location=/me.pem
        ssl.key.location=/me.key
        ssl.endpoint.identification.algorithm=none
    """
    settings = _resolve(config=_file(tmp_path, text))
    assert _hosts(settings) == ["b:1"]
    assert settings.tls == Tls(ca_file="/ca.pem", certificate_file="/me.pem", key_file="/me.key", check_host_name=False)


def test_host_names_are_checked_unless_told_otherwise() -> None:
    assert _resolve(bootstrap="b", properties=["security.protocol=SSL"]).tls == Tls(check_host_name=True)


def test_a_properties_file_has_comments_escapes_and_continued_lines(tmp_path: Path) -> None:
    text = (
        "# comment\n! another\nbootstrap.servers = a:1,\\\n    b:2\nclient.id: caf\\u00e9\\=1\nunknown.key=kept quiet\n"
    )
    settings = _resolve(config=_file(tmp_path, text))
    assert _hosts(settings) == ["a:1", "b:2"]
    assert settings.client_id == "café=1"


def test_a_config_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "missing.properties"
    assert _refusal(config=str(missing)) == f"the config file {missing} cannot be read: No such file or directory"
    binary = tmp_path / "binary.properties"
    binary.write_bytes(b"client.id=\xff\xfe")
    assert _refusal(config=str(binary)).startswith(f"the config file {binary} cannot be read: 'utf-8' codec")
    escape = _file(tmp_path, "client.id=\\u12", "escape.properties")
    assert _refusal(config=escape).startswith(f"the config file {escape} cannot be read: ")
    assert "Is a directory" in _refusal(config=str(tmp_path))


def test_a_profile_may_be_written_in_nested_tables(profiles: Path) -> None:
    settings = _resolve(profile="nested", profiles=profiles)
    assert _hosts(settings) == ["n:1"]
    assert settings.tls == Tls(ca_file="/profile/ca.pem")
    assert settings.connect_timeout_s == 3.0


def test_an_unknown_profile_is_told_beside_the_known_ones(profiles: Path, tmp_path: Path) -> None:
    assert _refusal(profile="prd", profiles=profiles) == (
        f"there is no profile 'prd' in {profiles}; it has: empty, nested, prod, with-file"
    )
    missing = tmp_path / "none.toml"
    assert _refusal(profile="prod", profiles=missing) == f"there is no profile 'prod' in {missing}; it has none"


def test_a_profile_without_settings_is_a_profile(profiles: Path) -> None:
    assert _hosts(_resolve(profile="empty", profiles=profiles, bootstrap="b")) == ["b:9092"]


def test_a_profiles_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    odd = tmp_path / "profiles.toml"
    odd.write_text("[prod\n")
    assert _refusal(profile="prod", profiles=odd).startswith(f"the profiles file {odd} cannot be read: ")


def test_profiles_are_kept_in_the_users_config_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert profiles_file() == tmp_path / "kafka-groups" / "profiles.toml"


def test_a_setting_typed_by_hand_must_be_one_that_is_used() -> None:
    told = _refusal(bootstrap="b", properties=["fetch.max.bytes=1"])
    assert told.startswith("-X fetch.max.bytes: this tool has no such setting; it uses bootstrap.servers, client.id, ")


@pytest.mark.parametrize("pair", ["client.id", "=x", " =x", ""])
def test_a_setting_typed_by_hand_is_a_pair(pair: str) -> None:
    assert _refusal(bootstrap="b", properties=[pair]) == f"-X {pair}: write KEY=VALUE"


def test_a_value_may_hold_equals_signs_and_stands_without_its_outer_blanks() -> None:
    assert _resolve(bootstrap="b", properties=[" client.id = a=b "]).client_id == "a=b"


def test_an_unknown_security_protocol_is_refused() -> None:
    told = _refusal(bootstrap="b", properties=["security.protocol=TLS"])
    assert told == "-X security.protocol=TLS is unknown; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"


def test_plaintext_is_no_tls() -> None:
    assert _resolve(bootstrap="b", properties=["security.protocol=plaintext"]).tls is None


@pytest.mark.parametrize("key", ["ssl.truststore.type", "ssl.keystore.type"])
def test_stores_that_are_not_pem_are_refused(key: str) -> None:
    told = _refusal(bootstrap="b", properties=["security.protocol=SSL", f"{key}=JKS"])
    assert told.startswith(f"-X {key}=JKS is not supported yet; give PEM files")


def test_certificates_cannot_be_left_unchecked(tmp_path: Path) -> None:
    config = _file(tmp_path, "enable.ssl.certificate.verification=false")
    assert _refusal(bootstrap="b", config=config) == (
        f"{config}: enable.ssl.certificate.verification=false is not offered; "
        "name the broker's CA with ssl.ca.location instead"
    )


@pytest.mark.parametrize("text", ["0", "-1", "10s", "", "²"])
def test_a_number_of_milliseconds_is_asked_for_by_name(text: str) -> None:
    told = _refusal(bootstrap="b", properties=[f"socket.connection.setup.timeout.ms={text}"])
    assert told == f"-X socket.connection.setup.timeout.ms={text}: write a number of milliseconds"


def test_a_key_without_its_certificate_is_refused_and_not_ignored() -> None:
    assert _refusal(bootstrap="b", properties=("security.protocol=SSL", "ssl.key.location=/me.key")) == (
        "-X ssl.key.location needs the certificate that goes with it: set ssl.certificate.location"
    )
