"""The sandbox's entry in the user's profiles."""

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


def test_the_profile_is_what_the_commands_connect_to(profiles: Path) -> None:
    write_profile("sandbox", "127.0.0.1:9092,127.0.0.1:9093", path=profiles)

    found = resolve_settings(profile="sandbox", profiles=profiles, environment={})
    assert [str(endpoint) for endpoint in found.bootstrap] == ["127.0.0.1:9092", "127.0.0.1:9093"]


def test_what_the_user_wrote_is_kept_to_the_letter(profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text(USERS)

    write_profile("sandbox", "127.0.0.1:9092", path=profiles)
    assert profiles.read_text().startswith(USERS)
    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert profiles.read_text().rstrip("\n") == USERS.rstrip("\n")


def test_a_second_start_renews_the_profile(profiles: Path) -> None:
    write_profile("sandbox", "127.0.0.1:1", path=profiles)
    write_profile("sandbox", "127.0.0.1:2", path=profiles)

    assert profiles.read_text().count("[sandbox]") == 1
    assert "127.0.0.1:2" in profiles.read_text()


def test_a_profile_that_names_another_cluster_by_now_is_the_users(profiles: Path) -> None:
    write_profile("sandbox", "elsewhere:9092", path=profiles)

    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert "elsewhere:9092" in profiles.read_text()


def test_removing_what_is_not_there_makes_no_file(profiles: Path) -> None:
    remove_profile("sandbox", "127.0.0.1:9092", path=profiles)

    assert not profiles.exists()


def test_a_profiles_file_that_is_no_toml_is_named_and_left_alone(profiles: Path) -> None:
    profiles.parent.mkdir()
    profiles.write_text("[[[")

    with pytest.raises(SandboxError, match=r"profiles\.toml cannot be read"):
        write_profile("sandbox", "127.0.0.1:9092", path=profiles)
    assert profiles.read_text() == "[[["
