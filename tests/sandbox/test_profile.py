"""The sandbox's entry in the user's profiles file."""

from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from kafka_groups.settings import resolve_settings
from tests.sandbox.profile_entries import USERS, remove_profile, require_available_name, write_profile


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return tmp_path / "config" / "profiles.toml"


@pytest.fixture
def sandbox(tmp_path: Path) -> SandboxDirectory:
    return sandbox_directory("sandbox", home=tmp_path / "home")


def _other_home(tmp_path: Path) -> SandboxDirectory:
    """Return a sandbox that exists, with the same name in another directory."""
    other = sandbox_directory("sandbox", home=tmp_path / 'other "home" ä')
    other.create()
    other.state_file.touch()
    return other


def test_commands_connect_to_the_cluster_of_the_profile(sandbox: SandboxDirectory, profiles: Path) -> None:
    write_profile(sandbox, "127.0.0.1:9092,127.0.0.1:9093", path=profiles)

    settings = resolve_settings(profile="sandbox", profiles=profiles, environment={})
    assert [str(endpoint) for endpoint in settings.bootstrap] == ["127.0.0.1:9092", "127.0.0.1:9093"]


def test_the_users_own_text_is_kept_unchanged(sandbox: SandboxDirectory, profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text(USERS)

    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    assert profiles.read_text().startswith(USERS)
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.read_text().rstrip("\n") == USERS.rstrip("\n")


def test_a_second_start_replaces_the_profile(sandbox: SandboxDirectory, profiles: Path) -> None:
    write_profile(sandbox, "127.0.0.1:1", path=profiles)
    write_profile(sandbox, "127.0.0.1:2", path=profiles)

    assert profiles.read_text().count("[sandbox]") == 1
    assert "127.0.0.1:2" in profiles.read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("127.0.0.1:9092", "elsewhere:9092"),
        ("PLAINTEXT", "SSL"),
        ("# written", "# mine, written"),
        (' down`: "', ' down`: "\\q'),
        ('"PLAINTEXT"\n', '"PLAINTEXT"\ntimeout = "5s"\n'),
        ('"PLAINTEXT"\n', '"PLAINTEXT"\n\n[sandbox.ssl]\n"ca.location" = "ca.pem"\n'),
    ],
)
def test_a_profile_that_the_user_changed_is_neither_removed_nor_replaced(
    sandbox: SandboxDirectory, profiles: Path, before: str, after: str
) -> None:
    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    changed = profiles.read_text().replace(before, after)
    profiles.write_text(changed)

    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)
    kept = profiles.read_text()
    with pytest.raises(SandboxError, match="is not the sandbox's; give another --name"):
        write_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert kept == profiles.read_text() == changed


@pytest.mark.parametrize(
    "mine",
    [
        '[sandbox]\n"bootstrap.servers" = "127.0.0.1:9092"\n"security.protocol" = "PLAINTEXT"\n',
        'sandbox = { "bootstrap.servers" = "prod:9092", "sasl.password" = "secret" }\n',
        'sandbox.timeout = "5s"\n',
        '["sandbox"]\n',
        "sandbox = 1\n",
    ],
)
def test_a_profile_of_the_user_is_neither_replaced_nor_removed(
    sandbox: SandboxDirectory, profiles: Path, mine: str
) -> None:
    profiles.parent.mkdir()
    profiles.write_text(mine)

    for refuse in (require_available_name, lambda *_, path: write_profile(sandbox, "127.0.0.1:9092", path=path)):
        with pytest.raises(SandboxError, match="is not the sandbox's; give another --name, or rename it"):
            refuse(sandbox, path=profiles)
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.read_text() == mine
    assert [file.name for file in profiles.parent.iterdir()] == ["profiles.toml"]


def test_the_profile_of_a_sandbox_in_another_directory_is_neither_replaced_nor_removed(
    sandbox: SandboxDirectory, profiles: Path, tmp_path: Path
) -> None:
    other = _other_home(tmp_path)
    write_profile(other, "127.0.0.1:9092", path=profiles)
    written = profiles.read_text()

    with pytest.raises(SandboxError, match=r"is that of the sandbox in .*home. ä/sandbox; give another --name"):
        require_available_name(sandbox, path=profiles)
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.read_text() == written


def test_a_profile_is_replaced_if_the_directory_of_its_sandbox_was_deleted(
    sandbox: SandboxDirectory, profiles: Path, tmp_path: Path
) -> None:
    other = _other_home(tmp_path)
    write_profile(other, "127.0.0.1:1", path=profiles)
    other.clear(keep_logs=False)

    write_profile(sandbox, "127.0.0.1:2", path=profiles)

    assert profiles.read_text().count("[sandbox]") == 1
    assert "127.0.0.1:2" in profiles.read_text()


def test_text_of_the_user_after_the_profile_is_kept(sandbox: SandboxDirectory, profiles: Path) -> None:
    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    profiles.write_text(profiles.read_text() + "\n" + USERS)

    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.read_text() == "\n" + USERS


@pytest.mark.parametrize("users", ["\ufeff" + USERS, USERS.replace("\n", "\r\n"), USERS.rstrip("\n"), "\ufeff", ""])
def test_a_byte_order_mark_and_line_ends_are_kept(sandbox: SandboxDirectory, profiles: Path, users: str) -> None:
    profiles.parent.mkdir()
    profiles.write_bytes(users.encode())

    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    with_profile = profiles.read_bytes().decode()
    settings = resolve_settings(profile="sandbox", profiles=profiles, environment={})
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert with_profile.startswith(users)
    assert len(settings.bootstrap) == 1
    assert profiles.read_bytes().decode().rstrip("\n") == users.rstrip("\n")


def test_a_profile_with_the_line_ends_of_windows_is_still_the_sandboxs(
    sandbox: SandboxDirectory, profiles: Path
) -> None:
    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    profiles.write_bytes(b"\xef\xbb\xbf" + profiles.read_bytes().replace(b"\n", b"\r\n"))

    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.read_bytes() == b"\xef\xbb\xbf"


def test_settings_of_another_cluster_in_the_environment_do_not_reach_the_sandbox(
    sandbox: SandboxDirectory, profiles: Path, tmp_path: Path
) -> None:
    config = tmp_path / "prod.properties"
    config.write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n")
    write_profile(sandbox, "127.0.0.1:9092", path=profiles)

    settings = resolve_settings(
        profiles=profiles, environment={"KAFKA_GROUPS_PROFILE": "sandbox", "KAFKA_GROUPS_CONFIG": str(config)}
    )

    assert (settings.tls, settings.credentials) == (None, None)


def test_profiles_that_are_written_at_the_same_time_are_all_kept(profiles: Path, tmp_path: Path) -> None:
    names = [f"sandbox-{number}" for number in range(20)]

    def write(name: str) -> None:
        write_profile(sandbox_directory(name, home=tmp_path), "127.0.0.1:9092", path=profiles)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(write, names))

    assert set(tomllib.loads(profiles.read_text())) == set(names)
    assert [file.name for file in profiles.parent.iterdir()] == ["profiles.toml"]


def test_removing_a_missing_profile_creates_no_file(sandbox: SandboxDirectory, profiles: Path) -> None:
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert not profiles.exists()


def test_an_invalid_profiles_file_is_reported_and_left_unchanged(sandbox: SandboxDirectory, profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text("[[[")

    with pytest.raises(SandboxError, match=r"profiles\.toml cannot be read"):
        write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    assert profiles.read_text() == "[[["
