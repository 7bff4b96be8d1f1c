"""Sources of settings: which source wins, and which source an error names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_groups.settings import Tls
from tests.settings.resolution import error_text, hosts, resolve, write_file

PROFILES = """
[prod]
"bootstrap.servers" = ["p1:9092", "p2:9093"]
"client.id" = "from-profile"
timeout = "40s"
[other]
"bootstrap.servers" = "o:1"
[with-file]
config = "FILE"
[odd]
"bootstrap.servers" = "a b"
timeout = "soon"
[alias]
"metadata.broker.list" = "a b"
[empty]
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES.replace("FILE", str(tmp_path / "profile.properties")))
    return path


def test_bootstrap_servers_come_from_the_source_of_highest_precedence(tmp_path: Path, profiles: Path) -> None:
    environment = {"KAFKA_GROUPS_CONFIG": write_file(tmp_path, "bootstrap.servers=file:1")}
    given: dict[str, Any] = {"environment": environment, "profiles": profiles}
    assert hosts(resolve(**given)) == ["file:1"]
    environment["KAFKA_GROUPS_PROFILE"] = "prod"
    assert hosts(resolve(**given)) == ["p1:9092", "p2:9093"]
    environment["KAFKA_GROUPS_BOOTSTRAP_SERVER"] = "env:3"
    assert hosts(resolve(**given)) == ["env:3"]
    given["properties"] = ["bootstrap.servers=x:4"]
    assert hosts(resolve(**given)) == ["x:4"]
    given["bootstrap"] = "flag:5"
    assert hosts(resolve(**given)) == ["flag:5"]


@pytest.mark.parametrize("flag", ["profile", "config"])
def test_a_profile_or_a_config_file_of_a_flag_switches_off_those_and_the_servers_of_the_environment(
    flag: str, tmp_path: Path, profiles: Path
) -> None:
    environment = {
        "KAFKA_GROUPS_BOOTSTRAP_SERVER": "env:3",
        "KAFKA_GROUPS_CONFIG": write_file(tmp_path, "client.id=from-environment\n", "env.properties"),
        "KAFKA_GROUPS_PROFILE": "prod",
        "KAFKA_GROUPS_TIMEOUT": "50s",
    }
    value = "other" if flag == "profile" else write_file(tmp_path, "bootstrap.servers=o:1")
    settings = resolve(environment=environment, profiles=profiles, **{flag: value})
    assert (hosts(settings), settings.client_id, settings.timeout_s) == (["o:1"], "kafka-groups", 50.0)
    settings = resolve(environment=environment, profiles=profiles, bootstrap="flag:5", **{flag: value})
    assert hosts(settings) == ["flag:5"]


def test_a_profile_and_a_config_file_of_flags_are_merged_and_the_profile_wins(tmp_path: Path, profiles: Path) -> None:
    config = write_file(tmp_path, "bootstrap.servers=file:1\nsocket.connection.setup.timeout.ms=2000\n")
    settings = resolve(config=config, profile="prod", profiles=profiles)
    assert (hosts(settings), settings.connect_timeout_s) == (["p1:9092", "p2:9093"], 2.0)


def test_credentials_of_the_environment_apply_to_bootstrap_servers_of_a_flag(tmp_path: Path) -> None:
    user = "sasl.mechanism=PLAIN\nsasl.username=me\nsasl.password=hidden\n"
    config = write_file(tmp_path, f"security.protocol=SASL_SSL\n{user}")
    settings = resolve(bootstrap="flag:5", environment={"KAFKA_GROUPS_CONFIG": config})
    assert settings.credentials is not None


def test_the_timeout_comes_from_the_source_of_highest_precedence(profiles: Path) -> None:
    given: dict[str, Any] = {"bootstrap": "b", "profiles": profiles, "profile": "prod"}
    assert resolve(**given).timeout_s == 40.0
    given["environment"] = {"KAFKA_GROUPS_TIMEOUT": "50s"}
    assert resolve(**given).timeout_s == 50.0
    given["timeout"] = "60s"
    assert resolve(**given).timeout_s == 60.0


def test_a_property_comes_from_the_source_of_highest_precedence(tmp_path: Path, profiles: Path) -> None:
    config = write_file(tmp_path, "client.id=from-file")
    given: dict[str, Any] = {"bootstrap": "b", "config": config, "profiles": profiles}
    assert resolve(**given).client_id == "from-file"
    given["profile"] = "prod"
    assert resolve(**given).client_id == "from-profile"
    given["properties"] = ["client.id=first", "client.id=last"]
    assert resolve(**given).client_id == "last"


