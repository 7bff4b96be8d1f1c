"""Files for libraries that read only files: no other user can read them, and nothing of them stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafka_groups.files import private_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files, which is empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux has files in memory")
def test_a_private_file_is_in_memory_and_has_no_name(folder: Path) -> None:
    with private_file("secret") as path:
        assert list(folder.iterdir()) == []
        assert (Path(path).read_text(), Path(path).stat().st_mode & 0o777) == ("secret", 0o600)
        assert "memfd:" in str(Path(path).readlink())
        # OpenSSL opens the file of a certificate once more for its key.
        assert Path(path).read_text() == "secret"
    assert not Path(path).exists()


@pytest.mark.parametrize("obstacle", ["absent", "refused", "no /proc"])
def test_without_files_in_memory_a_private_file_is_deleted(
    obstacle: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if obstacle == "absent":
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif obstacle == "refused":
        monkeypatch.setattr(os, "memfd_create", _refuse, raising=False)
    else:
        monkeypatch.setattr("kafka_groups.files.private._DESCRIPTOR_PATH", "/absent/{}")
    with private_file("secret") as path:
        assert (Path(path).parent, Path(path).read_text()) == (folder, "secret")
        assert Path(path).stat().st_mode & 0o777 == 0o600
    assert list(folder.iterdir()) == []


def _refuse(name: str) -> int:
    raise OSError(38, name)
