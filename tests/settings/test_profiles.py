"""Profiles: tables of a TOML file, flat or nested."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.settings import Tls, profiles_file
from tests.settings.resolution import error_text, hosts, resolve

PROFILES = """
[nested.ssl.truststore]
location = "/profile/ca.pem"
[nested.security]
protocol = "SSL"
[nested.bootstrap]
servers = "n:1"
[nested.socket.connection.setup.timeout]
ms = 3000

[lists]
"bootstrap.servers" = ["p1:9092", "p2:9093"]

[empty]
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.toml"
    path.write_text(PROFILES)
    return path


def test_a_profile_may_have_nested_tables(profiles: Path) -> None:
    settings = resolve(profile="nested", profiles=profiles)
    assert hosts(settings) == ["n:1"]
    assert settings.tls == Tls(ca_file="/profile/ca.pem")
    assert settings.connect_timeout_s == 3.0


def test_a_list_of_a_profile_is_a_comma_separated_value(profiles: Path) -> None:
    assert hosts(resolve(profile="lists", profiles=profiles)) == ["p1:9092", "p2:9093"]


def test_an_unknown_profile_is_reported_with_the_names_of_the_known_ones(profiles: Path, tmp_path: Path) -> None:
    assert error_text(profile="prd", profiles=profiles) == (
        f"there is no profile 'prd' in {profiles}; it has: empty, lists, nested"
    )
    missing = tmp_path / "none.toml"
    assert error_text(profile="prod", profiles=missing) == f"there is no profile 'prod' in {missing}; it has none"


def test_the_error_of_an_unknown_profile_explains_commas(profiles: Path) -> None:
    profiles.write_text('["a,b"]\n[c]\n')
    where = f"in {profiles}; it has: a,b, c"
    assert error_text(profile="a", profiles=profiles) == (
        f"there is no profile 'a' {where}; --profile splits names at commas: rename the profile 'a,b'"
    )
    assert error_text(profile="c,a", profiles=profiles) == (
        f"there is no profile 'c,a' {where}; KAFKA_GROUPS_PROFILE is one name, and --profile takes several"
    )


def test_a_number_of_a_profile_is_used_as_it_is_written(profiles: Path) -> None:
    profiles.write_text('[p]\nclient.id = 1.10\nbootstrap.servers = "p:1"\n')
    assert resolve(profile="p", profiles=profiles).client_id == "1.10"


def test_a_profile_may_have_no_settings(profiles: Path) -> None:
    assert hosts(resolve(profile="empty", profiles=profiles, bootstrap="b")) == ["b:9092"]


def test_a_profiles_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    invalid = tmp_path / "profiles.toml"
    invalid.write_text("[prod\n")
    assert error_text(profile="prod", profiles=invalid).startswith(f"the profiles file {invalid} cannot be read: ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_the_error_of_a_profiles_file_in_another_encoding_names_it(encoding: str, profiles: Path) -> None:
    profiles.write_bytes("[p]\ntimeout = '7s'\n".encode(encoding))
    text = error_text(bootstrap="b", profile="p", profiles=profiles)
    name = encoding.upper().replace("-LE", "LE")
    assert text.startswith(f"the profiles file {profiles} cannot be read: it is {name} text, and not UTF-8; save it in")


def test_a_profiles_file_that_cannot_be_read_does_not_concern_a_command_without_a_profile(tmp_path: Path) -> None:
    invalid = tmp_path / "profiles.toml"
    invalid.write_text("[prod\n")
    config = tmp_path / "client.properties"
    config.write_text("bootstrap.servers=b:1")
    for profiles in (invalid, tmp_path):
        assert hosts(resolve(bootstrap="b", profiles=profiles)) == ["b:9092"]
        environment = {"KAFKA_GROUPS_PROFILE": "prod"}
        assert hosts(resolve(config=str(config), environment=environment, profiles=profiles)) == ["b:1"]


def test_a_profiles_file_may_begin_with_a_byte_order_mark(profiles: Path) -> None:
    profiles.write_bytes(b"\xef\xbb\xbf[marked]\ntimeout = '7s'\n")
    assert resolve(bootstrap="b", profile="marked", profiles=profiles).timeout_s == 7.0


def test_the_profiles_file_is_in_the_users_config_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert profiles_file() == tmp_path / "kafka-groups" / "profiles.toml"


def test_a_profile_of_a_user_without_a_home_directory_is_an_error_with_the_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_user(_number: int) -> object:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_user)
    with pytest.raises(SettingsError, match="no home directory; set HOME or XDG_CONFIG_HOME"):
        profiles_file()