def test_the_profile_of_a_flag_replaces_the_profile_of_the_environment(profiles: Path) -> None:
    environment = {"KAFKA_GROUPS_PROFILE": "prod"}
    assert hosts(resolve(environment=environment, profiles=profiles)) == ["p1:9092", "p2:9093"]
    assert hosts(resolve(environment=environment, profiles=profiles, profile="other")) == ["o:1"]


def test_the_config_file_of_a_flag_replaces_the_config_file_of_a_profile(tmp_path: Path, profiles: Path) -> None:
    write_file(tmp_path, "bootstrap.servers=profile-file:1", "profile.properties")
    environment = {"KAFKA_GROUPS_PROFILE": "with-file"}
    given: dict[str, Any] = {"profiles": profiles, "environment": environment}
    assert hosts(resolve(**given)) == ["profile-file:1"]
    environment["KAFKA_GROUPS_CONFIG"] = write_file(tmp_path, "bootstrap.servers=env-file:2", "env.properties")
    assert hosts(resolve(**given)) == ["profile-file:1"]
    assert hosts(resolve(**given, profile="with-file")) == ["profile-file:1"]
    flag = write_file(tmp_path, "bootstrap.servers=flag-file:3", "flag.properties")
    assert hosts(resolve(**given, profile="with-file", config=flag)) == ["flag-file:3"]


def test_a_password_of_the_environments_profile_never_reaches_the_cluster_of_its_config_file(
    tmp_path: Path, profiles: Path
) -> None:
    write_file(tmp_path, "bootstrap.servers=prod:1\nsecurity.protocol=SASL_SSL\n", "profile.properties")
    user = '"sasl.mechanism" = "PLAIN"\n"sasl.username" = "me"\n"sasl.password" = "hidden"\n'
    profiles.write_text(f'[prod]\nconfig = "{tmp_path / "profile.properties"}"\n{user}')
    dev = write_file(tmp_path, "bootstrap.servers=dev:1\nsecurity.protocol=SASL_PLAINTEXT\n", "dev.properties")
    environment = {"KAFKA_GROUPS_PROFILE": "prod", "KAFKA_GROUPS_CONFIG": dev}
    settings = resolve(environment=environment, profiles=profiles)
    assert (hosts(settings), settings.tls is not None) == (["prod:1"], True)


def test_the_environments_profile_without_a_config_file_beats_the_environments_config_file(
    tmp_path: Path, profiles: Path
) -> None:
    config = write_file(tmp_path, "bootstrap.servers=file:1\nsocket.connection.setup.timeout.ms=2000\n")
    environment = {"KAFKA_GROUPS_PROFILE": "prod", "KAFKA_GROUPS_CONFIG": config}
    settings = resolve(environment=environment, profiles=profiles)
    assert (hosts(settings), settings.connect_timeout_s) == (["p1:9092", "p2:9093"], 2.0)


@pytest.mark.parametrize("flag", ["profile", "config"])
def test_an_empty_flag_never_selects_the_cluster_of_the_environment(flag: str, profiles: Path) -> None:
    environment = {"KAFKA_GROUPS_PROFILE": "prod", "KAFKA_GROUPS_BOOTSTRAP_SERVER": "env:3"}
    assert error_text(environment=environment, profiles=profiles, **{flag: ""}) == (
        f"--{flag} is empty, such as from a shell variable that is not set; give a name, or remove --{flag}"
    )


def test_an_empty_timeout_flag_is_not_a_duration() -> None:
    environment = {"KAFKA_GROUPS_TIMEOUT": "50s"}
    assert error_text(bootstrap="b", timeout="", environment=environment).startswith("--timeout: '' is not a duration")


_CERTIFICATE_AND_KEY = """
security.protocol=SSL
ssl.certificate.location=/file.pem
ssl.key.location=/file.key
ssl.key.password=of-the-file
"""


def test_a_certificate_of_a_flag_is_not_combined_with_the_key_of_the_file(tmp_path: Path) -> None:
    config = write_file(tmp_path, _CERTIFICATE_AND_KEY)
    given: dict[str, Any] = {"bootstrap": "b", "config": config}
    tls = resolve(**given, properties=["ssl.certificate.location=/flag.pem"]).tls
    assert tls == Tls(certificate_file="/flag.pem")
    pairs = ["ssl.certificate.location=/flag.pem", "ssl.key.location=/flag.key", "ssl.key.password=p"]
    tls = resolve(**given, properties=pairs).tls
    assert tls == Tls(certificate_file="/flag.pem", key_file="/flag.key", key_password="p")


def test_a_key_of_a_flag_belongs_to_the_certificate_of_the_file(tmp_path: Path) -> None:
    config = write_file(tmp_path, _CERTIFICATE_AND_KEY)
    tls = resolve(bootstrap="b", config=config, properties=["ssl.key.location=/flag.key"]).tls
    assert tls == Tls(certificate_file="/file.pem", key_file="/flag.key", key_password="of-the-file")


