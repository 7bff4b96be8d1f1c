"""The files of a sandbox with `--secure`: their modes, their place, and the renewal of the token."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from kafka_groups.sandbox.security.secret_files import (
    create_secrets,
    delete_key_set,
    renew_token,
    require_usable_path,
    secret_files,
    token_expiry,
)

NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)


@pytest.fixture
def directory(tmp_path: Path) -> SandboxDirectory:
    directory = sandbox_directory("mine", home=tmp_path)
    directory.create()
    return directory


def test_only_the_owner_may_read_the_files(directory: SandboxDirectory) -> None:
    create_secrets(directory, now=NOW)

    folder = directory.security
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == dict.fromkeys(
        ("ca.pem", "broker.pem", "admin.pem", "reader.pem", "token-key.pem", "jwks.json", "token"), 0o600
    )


def test_a_renewed_token_expires_24_hours_later(directory: SandboxDirectory) -> None:
    create_secrets(directory, now=NOW)
    before = token_expiry(directory)
    renew_token(directory, now=NOW + timedelta(hours=5))

    assert before == NOW + timedelta(hours=24)
    assert token_expiry(directory) == NOW + timedelta(hours=29)


@pytest.mark.parametrize("content", [b"", b"opaque", b"\xff", b"a b"])
def test_the_expiry_of_a_file_without_a_readable_token_is_unknown(directory: SandboxDirectory, content: bytes) -> None:
    directory.security.mkdir()
    secret_files(directory).token.write_bytes(content)

    assert token_expiry(directory) is None


def test_the_expiry_of_a_missing_token_is_unknown(directory: SandboxDirectory) -> None:
    assert token_expiry(directory) is None


def test_files_that_cannot_be_written_are_reported_with_their_directory(directory: SandboxDirectory) -> None:
    directory.security.write_text("a file in place of the directory")

    with pytest.raises(SandboxError, match=r"the sandbox's files in .*/mine cannot be written: File exists"):
        create_secrets(directory, now=NOW)


def test_the_url_of_the_key_set_has_letters_as_they_are(tmp_path: Path) -> None:
    files = secret_files(sandbox_directory("mine", home=tmp_path / "Größe雪(1)&a=b"))

    assert files.key_set_url == f"file://{tmp_path}/Größe雪(1)&a=b/mine/security/jwks.json"


@pytest.mark.parametrize("part", ["with blank", "100%", "a#b", "a?b", "雪\u3000", "a\\b", '"', "[1]"])
def test_a_key_set_that_no_url_can_name_is_in_the_cache_and_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory, other = (sandbox_directory(name, home=tmp_path / part) for name in ("mine", "other"))
    directory.create()

    require_usable_path(directory)
    create_secrets(directory, now=NOW)
    key_set = secret_files(directory).key_set
    assert key_set.parent == tmp_path / "cache" / "kafka-groups" / "sandbox" / "key-sets"
    assert key_set.exists()
    assert key_set != secret_files(other).key_set

    delete_key_set(directory)
    assert not key_set.exists()


def test_a_cache_that_no_url_can_name_either_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))

    with pytest.raises(SandboxError, match="which contains ' '; give another --dir"):
        require_usable_path(sandbox_directory("mine", home=tmp_path / "a b"))
