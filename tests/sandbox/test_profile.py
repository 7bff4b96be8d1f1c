"""The sandbox's entry in the user's profiles file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.profile import remove_profile, write_profile
from kafka_groups.settings import resolve_settings

USERS = """\
# my clusters
[prod]  # careful
"bootstrap.servers" = "kafka.example.com:9092"
"""


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return tmp_path / "config" / "profiles.toml"


def test_commands_connect_to_the_cluster_of_the_profile(profiles: Path) -> None:
    write_profile("sandbox", "127.0.0.1:9092,127.0.0.1:9093", path=profiles)

    settings = resolve_settings(profile="sandbox", profiles=profiles, environment={})
    assert [str(endpoint) for endpoint in settings.bootstrap] == ["127.0.0.1:9092", "127.0.0.1:9093"]


def test_the_users_own_text_is_kept_unchanged(profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text(USERS)

    write_profile("sandbox", "127.0.0.1:9092", path=profiles)
    assert profiles.read_text().startswith(USERS)
    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert profiles.read_text().rstrip("\n") == USERS.rstrip("\n")


def test_a_second_start_replaces_the_profile(profiles: Path) -> None:
    write_profile("sandbox", "127.0.0.1:1", path=profiles)
    write_profile("sandbox", "127.0.0.1:2", path=profiles)

    assert profiles.read_text().count("[sandbox]") == 1
    assert "127.0.0.1:2" in profiles.read_text()


def test_a_profile_that_the_user_changed_to_another_cluster_is_kept(profiles: Path) -> None:
    write_profile("sandbox", "elsewhere:9092", path=profiles)

    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert "elsewhere:9092" in profiles.read_text()


def test_removing_a_missing_profile_creates_no_file(profiles: Path) -> None:
    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert not profiles.exists()


def test_an_invalid_profiles_file_is_reported_and_left_unchanged(profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text("[[[")

    with pytest.raises(SandboxError, match=r"profiles\.toml cannot be read"):
        write_profile("sandbox", "127.0.0.1:9092", path=profiles)
    assert profiles.read_text() == "[[["


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_profiles_file_keeps_its_mode(profiles: Path, mode: int) -> None:
    profiles.parent.mkdir()
    profiles.write_text(USERS)
    profiles.chmod(mode)

    write_profile("sandbox", "127.0.0.1:9092", path=profiles)
    after_write = profiles.stat().st_mode & 0o777
    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert (after_write, profiles.stat().st_mode & 0o777) == (mode, mode)


def test_a_new_profiles_file_is_private(profiles: Path) -> None:
    write_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert profiles.stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_to_the_profiles_file_stays_a_link(profiles: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "profiles.toml"
    target.parent.mkdir()
    target.write_text(USERS)
    profiles.parent.mkdir()
    profiles.symlink_to(target)

    write_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert profiles.is_symlink()
    assert target.read_text().startswith(USERS)
    assert "[sandbox]" in target.read_text()