def test_empty_variables_count_as_not_given(profiles: Path) -> None:
    names = ("BOOTSTRAP_SERVER", "TIMEOUT", "CONFIG", "PROFILE")
    environment = {f"KAFKA_GROUPS_{name}": "" for name in names}
    settings = resolve(environment=environment, profiles=profiles, profile="prod")
    assert hosts(settings) == ["p1:9092", "p2:9093"]
    assert settings.timeout_s == 40.0


def test_an_empty_profile_variable_selects_no_profile() -> None:
    environment = {"KAFKA_GROUPS_PROFILE": ""}
    assert resolve(bootstrap="b", environment=environment, profiles=Path("/no/such")).timeout_s == 30.0


def test_an_empty_bootstrap_flag_never_selects_another_cluster(profiles: Path) -> None:
    text = error_text(bootstrap="", profiles=profiles, profile="prod")
    assert text.startswith("no cluster is named; give -b HOST:PORT")


def test_without_a_cluster_the_error_names_the_three_ways_to_name_one() -> None:
    assert error_text() == (
        "no cluster is named; give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
    )


def test_without_a_cluster_the_error_names_the_sources_that_were_read(profiles: Path, tmp_path: Path) -> None:
    config = write_file(tmp_path, "client.id=me")
    ways = "add it there, or give -b HOST:PORT"
    given: dict[str, Any] = {"profile": "empty", "profiles": profiles}
    lead = "no cluster is named in"
    assert error_text(**given) == f"{lead} profile 'empty' (bootstrap.servers); {ways}"
    assert error_text(config=config) == f"{lead} the config file {config} (bootstrap.servers); {ways}"
    assert error_text(**given, config=config) == (
        f"{lead} profile 'empty' and the config file {config} (bootstrap.servers); {ways}"
    )
    assert error_text(environment={"KAFKA_GROUPS_PROFILE": "empty"}, profiles=profiles) == (
        f"{lead} profile 'empty' (bootstrap.servers); "
        "give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER"
    )


def test_an_invalid_timeout_is_reported_with_its_source(profiles: Path) -> None:
    reason = "'soon' is not a duration; write for example 30s or 500ms"
    variables = {"KAFKA_GROUPS_TIMEOUT": "soon"}
    assert error_text(bootstrap="b", timeout="soon") == f"--timeout: {reason}"
    assert error_text(bootstrap="b", environment=variables) == f"KAFKA_GROUPS_TIMEOUT: {reason}"
    assert error_text(bootstrap="b", profile="odd", profiles=profiles) == f"profile 'odd': timeout: {reason}"
    assert error_text(bootstrap="b", timeout="30") == (
        "--timeout: '30' is not a duration (a number needs a unit); write for example 30s or 500ms"
    )


def test_a_timeout_must_be_greater_than_0() -> None:
    variables = {"KAFKA_GROUPS_TIMEOUT": "0s"}
    assert error_text(bootstrap="b", timeout="0s") == "--timeout must be greater than 0, for example 30s"
    assert error_text(bootstrap="b", environment=variables) == (
        "KAFKA_GROUPS_TIMEOUT must be greater than 0, for example 30s"
    )


def test_an_invalid_bootstrap_server_is_reported_with_its_source(profiles: Path, tmp_path: Path) -> None:
    config = write_file(tmp_path, "bootstrap.servers=a b")
    reason = "'a b' is not a bootstrap server; write host:port, for example localhost:9092 or [::1]:9092"
    variables = {"KAFKA_GROUPS_BOOTSTRAP_SERVER": "a b"}
    assert error_text(bootstrap="a b") == f"-b: {reason}"
    assert error_text(environment=variables) == f"KAFKA_GROUPS_BOOTSTRAP_SERVER: {reason}"
    assert error_text(profile="odd", profiles=profiles) == f"profile 'odd': bootstrap.servers: {reason}"
    assert error_text(profile="alias", profiles=profiles) == f"profile 'alias': metadata.broker.list: {reason}"
    assert error_text(config=config) == f"{config}: bootstrap.servers: {reason}"
    assert error_text(properties=["bootstrap.servers=a b"]) == f"-X bootstrap.servers: {reason}"


def test_a_properties_file_has_neither_the_timeout_nor_the_config_file_of_a_profile(tmp_path: Path) -> None:
    config = write_file(tmp_path, "bootstrap.servers=b:1\ntimeout=soon\nconfig=/no/such\n")
    assert resolve(config=config).timeout_s == 30.0
