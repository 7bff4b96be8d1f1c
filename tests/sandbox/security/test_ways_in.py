"""The profiles of a sandbox with `--secure`, in the user's profiles file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from kafka_groups.sandbox.profile import Profile, remove_profiles, require_available_names, write_profiles
from kafka_groups.sandbox.security.ways_in import sandbox_profiles
from kafka_groups.settings import PasswordCredentials, resolve_settings
from kafka_groups.settings.sasl import TokenCredentials
from kafka_groups.settings.tokens.token_file import TokenFile

SERVERS = {"SASL_PLAINTEXT": "127.0.0.1:2", "SSL": "127.0.0.1:3", "SASL_SSL": "127.0.0.1:4,127.0.0.1:5"}
OTHER_SERVERS = dict.fromkeys(SERVERS, "127.0.0.1:9")
NAMES = ("sandbox", "sandbox-plain", "sandbox-scram", "sandbox-tls", "sandbox-oauth", "sandbox-reader")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "profiles.toml"


@pytest.fixture
def sandbox(tmp_path: Path) -> SandboxDirectory:
    return sandbox_directory("sandbox", home=tmp_path / 'a "home" ä 😀')


def _profiles(sandbox: SandboxDirectory, servers: dict[str, str] = SERVERS) -> Sequence[Profile]:
    return sandbox_profiles(sandbox, "127.0.0.1:1", servers)


def _written(sandbox: SandboxDirectory, path: Path) -> dict[str, object]:
    write_profiles(sandbox, _profiles(sandbox), path=path)
    return tomllib.loads(path.read_text())


def test_there_is_a_profile_for_each_way_in(sandbox: SandboxDirectory, path: Path) -> None:
    assert tuple(_written(sandbox, path)) == NAMES
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_sandbox_without_users_has_one_profile(sandbox: SandboxDirectory) -> None:
    assert [profile.name for profile in sandbox_profiles(sandbox, "127.0.0.1:1", {})] == ["sandbox"]


@pytest.mark.parametrize(
    ("way", "user", "mechanism"),
    [("plain", "admin", "PLAIN"), ("scram", "admin", "SCRAM-SHA-512"), ("reader", "reader", "SCRAM-SHA-256")],
)
def test_a_profile_with_a_password_has_a_user_and_a_mechanism(
    sandbox: SandboxDirectory, path: Path, way: str, user: str, mechanism: str
) -> None:
    _written(sandbox, path)

    credentials = resolve_settings(profile=f"sandbox-{way}", profiles=path, environment={}).credentials
    assert isinstance(credentials, PasswordCredentials)
    assert (credentials.username, credentials.mechanism) == (user, mechanism)


def test_the_profile_of_a_client_certificate_has_its_file_and_the_authority(
    sandbox: SandboxDirectory, path: Path
) -> None:
    _written(sandbox, path)

    settings = resolve_settings(profile="sandbox-tls", profiles=path, environment={})
    assert settings.tls is not None
    assert settings.tls.certificate_file == settings.tls.key_file == str(sandbox.security / "admin.pem")
    assert settings.tls.ca_file == str(sandbox.security / "ca.pem")
    assert settings.credentials is None


def test_the_profile_of_a_token_names_its_file(sandbox: SandboxDirectory, path: Path) -> None:
    _written(sandbox, path)

    settings = resolve_settings(profile="sandbox-oauth", profiles=path, environment={})
    assert isinstance(settings.credentials, TokenCredentials)
    assert settings.credentials.source == TokenFile(str(sandbox.security / "token"))
    assert [str(server) for server in settings.bootstrap] == SERVERS["SASL_SSL"].split(",")


def test_a_second_start_replaces_the_profiles(sandbox: SandboxDirectory, path: Path) -> None:
    _written(sandbox, path)
    write_profiles(sandbox, _profiles(sandbox, OTHER_SERVERS), path=path)

    assert tuple(tomllib.loads(path.read_text())) == NAMES
    assert path.read_text().count("127.0.0.1:9") == 5
    assert path.read_text().startswith("[sandbox]")


def test_all_profiles_are_removed_and_those_of_the_user_are_kept(sandbox: SandboxDirectory, path: Path) -> None:
    path.parent.mkdir()
    path.write_text('[prod]\n"bootstrap.servers" = "broker:9092"\n')
    _written(sandbox, path)
    remove_profiles(sandbox, _profiles(sandbox), path=path)

    assert path.read_text() == '[prod]\n"bootstrap.servers" = "broker:9092"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("admin-secret", "another"),
        ("ca.pem", "mine.pem"),
        ('"security.protocol" = "SASL_PLAINTEXT"\n', ""),
        ('"sasl.mechanism" = "PLAIN"\n', '"sasl.mechanism" = "PLAIN"\n\n'),
        ('"sasl.mechanism" = "PLAIN"\n', '"sasl.mechanism" = "PLAIN"\n"timeout" = "5s"\n'),
    ],
)
def test_a_profile_that_the_user_changed_is_kept_and_the_others_are_removed(
    sandbox: SandboxDirectory, path: Path, before: str, after: str
) -> None:
    _written(sandbox, path)
    changed = path.read_text().replace(before, after, 1)
    assert changed != path.read_text()
    path.write_text(changed)

    remove_profiles(sandbox, _profiles(sandbox), path=path)
    kept = list(tomllib.loads(path.read_text()))
    with pytest.raises(SandboxError, match=f"the profile '{kept[0]}' in .* is not the sandbox's"):
        write_profiles(sandbox, _profiles(sandbox), path=path)

    assert len(kept) == 1


def test_a_profile_of_the_user_with_one_of_the_names_is_reported(sandbox: SandboxDirectory, path: Path) -> None:
    path.parent.mkdir()
    path.write_text('[sandbox-tls]\ntimeout = "5s"\n')

    with pytest.raises(SandboxError, match=r"'sandbox-tls' in .* is not the sandbox's; give another --name"):
        require_available_names(sandbox, _profiles(sandbox), path=path)


def test_profiles_are_replaced_if_the_directory_of_their_sandbox_was_deleted(
    sandbox: SandboxDirectory, path: Path, tmp_path: Path
) -> None:
    other = sandbox_directory("sandbox", home=tmp_path / "other")
    _written(other, path)
    _written(sandbox, path)

    assert tuple(tomllib.loads(path.read_text())) == NAMES
    assert str(other.path) not in path.read_text()
