"""The user's profiles file, to which the sandbox adds an entry: its mode, links to it, and what is no regular file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from tests.sandbox.profile_entries import USERS, remove_profile, require_available_name, write_profile
from tests.special_files import make_device


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    return tmp_path / "config" / "profiles.toml"


@pytest.fixture
def sandbox(tmp_path: Path) -> SandboxDirectory:
    return sandbox_directory("sandbox", home=tmp_path / "home")


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_profiles_file_keeps_its_mode(sandbox: SandboxDirectory, profiles: Path, mode: int) -> None:
    profiles.parent.mkdir()
    profiles.write_text(USERS)
    profiles.chmod(mode)

    write_profile(sandbox, "127.0.0.1:9092", path=profiles)
    after_write = profiles.stat().st_mode & 0o777
    remove_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert (after_write, profiles.stat().st_mode & 0o777) == (mode, mode)


def test_a_new_profiles_file_is_private(sandbox: SandboxDirectory, profiles: Path) -> None:
    write_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.stat().st_mode & 0o777 == 0o600


def test_a_symbolic_link_to_the_profiles_file_stays_a_link(
    sandbox: SandboxDirectory, profiles: Path, tmp_path: Path
) -> None:
    target = tmp_path / "dotfiles" / "profiles.toml"
    target.parent.mkdir()
    target.write_text(USERS)
    profiles.parent.mkdir()
    profiles.symlink_to(target)

    write_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.is_symlink()
    assert target.read_text().startswith(USERS)
    assert "[sandbox]" in target.read_text()


def test_a_symbolic_link_to_a_missing_file_stays_a_link_to_a_new_private_file(
    sandbox: SandboxDirectory, profiles: Path, tmp_path: Path
) -> None:
    target = tmp_path / "dotfiles" / "profiles.toml"
    profiles.parent.mkdir()
    profiles.symlink_to(target)

    write_profile(sandbox, "127.0.0.1:9092", path=profiles)

    assert profiles.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_directory_that_cannot_be_written_is_named_in_the_error(sandbox: SandboxDirectory, profiles: Path) -> None:
    profiles.parent.write_text("a file in place of the directory")

    with pytest.raises(SandboxError, match=r"profiles\.toml cannot be (read|written)"):
        write_profile(sandbox, "127.0.0.1:9092", path=profiles)


@pytest.mark.parametrize("kind", ["FIFO", "device", "loop"])
def test_a_profiles_file_that_is_no_regular_file_is_refused_and_stays(
    sandbox: SandboxDirectory, profiles: Path, kind: str
) -> None:
    profiles.parent.mkdir()
    if kind == "FIFO":
        os.mkfifo(profiles)
    elif kind == "device":
        make_device(profiles)
    else:
        profiles.symlink_to(profiles.name)
    mode = profiles.lstat().st_mode
    for use in (partial(require_available_name, sandbox), partial(write_profile, sandbox, "127.0.0.1:1")):
        with pytest.raises(SandboxError, match=f"the profiles file {profiles} cannot be"):
            use(path=profiles)
    assert profiles.lstat().st_mode == mode
